import Reactive

/// A post: the model. It knows no page.
struct Post: Identifiable, Equatable, Sendable {
  let id: Int
  let author: Author
  /// The day, as people write it.
  let day: String
  let text: String
}

struct Author: Hashable, Sendable {
  let name: String
  /// The name after the @.
  let handle: String

  /// Where the picture is, in the site.
  var picture: String { "pictures/\(handle).svg" }
}

/// Where posts can be searched, with their owner's permission.
protocol Posts: Sendable {
  /// Requests permission, and completes when it is granted.
  func requestAccess() -> SignalProducer<Never, PostsError>
  /// Sends the posts in which all words of a text occur, the newest first.
  func search(_ text: String) -> SignalProducer<[Post], PostsError>
}

enum PostsError: Error, Equatable {
  case accessDenied
  case unavailable
  case noAnswer

  var text: String {
    switch self {
    case .accessDenied: "The archive may not be searched: its owner said no."
    case .unavailable: "The archive could not be searched."
    case .noAnswer: "The archive does not answer."
    }
  }
}
