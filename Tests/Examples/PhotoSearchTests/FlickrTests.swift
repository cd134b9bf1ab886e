import ExampleProgram
import Foundation
import PictureStore
import Reactive
import Synchronization
import Testing

@testable import photo_search

@Suite("Flickr's answers")
struct FlickrAnswerTests {
  private static func error(_ text: String) -> PhotosError? {
    do throws(PhotosError) {
      _ = try FlickrAnswer(Array(text.utf8))
      return nil
    } catch {
      return error
    }
  }

  @Test("Flickr's answers have photographs, and their number")
  func found() throws {
    let answer = try FlickrAnswer(StubFlickr.found(1..<4, page: 2, pages: 7, total: 650))
    #expect(answer.page == 2 && answer.pages == 7 && answer.total == 650)
    #expect(
      answer.photos.first
        == .init(
          id: "51", secret: "a1234561", server: "65535", title: "Tern 1", owner: "Ada Weir",
          taken: "2024-05-02"))
  }

  @Test("a refusal of Flickr has the reason")
  func refused() {
    #expect(
      Self.error(String(decoding: StubFlickr.invalidKey, as: UTF8.self))
        == .refused("Invalid API Key (Key has invalid format)"))
    #expect(Self.error(#"{"stat":"fail"}"#) == .refused("no reason given"))
    let long = String(repeating: "x", count: 5_000)
    guard case .refused(let reason) = Self.error(#"{"stat":"fail","message":"\#(long)"}"#) else {
      Issue.record("it isn't refused")
      return
    }
    #expect(reason.count == 200)
  }

  @Test(
    "an answer that isn't Flickr's is malformed",
    arguments: [
      "", "{", "[]", "null", "<html>", "{}", #"{"stat":"ok"}"#, #"{"stat":"ok","photos":[]}"#,
      #"{"stat":"ok","photos":{"page":1,"pages":1,"total":1}}"#,
      #"{"stat":"ok","photos":{"page":1,"pages":1,"total":1,"photo":{}}}"#,
      #"{"stat":"ok","photos":{"page":-1,"pages":1,"total":1,"photo":[]}}"#,
      #"{"stat":"ok","photos":{"page":1,"pages":1,"total":"many","photo":[]}}"#,
      #"jsonFlickrApi({"stat":"ok","photos":{"page":1,"pages":1,"total":1,"photo":[]}})"#,
      String(repeating: "[", count: 100_000),
    ])
  func malformed(_ text: String) { #expect(Self.error(text) == .malformed) }

  @Test("photographs whose address can't be made are left out of an answer")
  func badPhotos() throws {
    let bad = [
      "{}", "7", #"{"id":"1","secret":"a"}"#, #"{"id":"../1","secret":"a","server":"1"}"#,
      #"{"id":"1","secret":"a/b","server":"1"}"#, #"{"id":"1","secret":"","server":"1"}"#,
      #"{"id":"1","secret":"a","server":"1?x"}"#, #"{"id":1.5,"secret":"a","server":"1"}"#,
    ]
    let good =
      #"{"id":51,"secret":"ab","server":65535,"title":"\#(String(repeating: "t", count: 999))"}"#
    let text =
      #"{"stat":"ok","photos":{"page":1,"pages":"1","total":9,"photo":["#
      + (bad + [good]).joined(separator: ",") + "]}}"
    let answer = try FlickrAnswer(Array(text.utf8))
    #expect(answer.photos.map(\.id) == ["51"] && answer.photos.first?.title.count == 200)
  }
}

@Suite("Photographs of Flickr")
struct FlickrTests {
  /// Runs a test with a server that answers with `handler`.
  private static func withFlickr(
    timeMax: Double = 50, _ handler: @escaping @Sendable (String) -> StubFlickr.Answer,
    _ body: (FlickrPhotos, StubFlickr) async throws -> Void
  ) async throws {
    let server = try StubFlickr(handler)
    defer { server.stop() }
    let address = try #require(URL(string: server.address))
    let photos = FlickrPhotos(
      .init(
        key: "k&y", api: address.appending(path: "services/rest/"), pictures: address,
        timeMax: timeMax))
    try await body(photos, server)
  }

