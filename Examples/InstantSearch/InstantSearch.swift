import Binding
import Reactive

/// A search during typing: the view model. It knows no view, no server and no clock.
///
/// Once access is granted, a text of at least three characters is searched for after half a second
/// without typing. Only the answer to the latest search counts.
final class InstantSearch: ViewModel {
  let text = MutableProperty("")

  /// Requests permission from the owner of the posts.
  let requestAccess: Action<Void, Never, PostsError>
  let isGranted: Property<Bool>
  let needsAccess: Property<Bool>

  /// Repeats the last search.
  let searchAgain: Action<Void, Never, Never>
  let posts: Property<[Post]>
  let isSearching: Property<Bool>
  /// The status of the search, except for a failure.
  let summary: Property<String>
  /// Why the latest search failed.
  let error: Property<String?>

  static let bindings: Bindings<InstantSearch> = [
    "text": .twoWay(\.text),
    "requestAccess": .action(\.requestAccess, error: \.text),
    "isGranted": .oneWay(\.isGranted),
    "needsAccess": .oneWay(\.needsAccess),
    "searchAgain": .action(\.searchAgain),
    "posts": .list(
      \.posts,
      [
        "picture": .value(\.author.picture), "name": .value(\.author.name),
        "handle": .value(\.author.handle), "day": .value(\.day), "text": .value(\.text),
      ]),
    "isSearching": .oneWay(\.isSearching),
    "summary": .oneWay(\.summary),
    "error": .oneWay(\.error),
  ]

  nonisolated static let quietTime = 0.5
  nonisolated static let timeMax = 5.0

  init(archive: some Posts, scheduler: any DateScheduler) {
    requestAccess = Action {
      archive.requestAccess().timeout(after: Self.timeMax, raising: .noAnswer, on: scheduler)
    }
    isGranted = Property(initial: false, then: requestAccess.completed.map { true })
    needsAccess = isGranted.negate()
    searchAgain = Action { .empty }

    let text = text
    let terms = text.producer.map { SearchTerm($0) }
    // A text that is too short ends a search at once.
    let typed = SignalProducer.merge([
      terms.debounce(Self.quietTime, on: scheduler), terms.filter { $0 == nil },
    ])
    let again = searchAgain.completed.producer.map { SearchTerm(text.value) }
    let searches = SignalProducer.merge([typed.skipRepeats(), again])

    let state = Property(
      initial: SearchState(),
      then: isGranted.producer.filter { $0 }.take(first: 1).then(searches)
        .flatMap(.latest) { Self.search($0, in: archive, scheduler) }
        .observe(on: UIScheduler())
        .scan(SearchState()) { $0.following($1) })
    posts = state.map { $0.posts }
    isSearching = state.map { $0.isSearching }
    summary = state.map { $0.summary }
    error = state.map { $0.error?.text }
  }

  /// The steps of one search. A failure is one of them, so that searches after it go on.
  private nonisolated static func search(
    _ term: SearchTerm?, in archive: some Posts, _ scheduler: any DateScheduler
  ) -> SignalProducer<SearchStep, Never> {
    guard let term else { return SignalProducer(value: .idle) }
    return archive.search(term.text)
      .timeout(after: timeMax, raising: .noAnswer, on: scheduler)
      .take(first: 1)
      // One that ends without an answer has found nothing.
      .collect()
      .map { SearchStep.found(term, $0.first ?? []) }
      .flatMapError { SignalProducer<SearchStep, Never>(value: .failed($0)) }
      .prefix(value: SearchStep.begun)
  }
}

/// The text of a search, with enough characters.
struct SearchTerm: Equatable, Sendable {
  static let characterCountMin = 3
  static let characterCountMax = 100

  let text: String

  /// Nil if there are too few characters.
  init?(_ typed: String) {
    text = typed.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      .prefixed(Self.characterCountMax)
    if text.count < Self.characterCountMin { return nil }
  }
}

extension String {
  fileprivate func prefixed(_ count: Int) -> String { String(prefix(count)) }
}

/// What can happen to a search.
private enum SearchStep: Sendable {
  case idle
  case begun
  case found(SearchTerm, [Post])
  case failed(PostsError)
}

/// The visible state of the search.
private struct SearchState: Sendable {
  /// More are too many to look through.
  static let postCountMax = 100

  var posts: [Post] = []
  var isSearching = false
  var summary = "Type at least three characters."
  var error: PostsError?

  /// The state after a step. Earlier results stay until there is an answer.
  func following(_ step: SearchStep) -> SearchState {
    switch step {
    case .idle: return SearchState()
    case .begun: return SearchState(posts: posts, isSearching: true, summary: "Searching …")
    case .failed(let error): return SearchState(summary: "", error: error)
    case .found(let term, let posts):
      let shown = posts.prefix(Self.postCountMax)
      let summary =
        switch posts.count {
        case 0: "Nobody has written of “\(term.text)”."
        case 1: "One post"
        case shown.count: "\(posts.count) posts"
        default: "The newest \(shown.count) of \(posts.count) posts"
        }
      return SearchState(posts: Array(shown), summary: summary)
    }
  }
}
