import Reactive

/// A photograph that a search has found: the model. It knows no page.
struct Photo: Identifiable, Equatable, Sendable {
  /// Unique in its service.
  let id: String
  let title: String
  /// Whose it is: a person, or the folder that it is in.
  let owner: String
  /// When it was taken; empty if unknown.
  let date: String
  /// Where a small picture of it is, in the site.
  let thumbnail: String
  /// Where the picture itself is, in the site.
  let picture: String
}

/// A part of what a search has found.
struct PhotoPage: Equatable, Sendable {
  var photos: [Photo] = []
  /// How many there are on all pages.
  var total = 0
  /// The number of the page after this one; nil if this is the last.
  var next: Int?
}

/// Where photographs can be searched.
protocol Photos: Sendable {
  /// Where one searches, for people.
  var name: String { get }

  /// Sends a page of the photographs that a text is about.
  ///
  /// - Parameter page: Its number, from 1 on.
  func search(_ text: String, page: Int) -> SignalProducer<PhotoPage, PhotosError>

  /// Sends what only a second request finds out of a photograph, as a text for people: how many have marked
  /// it as a favourite, how large it is.
  func facts(of photo: Photo) -> SignalProducer<String, PhotosError>
}

enum PhotosError: Error, Equatable {
  case noAnswer
  case unreachable
  /// The service refused the request, with its reason.
  case refused(String)
  /// There were too many requests.
  case busy
  /// The service does not have this photograph, or not for everybody.
  case missing
  /// The answer is not one.
  case malformed

  var text: String {
    switch self {
    case .noAnswer: "There is no answer. Try again in a moment."
    case .unreachable: "The service can't be reached."
    case .refused(let reason): "The service refused: \(reason)"
    case .busy: "The service has had too many requests. Try again in a moment."
    case .missing: "The photograph is gone, or can't be read."
    case .malformed: "The service sent something that is no answer."
    }
  }

  /// The same in a few words, where the program itself tries again.
  var note: String {
    switch self {
    case .noAnswer: "no answer yet"
    case .unreachable: "the service can't be reached"
    case .refused(let reason): "refused: \(reason)"
    case .busy: "the service has had too many requests"
    case .missing: "gone, or unreadable"
    case .malformed: "no usable answer"
    }
  }
}