  private static func search(
    _ photos: FlickrPhotos, _ text: String, page: Int = 1
  ) async -> Result<PhotoPage, PhotosError> {
    await withCheckedContinuation { continuation in
      photos.search(text, page: page).startWithResult { continuation.resume(returning: $0) }
    }
  }

  @Test("photographs of Flickr are searched by its documented request, page by page")
  func searched() async throws {
    try await Self.withFlickr { target in
      target.contains("&page=1&")
        ? .whole(StubFlickr.found(0..<100, page: 1, pages: 2, total: 130))
        : .whole(StubFlickr.found(100..<130, page: 2, pages: 2, total: 130))
    } _: { photos, server in
      let first = try await Self.search(photos, "tern & gull+1/2").get()
      #expect(first.photos.count == 100 && first.total == 130 && first.next == 2)
      #expect(
        first.photos.first
          == Photo(
            id: "50", title: "Tern 0", owner: "Ada Weir", date: "2024-05-02",
            thumbnail: "flickr/65535/50_a1234560_z.jpg", picture: "flickr/65535/50_a1234560_b.jpg"))
      let last = try await Self.search(photos, "tern", page: 2).get()
      #expect(last.photos.count == 30 && last.next == nil)
      let target = try #require(server.targets.first)
      let components = try #require(URLComponents(string: "http://x" + target))
      let query = Dictionary(
        uniqueKeysWithValues: (components.queryItems ?? []).map { ($0.name, $0.value ?? "") })
      #expect(components.path == "/services/rest/")
      #expect(query["method"] == "flickr.photos.search" && query["api_key"] == "k&y")
      #expect(query["text"] == "tern & gull+1/2")
      #expect(query["format"] == "json" && query["nojsoncallback"] == "1")
      #expect(query["per_page"] == "100" && query["page"] == "1")
    }
  }

  @Test("a search fails when Flickr refuses, answers nonsense, or closes the connection")
  func failures() async throws {
    let cases: [(StubFlickr.Answer, PhotosError)] = [
      (.whole(StubFlickr.invalidKey), .refused("Invalid API Key (Key has invalid format)")),
      (.whole([]), .malformed), (.whole(Array("<html></html>".utf8)), .malformed),
      (.whole(status: 500, []), .unreachable),
      (.whole(status: 429, []), .busy), (.whole(status: 403, []), .refused("HTTP status 403")),
      (.cutOff(Array(#"{"photos":{"page":1"#.utf8)), .unreachable), (.closed, .unreachable),
      (.endless, .malformed),
      (.elsewhere("http://127.0.0.1:1/"), .refused("HTTP status 302")),
      (.silent, .noAnswer), (.slow, .noAnswer),
    ]
    for (answer, error) in cases {
      // What doesn't end by itself is given up soon; a busy machine may need longer than that for the rest.
      let isLate = error == .noAnswer
      try await Self.withFlickr(timeMax: isLate ? 1.5 : 50) { _ in
        answer
      } _: { photos, server in
        #expect(await Self.search(photos, "tern") == .failure(error), "\(answer)")
        let count = server.targets.count
        #expect(
          count == 1 || count == 0 && isLate,
          "nobody is led elsewhere, and nothing is tried again")
      }
    }
    // The server has stopped.
    let gone = try StubFlickr { _ in .closed }
    gone.stop()
    let address = try #require(URL(string: gone.address))
    let photos = FlickrPhotos(.init(key: "k", api: address, pictures: address, timeMax: 50))
    #expect(await Self.search(photos, "tern") == .failure(.unreachable))
  }

  @Test
  func `The favourites and comments of a photograph come by calls of their own`() async throws {
    func facts(_ favorites: String, _ comments: String) async throws -> Result<String, PhotosError>?
    {
      var result: Result<String, PhotosError>?
      try await Self.withFlickr { target in
        .whole(Array((target.contains("getFavorites") ? favorites : comments).utf8))
      } _: { photos, server in
        result = await withCheckedContinuation { continuation in
          photos.facts(of: ScriptedPhotos.photo(51)).take(first: 1).startWithResult {
            continuation.resume(returning: $0)
          }
        }
        #expect(server.targets.allSatisfy { $0.hasSuffix("&photo_id=51") })
      }
      return result
    }
    let one = #"{"photo":{"comments":{"_content":"1"}},"stat":"ok"}"#
    let many = #"{"photo":{"id":"51","total":"12","person":[]},"stat":"ok"}"#
    #expect(try await facts(many, one) == .success("12 favourites, 1 comment"))
    #expect(try await facts(one, one) == .failure(.malformed))
    #expect(try await facts(many, many) == .failure(.malformed))
    #expect(
      try await facts(String(decoding: StubFlickr.invalidKey, as: UTF8.self), one)
        == .failure(.refused("Invalid API Key (Key has invalid format)")))
    for code in ["1", "2", "\"1\""] {
      let refusal = #"{"stat":"fail","code":\#(code),"message":"Photo not found"}"#
      #expect(try await facts(refusal, one) == .failure(.missing))
      #expect(try await facts(many, refusal) == .failure(.missing))
    }
  }

  @Test("a search is cancelled when no page waits for it any more")
  func cancelled() async throws {
    try await Self.withFlickr(timeMax: 60) { _ in
      .silent
    } _: { photos, server in
      let search = photos.search("tern", page: 1).start()
      while server.targets.isEmpty { await Task.yield() }
      search.dispose()
      // The connection ends, which the server notices.
      while server.connectionCount > 0 { await Task.yield() }
    }
  }

  @Test("photographs of Flickr come through the program, and only they do")
  func pictures() async throws {
    let picture = TestPicture.png(width: 30, height: 20)
    try await Self.withFlickr { target in
      switch target {
      case "/65535/51_ab_z.jpg": .whole(picture)
      case "/65535/52_ab_z.jpg": .whole(Array("<script>1</script>".utf8))
      case "/65535/53_ab_z.jpg": .whole(TestPicture.header(width: 60_000, height: 60_000))
      case "/65535/54_ab_z.jpg": .whole(status: 404, picture)
      default: .closed
      }
    } _: { photos, server in
      for _ in 0..<2 {
        let sent = try await photos.picture(at: "flickr/65535/51_ab_z.jpg")
        #expect(sent == Picture(picture, mediaType: "image/png"))
      }
      #expect(server.targets.count == 1, "it is kept")
      for number in 52...54 {
        #expect(try await photos.picture(at: "flickr/65535/\(number)_ab_z.jpg") == nil)
      }
      await #expect(throws: HTTPClient.Failure.unreachable) {
        try await photos.picture(at: "flickr/65535/55_ab_z.jpg")
      }
      let count = server.targets.count
      for path in [
        "flickr/65535/51_ab_x.jpg", "flickr/../51_ab_z.jpg", "flickr/65535/../51_ab_z.jpg",
        "flickr//51_ab_z.jpg", "flickr/65535/51_ab_z.jpg?x", "65535/51_ab_z.jpg",
        "flickr/65535/51_ab_z.jpg/", "flickr/1@evil.example/51_ab_z.jpg",
        "flickr/" + String(repeating: "1", count: 41) + "/51_ab_z.jpg", "flickr/65535/51_AB_z.jpg",
      ] {
        #expect(try await photos.picture(at: path) == nil, "\(path)")
      }
      #expect(server.targets.count == count, "for none of these anybody was asked")
    }
  }

  @Test("an answer that is endless or too late is given up", arguments: [true, false])
  func pictureFailures(_ isEndless: Bool) async throws {
    try await Self.withFlickr(timeMax: isEndless ? 50 : 3) { _ in
      isEndless ? .endless : .slow
    } _: { photos, _ in
      await #expect(throws: isEndless ? HTTPClient.Failure.tooLarge : .noAnswer) {
        try await photos.picture(at: "flickr/65535/51_ab_z.jpg")
      }
    }
  }
}

