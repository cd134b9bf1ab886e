import Foundation
import PictureStore
import Reactive

/// All public photographs on Flickr, by its REST API.
///
/// Pictures come through this program: pages load nothing from elsewhere, and Flickr doesn't learn
/// which user looks at which picture.
struct FlickrPhotos: Photos {
  struct Configuration: Sendable {
    /// The application's key, which Flickr gives out. It is in no message and no log.
    var key: String
    var api: URL
    var pictures: URL
    /// Seconds, for a whole answer.
    var timeMax = 10.0
    var now: @Sendable () -> ContinuousClock.Instant = { .now }
  }

  static let pageSize = 100
  static let answerByteCountMax = 2 << 20
  static let pictureByteCountMax = 16 << 20
  /// Flickr has no more of any search (https://www.flickr.com/services/api/flickr.photos.search.html).
  static let totalMax = 4_000

  private let configuration: Configuration
  private let client: HTTPClient
  /// By their paths in the site.
  private let pictures: PictureStore<HTTPClient.Failure>

  init(_ configuration: Configuration) {
    self.configuration = configuration
    let client = HTTPClient(timeMax: configuration.timeMax)
    self.client = client
    let server = SilentServer(now: configuration.now)
    pictures = PictureStore(byteCountMax: 64 << 20, loadCountMax: 6) {
      path throws(HTTPClient.Failure) in
      try await Self.load(path, configuration, client, server)
    }
  }

  var name: String { "Flickr" }

  func search(_ text: String, page: Int) -> SignalProducer<PhotoPage, PhotosError> {
    SignalProducer(awaiting: { () async throws(PhotosError) in try await find(text, page) })
  }

  func facts(of photo: Photo) -> SignalProducer<String, PhotosError> {
    SignalProducer(awaiting: { () async throws(PhotosError) in try await count(photo.id) })
  }

  /// The favourites and comments of a photograph
  /// (https://www.flickr.com/services/api/flickr.photos.getFavorites.html, flickr.photos.getInfo.html).
  @concurrent
  private func count(_ id: String) async throws(PhotosError) -> String {
    let query = ["photo_id": id]
    let favorites = try FlickrAnswer.favoriteCount(
      await answer("flickr.photos.getFavorites", query.merging(["per_page": "1"]) { $1 }))
    let comments = try FlickrAnswer.commentCount(await answer("flickr.photos.getInfo", query))
    return "\(favorites) \(favorites == 1 ? "favourite" : "favourites"), "
      + "\(comments) \(comments == 1 ? "comment" : "comments")"
  }

  @concurrent
  private func find(_ text: String, _ page: Int) async throws(PhotosError) -> PhotoPage {
    let found = try FlickrAnswer(
      await answer(
        "flickr.photos.search",
        [
          "text": text, "sort": "relevance", "safe_search": "1", "content_types": "0",
          "media": "photos", "extras": "owner_name,date_taken", "per_page": "\(Self.pageSize)",
          "page": "\(page)",
        ]))
    let isLast = found.page >= found.pages || page * Self.pageSize >= Self.totalMax
    return PhotoPage(
      photos: found.photos.prefix(Self.pageSize).map(Self.photo), total: found.total,
      next: isLast ? nil : page + 1)
  }

  /// The body of the answer to a call.
  private func answer(
    _ method: String, _ parameters: [String: String]
  ) async throws(PhotosError) -> [UInt8] {
    let answer: HTTPClient.Answer
    do throws(HTTPClient.Failure) {
      answer = try await client.get(
        address(of: method, parameters), byteCountMax: Self.answerByteCountMax)
    } catch {
      switch error {
      case .noAnswer: throw .noAnswer
      case .unreachable: throw .unreachable
      case .tooLarge: throw .malformed
      }
    }
    switch answer.status {
    case 200: return answer.body
    case 429: throw .busy
    case 500...: throw .unreachable
    default: throw .refused("HTTP status \(answer.status)")
    }
  }

  private func address(of method: String, _ parameters: [String: String]) -> URL {
    let query = [
      "method": method, "api_key": configuration.key, "format": "json", "nojsoncallback": "1",
    ]
    let items = query.merging(parameters) { $1 }.sorted { $0.key < $1.key }
      .map { URLQueryItem(name: $0.key, value: $0.value) }
    var components = URLComponents(url: configuration.api, resolvingAgainstBaseURL: false)
    components?.queryItems = items
    // A plus is a blank to servers, and none to URLComponents.
    let encoded = components?.percentEncodedQuery?.replacing("+", with: "%2B")
    components?.percentEncodedQuery = encoded
    return components?.url ?? configuration.api
  }

  private static func photo(_ photo: FlickrAnswer.Photo) -> Photo {
    let address = "flickr/\(photo.server)/\(photo.id)_\(photo.secret)"
    return Photo(
      id: photo.id, title: photo.title.isEmpty ? "Untitled" : photo.title, owner: photo.owner,
      date: photo.taken, thumbnail: address + "_z.jpg", picture: address + "_b.jpg")
  }

  // MARK: Pictures

  /// A picture by its path in the site; nil if it isn't one of Flickr's.
  func picture(at path: String) async throws(HTTPClient.Failure) -> Picture? {
    guard Self.isPicture(path) else { return nil }
    return try await pictures.picture(named: path)
  }

  /// Whether a path consists only of the parts of Flickr's picture addresses: the program requests
  /// no others.
  static func isPicture(_ path: String) -> Bool {
    guard let parts = path.wholeMatch(of: #/flickr/([0-9a-z]+)/([0-9a-z]+)_([0-9a-z]+)_[zb]\.jpg/#)
    else { return false }
    return [parts.1, parts.2, parts.3].allSatisfy { FlickrAnswer.Photo.isPart(String($0)) }
  }

  @concurrent
  private static func load(
    _ path: String, _ configuration: Configuration, _ client: HTTPClient, _ server: SilentServer
  ) async throws(HTTPClient.Failure) -> Picture? {
    let address = configuration.pictures.appending(path: String(path.dropFirst("flickr/".count)))
    let answer = try await server.answer { () async throws(HTTPClient.Failure) in
      try await client.get(address, byteCountMax: pictureByteCountMax)
    }
    guard answer.status == 200 else {
      if answer.status >= 500 { throw .unreachable }
      return nil
    }
    // Send only pictures to browsers, for any name of a file.
    let header = PictureHeader { Array(answer.body.dropFirst($0).prefix($1)) }
    guard let header, header.width <= PictureFolder.pixelCountMax / header.height else {
      return nil
    }
    return Picture(answer.body, mediaType: header.format.mediaType)
  }
}
