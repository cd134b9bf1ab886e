import Foundation
import PictureStore
import Reactive

/// The posts of a village that doesn't exist, which are part of the program. They are searched in
/// memory, and answered when a server would.
struct VillagePosts: Posts {
  /// How the archive behaves. Other than at first, to see what the page makes of it.
  struct Behaviour: Sendable {
    /// Seconds until an answer, and until a picture.
    var latency = 0.4
    /// Whether the owner denies access.
    var deniesAccess = false
    /// Each search whose number this divides fails; 0 for none.
    var failure = 0
    /// Each search whose number this divides is never answered; 0 for none.
    var silence = 0
  }

  let behaviour: Behaviour
  private let posts: [(post: Post, words: String)]
  private let searchCount = MutableProperty(0)

  init(_ behaviour: Behaviour = Behaviour()) {
    self.behaviour = behaviour
    let text = String(decoding: PackageResources.posts_tsv, as: UTF8.self)
    posts = Self.posts(text).map { ($0, Self.folded($0.text + " " + $0.author.name)) }
  }

  /// Reads a post from each line: author, time, text. The newest are the last.
  static func posts(_ text: String) -> [Post] {
    let lines = text.split(separator: "\n").enumerated().compactMap { index, line -> Post? in
      let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
      guard fields.count == 3, let author = authors[String(fields[0])] else { return nil }
      return Post(id: index, author: author, day: String(fields[1]), text: String(fields[2]))
    }
    return lines.reversed()
  }

  static let authors: [String: Author] = Dictionary(
    uniqueKeysWithValues: [
      ("Ada Weir", "adaweir"), ("Bruno Falk", "brunobakes"), ("Chiara Moss", "chiara"),
      ("Dev Anand Rao", "devrao"), ("Edda Lund", "eddal"), ("Femi Okoye", "femi"),
      ("Greta Vance", "gretav"), ("Hugo Sand", "hugosand"), ("Ines Prado", "inesp"),
      ("Jun Arai", "junarai"),
    ].map { ($0.1, Author(name: $0.0, handle: $0.1)) })

  // MARK: Posts

  func requestAccess() -> SignalProducer<Never, PostsError> {
    let isDenied = behaviour.deniesAccess
    return SignalProducer<Void, PostsError>(value: ())
      .delay(behaviour.latency, on: QueueScheduler())
      .attempt { isDenied ? .failure(.accessDenied) : .success(()) }
      .then(SignalProducer<Never, PostsError>.empty)
  }

  func search(_ text: String) -> SignalProducer<[Post], PostsError> {
    let number = searchCount.modify { count in
      count += 1
      return count
    }
    if behaviour.silence > 0, number.isMultiple(of: behaviour.silence) { return .never }
    let isFailure = behaviour.failure > 0 && number.isMultiple(of: behaviour.failure)
    return SignalProducer<Void, PostsError>(value: ())
      .delay(behaviour.latency, on: QueueScheduler())
      .attemptMap { isFailure ? .failure(.unavailable) : .success(matches(text)) }
  }

  /// The posts in which all words of a text occur, ignoring case and accents.
  func matches(_ text: String) -> [Post] {
    let words = Self.folded(text).split(separator: " ")
    return posts.filter { post in words.allSatisfy { post.words.contains($0) } }.map(\.post)
  }

  private static func folded(_ text: String) -> String {
    text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
  }

  // MARK: Pictures

  /// The picture of an author, by its path in the site, after as long as a server would take.
  func picture(at path: String) async -> Picture? {
    guard let author = Self.authors.values.first(where: { $0.picture == path }) else { return nil }
    try? await Task.sleep(for: .seconds(behaviour.latency))
    return Picture(Array(Portrait.svg(of: author).utf8), mediaType: "image/svg+xml")
  }
}