@Suite("A server of pictures that doesn't answer")
final class SilentServerTests: Sendable {
  private let time = Mutex(ContinuousClock.now)

  @Test
  func `It gets one request after each pause, until it answers`() async throws {
    let server = SilentServer { self.time.withLock(\.self) }
    let requestCount = Mutex(0)
    let outcome = Mutex(Result<HTTPClient.Answer, HTTPClient.Failure>.failure(.noAnswer))
    func request() async -> Result<HTTPClient.Answer, HTTPClient.Failure> {
      do throws(HTTPClient.Failure) {
        return .success(
          try await server.answer { () throws(HTTPClient.Failure) in
            requestCount.withLock { $0 += 1 }
            return try outcome.withLock(\.self).get()
          })
      } catch {
        return .failure(error)
      }
    }
    for (index, pause) in [2.0, 4, 8, 16, 32, 64, 64].enumerated() {
      _ = await request()
      #expect(requestCount.withLock(\.self) == index + 1)
      time.withLock { $0 += .seconds(pause - 0.1) }
      for _ in 0..<3 { _ = await request() }
      #expect(requestCount.withLock(\.self) == index + 1, "none during a pause")
      time.withLock { $0 += .seconds(0.2) }
    }
    // Any answer counts, also one that is no picture.
    outcome.withLock { $0 = .failure(.unreachable) }
    for _ in 0..<3 { _ = await request() }
    #expect(requestCount.withLock(\.self) == 10)
    outcome.withLock { $0 = .success(.init(status: 200, body: [7])) }
    #expect(try await request().get().body == [7])
  }

