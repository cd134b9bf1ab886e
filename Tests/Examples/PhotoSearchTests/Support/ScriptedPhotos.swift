import Reactive
import Synchronization
import Testing

@testable import photo_search

/// A service whose answers a test sends.
final class ScriptedPhotos: Photos {
  struct Search: Sendable {
    let text: String
    let page: Int
    let answer: Signal<PhotoPage, PhotosError>.Observer
  }

  let name = "a test"
  private let searches = Mutex<[Search]>([])
  private let endCount = Mutex(0)

  var texts: [String] { searches.withLock { $0.map(\.text) } }
  var pages: [Int] { searches.withLock { $0.map(\.page) } }
  /// Searches that have ended, or were given up.
  var ended: Int { endCount.withLock { $0 } }

  /// The search that was begun last.
  func last() throws -> Search { try searches.withLock { try #require($0.last) } }

  func search(_ text: String, page: Int) -> SignalProducer<PhotoPage, PhotosError> {
    SignalProducer { [self] observer, lifetime in
      searches.withLock { $0.append(Search(text: text, page: page, answer: observer)) }
      lifetime.observeEnded { [self] in endCount.withLock { $0 += 1 } }
    }
  }

  /// A request for the facts of a photograph.
  struct Request: Sendable {
    let id: String
    let answer: Signal<String, PhotosError>.Observer
  }

  private let requests = Mutex<[Request]>([])
  private let openRequests = Mutex<Set<String>>([])

  /// The requests for facts, in their order.
  var factRequests: [Request] { requests.withLock { $0 } }
  /// The photographs whose facts are being loaded.
  var loading: Set<String> { openRequests.withLock { $0 } }

  func facts(of photo: Photo) -> SignalProducer<String, PhotosError> {
    SignalProducer { [self] observer, lifetime in
      requests.withLock { $0.append(Request(id: photo.id, answer: observer)) }
      openRequests.withLock { _ = $0.insert(photo.id) }
      lifetime.observeEnded { [self] in openRequests.withLock { _ = $0.remove(photo.id) } }
    }
  }

  static func photo(_ id: Int) -> Photo {
    Photo(
      id: "\(id)", title: "Photo \(id)", owner: "Ada", date: "2026-05-02",
      thumbnail: "thumbnails/\(id).png", picture: "pictures/\(id).png")
  }

  /// A page with the photographs of some numbers.
  static func page(_ numbers: Range<Int>, of total: Int, next: Int? = nil) -> PhotoPage {
    PhotoPage(photos: numbers.map(photo), total: total, next: next)
  }
}

/// Remembers what view models open.
@MainActor
final class RecordedPages: Pages {
  private(set) var opened: [PhotoResults] = []
  func open(_ results: PhotoResults) { opened.append(results) }
}
