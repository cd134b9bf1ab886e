import Binding
import Reactive

/// Where view models open others: the pages that are on top of each other.
@MainActor
protocol Pages: AnyObject, Sendable {
  func open(_ results: PhotoResults)
}

/// A form with one field: what to search for. The view model opens the results when there are some.
final class PhotoSearch: ViewModel {
  let text = MutableProperty("")
  /// Enabled while there is something to search for, and while nothing is searched.
  let search: Action<Void, PhotoPage, PhotosError>
  /// Does one of the recent searches again.
  let repeatSearch: Action<String, Never, Never>
  let recent: Property<[RecentSearch]>
  let hasRecent: Property<Bool>
  /// The message when nothing was found.
  let nothing: Property<String?>
  /// Where one searches.
  let place: String

  static let bindings: Bindings<PhotoSearch> = [
    "text": .twoWay(\.text),
    "search": .action(\.search, error: \.text),
    "repeat": .action(\.repeatSearch),
    "recent": .list(
      \.recent,
      [
        "id": .value(\.id), "text": .value(\.text), "total": .value(\.total),
        "thumbnail": .value(\.thumbnail),
      ]),
    "hasRecent": .oneWay(\.hasRecent),
    "nothing": .oneWay(\.nothing),
    "place": .value(\.place),
  ]

  nonisolated static let timeMax = 10.0

  /// - Parameter pages: Where the results are opened; isn't kept.
  init(
    photos: some Photos, recent: RecentSearches, pages: any Pages, scheduler: any DateScheduler
  ) {
    place = photos.name
    self.recent = recent.all
    hasRecent = recent.all.map { !$0.isEmpty }

    let text = text
    let term = text.map { SearchTerm($0) }
    search = Action(unwrapping: term) { term in
      photos.page(1, of: term, scheduler)
    }
    let search = search
    repeatSearch = Action(enabledIf: search.isExecuting.negate()) { id in
      SignalProducer { observer, _ in
        if let again = recent.all.value.first(where: { $0.id == id }) {
          text.value = again.text
          search.apply().start()
        }
        observer.sendCompleted()
      }
    }

    // Keep the search's own term, because the text may change during the search.
    let begun = search.isExecuting.signal.filter { $0 }
    let searched = Property<SearchTerm?>(initial: nil, then: begun.map { _ in term.value })
    let found = search.values.observe(on: UIScheduler())
    nothing = Property(
      initial: nil,
      then: Signal<String?, Never>.merge(
        begun.map { _ in nil },
        found.map { page in
          page.photos.isEmpty ? "There is no photograph of “\(searched.value?.text ?? "")”." : nil
        }))
    found.filter { !$0.photos.isEmpty }.observeValues { [weak pages] page in
      guard let term = searched.value else { return }
      recent.add(RecentSearch(term.text, page))
      // UIScheduler is the main actor's.
      MainActor.assumeIsolated {
        pages?.open(PhotoResults(of: term, in: photos, first: page, scheduler: scheduler))
      }
    }
  }
}

/// The text of a search, with enough characters.
struct SearchTerm: Equatable, Sendable {
  static let characterCountMin = 3
  static let characterCountMax = 100

  let text: String

  /// Nil if there are too few characters.
  init?(_ typed: String) {
    let words = typed.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    text = String(words.prefix(Self.characterCountMax))
    if text.count < Self.characterCountMin { return nil }
  }
}

extension Photos {
  /// One page, in time. A service that ends without an answer has found nothing.
  func page(
    _ number: Int, of term: SearchTerm, _ scheduler: any DateScheduler
  ) -> SignalProducer<PhotoPage, PhotosError> {
    search(term.text, page: number)
      .timeout(after: PhotoSearch.timeMax, raising: .noAnswer, on: scheduler)
      .take(first: 1)
      .collect()
      .map { $0.first ?? PhotoPage() }
  }
}