  /// The requests under way, which end when they are resumed.
  private let underWay = Mutex<[CheckedContinuation<Void, Never>]>([])

  private func silentRequest(_ server: SilentServer) async {
    _ = try? await server.answer { () async throws(HTTPClient.Failure) in
      await withCheckedContinuation { end in self.underWay.withLock { $0.append(end) } }
      throw .noAnswer
    }
  }

  @Test
  func `Requests that are under way together begin one pause, and one of them tries the server`()
    async
  {
    let server = SilentServer { self.time.withLock(\.self) }
    for (count, pause) in [(6, 0.0), (0, 1.9), (1, 0.2), (0, 3.9), (1, 0.2)] {
      time.withLock { $0 += .seconds(pause) }
      await withTaskGroup { group in
        for _ in 0..<6 { group.addTask { await self.silentRequest(server) } }
        // The others end at once.
        for _ in 0..<(6 - count) { await group.next() }
        while underWay.withLock(\.count) < count { await Task.yield() }
        underWay.withLock { requests in
          for request in requests { request.resume() }
          requests = []
        }
      }
    }
  }
}

@Suite("The options of the photo search")
struct OptionsTests {
  @Test("options say where photographs are searched")
  func options() throws {
    let home = ["HOME": "/home/ada"]
    guard case .folder("/home/ada/Pictures") = try Options([], environment: home).source else {
      Issue.record("the folder of one's own pictures")
      return
    }
    let xdg = home.merging(["XDG_PICTURES_DIR": "/pics"]) { $1 }
    guard case .folder("/pics") = try Options([], environment: xdg).source else {
      Issue.record("what the desktop calls so")
      return
    }
    let named = try Options(["0", "--folder", "/x"], environment: xdg)
    guard case .folder("/x") = named.source, named.port == 0 else {
      Issue.record("the one that is named")
      return
    }
    let key = ["FLICKR_API_KEY": "abc"]
    guard case .flickr(let flickr) = try Options(["--flickr"], environment: key).source else {
      Issue.record("Flickr")
      return
    }
    #expect(flickr.key == "abc")
    #expect(flickr.api.absoluteString == "https://api.flickr.com/services/rest/")
    #expect(flickr.pictures.absoluteString == "https://live.staticflickr.com/")
  }

  @Test("unknown options are refused")
  func refused() {
    for (arguments, reason) in [
      (["x"], "There is no option “x”."), (["70000"], "There is no option “70000”."),
      (["--folder"], "--folder needs a value."),
      (["--flickr", "--api", "nowhere"], "“nowhere” is no address of a server."),
      (["--flickr", "--api", "file:///etc/"], "“file:///etc/” is no address of a server."),
      (["--flickr", "--pictures"], "--pictures needs a value."),
    ] {
      let error = #expect(throws: UsageError.self, "\(arguments)") {
        try Options(arguments, environment: ["FLICKR_API_KEY": "abc"])
      }
      #expect(error?.reason == reason)
    }
    let error = #expect(throws: UsageError.self, "without a key") {
      try Options(["--flickr"], environment: [:])
    }
    #expect(error?.reason == "Put the key that Flickr gave you into FLICKR_API_KEY.")
  }
}
