import ExampleProgram
import Foundation
import PictureStore
import Reactive
import Testing

@testable import instant_search

@Suite("The posts of the village")
struct VillagePostsTests {
  @Test("posts are found by all words, in any case and with any accents, the newest first")
  func matches() {
    let posts = VillagePosts()
    #expect(posts.matches("").count == 72, "each line of the file is a post")
    let bread = posts.matches("BREAD")
    #expect(bread.count == 3 && bread.map(\.id) == bread.map(\.id).sorted(by: >))
    #expect(posts.matches("bread rye").map(\.day) == ["7 May"])
    #expect(posts.matches("cafe").first?.text.hasPrefix("Café") == true)
    #expect(posts.matches("femi").contains { $0.author.name == "Femi Okoye" })
    #expect(posts.matches("zebra") == [])
  }

  @Test("a line that is no post is skipped")
  func malformed() {
    let text =
      "adaweir\t1 May\tHello\nnobody\t1 May\tHello\nadaweir\t1 May\n\nadaweir\t1\t2\t3\n\t\t\n"
    #expect(VillagePosts.posts(text).map(\.text) == ["Hello"])
  }

  @Test("each author has a picture, and no other name has one")
  func pictures() async throws {
    let posts = VillagePosts(.init(latency: 0))
    var seen: Set<[UInt8]> = []
    for author in VillagePosts.authors.values {
      let picture = try #require(await posts.picture(at: author.picture))
      #expect(picture.mediaType == "image/svg+xml")
      let parser = XMLCheck()
      #expect(parser.isWellFormed(picture.bytes), "\(author.handle)")
      seen.insert(picture.bytes)
    }
    #expect(seen.count == VillagePosts.authors.count, "no two look the same")
    for path in ["pictures/nobody.svg", "pictures/", "adaweir", "pictures/../posts.tsv"] {
      #expect(await posts.picture(at: path) == nil)
    }
  }

  /// Whether tags close in the order in which they open.
  private struct XMLCheck {
    func isWellFormed(_ bytes: [UInt8]) -> Bool {
      var open: [Substring] = []
      let text = String(decoding: bytes, as: UTF8.self)
      for tag in text.matches(of: #/<(/?)([a-z]+)[^<>]*?(/?)>/#).map(\.output) {
        if tag.1 == "/" {
          guard open.popLast() == tag.2 else { return false }
        } else if tag.3.isEmpty {
          open.append(tag.2)
        }
      }
      return open.isEmpty && text.hasPrefix("<svg")
    }
  }

  @Test("options are read, and unknown ones are refused")
  func options() throws {
    let options = try Options([
      "9000", "--latency", "0.1", "--fail", "2", "--silence", "3", "--deny",
    ])
    #expect(options.port == 9_000)
    #expect(options.behaviour.latency == 0.1 && options.behaviour.deniesAccess)
    #expect(options.behaviour.failure == 2 && options.behaviour.silence == 3)
    for arguments in [
      ["x"], ["99999"], ["--latency"], ["--latency", "x"], ["--latency", "-1"],
      ["--latency", "nan"], ["--fail", "-1"], ["--fail", "1.5"],
    ] {
      #expect(throws: UsageError.self, "\(arguments)") { try Options(arguments) }
    }
  }
}

@Suite("A store of pictures")
struct PictureStoreTests {
  /// Counts the loads, and holds them until the test lets them go on.
  private actor Loader {
    private(set) var names: [String] = []
    private(set) var atOnce = 0
    private(set) var atOnceMax = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var isOpen: Bool
    init(isOpen: Bool = true) { self.isOpen = isOpen }

    func load(_ name: String, size: Int) async -> Picture? {
      names.append(name)
      atOnce += 1
      atOnceMax = max(atOnceMax, atOnce)
      if !isOpen { await withCheckedContinuation { waiting.append($0) } }
      atOnce -= 1
      return name == "none"
        ? nil : Picture([UInt8](repeating: 1, count: size), mediaType: "image/png")
    }

    func open() {
      isOpen = true
      for each in waiting { each.resume() }
      waiting = []
    }

    /// Waits until `count` pictures are being loaded.
    func wait(for count: Int) async { while atOnce < count { await Task.yield() } }
  }

  @Test("the store loads a picture once, however many requests there are")
  func once() async {
    let loader = Loader(isOpen: false)
    let store = PictureStore<Never>(byteCountMax: 100, loadCountMax: 2) {
      await loader.load($0, size: 10)
    }
    await withTaskGroup(of: Picture?.self) { group in
      for _ in 0..<20 { group.addTask { await store.picture(named: "a") } }
      await loader.wait(for: 1)
      await loader.open()
      for await picture in group { #expect(picture?.bytes.count == 10) }
    }
    _ = await store.picture(named: "a")
    #expect(await loader.names == ["a"])
  }

  @Test("the store loads a few pictures at a time, and finally all")
  func few() async {
    let loader = Loader(isOpen: false)
    let store = PictureStore<Never>(byteCountMax: 1_000, loadCountMax: 3) {
      await loader.load($0, size: 10)
    }
    await withTaskGroup(of: Bool.self) { group in
      for number in 0..<20 {
        group.addTask { await store.picture(named: "\(number)") != nil }
      }
      await loader.wait(for: 3)
      await loader.open()
      for await isThere in group { #expect(isThere) }
    }
    #expect(await loader.atOnceMax == 3)
    #expect(await Set(loader.names).count == 20)
  }

  @Test("the store keeps the most recently requested pictures, up to the bound")
  func bound() async {
    let loader = Loader()
    let store = PictureStore<Never>(byteCountMax: 30, loadCountMax: 1) {
      await loader.load($0, size: $0 == "huge" ? 31 : 10)
    }
    for name in ["a", "b", "c", "a", "d", "a", "b"] { _ = await store.picture(named: name) }
    #expect(await loader.names == ["a", "b", "c", "d", "b"], "b made room for d, a was used")
    #expect(await store.byteCount == 30)
    _ = await store.picture(named: "huge")
    _ = await store.picture(named: "huge")
    #expect(await loader.names.suffix(2) == ["huge", "huge"], "it would leave no room for others")
    #expect(await store.byteCount == 30)
  }

  @Test("the store passes a failure on, and tries again the next time")
  func failure() async throws {
    struct Cut: Error {}
    let loader = Loader()
    let store = PictureStore<Cut>(byteCountMax: 30, loadCountMax: 1) { name throws(Cut) in
      let picture = await loader.load(name, size: 1)
      if await loader.names.count == 1 { throw Cut() }
      return picture
    }
    await #expect(throws: Cut.self) { try await store.picture(named: "a") }
    #expect(try await store.picture(named: "a") != nil)
    #expect(await loader.names == ["a", "a"])
  }

  @Test("the store requests a picture again that was missing before")
  func missing() async {
    let loader = Loader()
    let store = PictureStore<Never>(byteCountMax: 30, loadCountMax: 1) {
      await loader.load($0, size: 1)
    }
    for _ in 0..<3 { #expect(await store.picture(named: "none") == nil) }
    #expect(await loader.names.count == 3)
    #expect(await store.picture(named: "some") != nil, "and goes on")
  }
}
