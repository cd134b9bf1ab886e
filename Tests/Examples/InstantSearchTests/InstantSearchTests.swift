import Binding
import Dispatch
import Foundation
import Reactive
import Synchronization
import Testing

@testable import instant_search

/// An archive whose answers a test sends.
private final class ScriptedPosts: Posts {
  struct Search: Sendable {
    let text: String
    let answer: Signal<[Post], PostsError>.Observer
  }

  let access = MutableProperty<Result<Void, PostsError>?>(.success(()))
  private let searches = Mutex<[Search]>([])
  private let endCount = Mutex(0)

  var texts: [String] { searches.withLock { $0.map(\.text) } }
  /// Searches that have ended, or were given up.
  var ended: Int { endCount.withLock { $0 } }

  func search(number: Int) throws -> Search {
    try searches.withLock { searches in
      try #require(searches.indices.contains(number), "there are \(searches.count) searches")
      return searches[number]
    }
  }

  func requestAccess() -> SignalProducer<Never, PostsError> {
    switch access.value {
    case .success: .empty
    case .failure(let error): SignalProducer(error: error)
    case nil: .never
    }
  }

  func search(_ text: String) -> SignalProducer<[Post], PostsError> {
    SignalProducer { [self] observer, lifetime in
      searches.withLock { $0.append(Search(text: text, answer: observer)) }
      lifetime.observeEnded { [self] in endCount.withLock { $0 += 1 } }
    }
  }
}

@Suite("The search while one types")
@MainActor
struct InstantSearchTests {
  private let archive = ScriptedPosts()
  private let scheduler = TestScheduler()

  private func model(granted: Bool = true) -> InstantSearch {
    let model = InstantSearch(archive: archive, scheduler: scheduler)
    if granted { model.requestAccess.apply().start() }
    return model
  }

  private nonisolated static func post(_ id: Int) -> Post {
    Post(id: id, author: Author(name: "Ada", handle: "ada"), day: "2 May", text: "Post \(id)")
  }

  @Test("the search has a page that names only declared values")
  func page() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Examples/InstantSearch/Site/index.html")
    let page = try String(contentsOf: file, encoding: .utf8)
    #expect(InstantSearch.problems(inPage: page, named: "index.html") == [])
  }

  @Test("the search waits for access to be granted, and then searches the text typed before")
  func access() {
    let model = model(granted: false)
    model.text.value = "bread"
    scheduler.advance(by: 10)
    #expect(archive.texts == [] && model.needsAccess.value)
    model.requestAccess.apply().start()
    #expect(model.isGranted.value && !model.needsAccess.value)
    scheduler.advance(by: 0.5)
    #expect(archive.texts == ["bread"])
  }

  @Test("the search can request access again when it is denied, or not answered")
  func deniedAccess() {
    let model = model(granted: false)
    let errors = MutableProperty<PostsError?>(nil)
    errors <~ model.requestAccess.errors
    archive.access.value = .failure(.accessDenied)
    model.requestAccess.apply().start()
    #expect(errors.value == .accessDenied && !model.isGranted.value)
    archive.access.value = nil
    model.requestAccess.apply().start()
    #expect(!model.requestAccess.isEnabled.value)
    scheduler.advance(by: 5)
    #expect(errors.value == .noAnswer && !model.isGranted.value)
    archive.access.value = .success(())
    model.requestAccess.apply().start()
    #expect(model.isGranted.value)
  }

  @Test("the search waits until nothing is typed for half a second, and for three characters")
  func quiet() {
    let model = model()
    for text in ["b", "br", "bre", "brea", "bread"] {
      model.text.value = text
      scheduler.advance(by: 0.4)
    }
    #expect(archive.texts == [] && !model.isSearching.value)
    scheduler.advance(by: 0.2)
    #expect(archive.texts == ["bread"] && model.isSearching.value)
    model.text.value = "br"
    scheduler.advance(by: 10)
    #expect(archive.texts == ["bread"])
  }

  @Test("the search ignores blanks, and a text that comes back before it is searched for")
  func sameText() {
    let model = model()
    for text in ["  rye  bread ", "rye bread", "rye breads", "rye bread"] {
      model.text.value = text
      if text != "rye breads" { scheduler.advance(by: 1) }
    }
    #expect(archive.texts == ["rye bread"])
    model.text.value = "a  "
    scheduler.advance(by: 1)
    #expect(archive.texts.count == 1, "blanks are no characters")
    model.text.value = String(repeating: "x", count: 50_000)
    scheduler.advance(by: 1)
    #expect(archive.texts.last?.count == SearchTerm.characterCountMax)
  }

  @Test("the search shows the answer to the latest text, however late others come")
  func latest() throws {
    let model = model()
    model.text.value = "bread"
    scheduler.advance(by: 0.5)
    model.text.value = "train"
    scheduler.advance(by: 0.5)
    #expect(archive.texts == ["bread", "train"])
    #expect(archive.ended == 1, "the search before is given up")
    try archive.search(number: 1).answer.send(value: [Self.post(2)])
    try archive.search(number: 0).answer.send(value: [Self.post(1)])
    #expect(model.posts.value == [Self.post(2)])
    #expect(model.summary.value == "One post" && !model.isSearching.value)
  }

  @Test("a text that is too short ends a search at once")
  func shortened() throws {
    let model = model()
    model.text.value = "bread"
    scheduler.advance(by: 0.5)
    try archive.search(number: 0).answer.send(value: [Self.post(1)])
    model.text.value = "bread r"
    scheduler.advance(by: 0.5)
    #expect(model.posts.value == [Self.post(1)], "what was found stays until there is an answer")
    model.text.value = "br"
    #expect(model.posts.value == [] && !model.isSearching.value && archive.ended == 2)
    try archive.search(number: 1).answer.send(value: [Self.post(2)])
    #expect(model.posts.value == [])
    model.text.value = "bread r"
    scheduler.advance(by: 0.5)
    #expect(archive.texts == ["bread", "bread r", "bread r"], "it is another search")
  }

  @Test("a search that fails ends nothing")
  func failure() throws {
    let model = model()
    model.text.value = "bread"
    scheduler.advance(by: 0.5)
    try archive.search(number: 0).answer.send(error: .unavailable)
    #expect(model.error.value == "The archive could not be searched.")
    #expect(!model.isSearching.value && model.summary.value == "")
    model.searchAgain.apply().start()
    #expect(archive.texts == ["bread", "bread"] && model.error.value == nil)
    try archive.search(number: 1).answer.send(error: .unavailable)
    model.text.value = "train"
    scheduler.advance(by: 0.5)
    try archive.search(number: 2).answer.send(value: [Self.post(1), Self.post(2)])
    #expect(model.summary.value == "2 posts" && model.error.value == nil)
  }

  @Test("a service that is silent, or ends without an answer, doesn't stop the search")
  func silence() throws {
    let model = model()
    model.text.value = "bread"
    scheduler.advance(by: 0.5 + 4.9)
    #expect(model.isSearching.value)
    scheduler.advance(by: 0.2)
    #expect(model.error.value == "The archive does not answer." && !model.isSearching.value)
    #expect(archive.ended == 1)
    model.text.value = "train"
    scheduler.advance(by: 0.5)
    try archive.search(number: 1).answer.sendCompleted()
    #expect(model.summary.value == "Nobody has written of “train”." && model.error.value == nil)
  }

  @Test("the search shows a hundred posts of a thousand, with a remark")
  func bounded() throws {
    let model = model()
    model.text.value = "bread"
    scheduler.advance(by: 0.5)
    try archive.search(number: 0).answer.send(value: (0..<1_000).map(Self.post))
    #expect(model.posts.value.count == 100)
    #expect(model.summary.value == "The newest 100 of 1000 posts")
  }

  @Test("the search takes answers of any thread to the main actor")
  func threads() async throws {
    let model = model()
    let isOnMain = Mutex<[Bool]>([])
    // Not the thread: on Linux any may run the main queue once the program's first has left it.
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    defer { DispatchQueue.main.setSpecific(key: key, value: nil) }
    model.posts.signal.observeValues { _ in
      isOnMain.withLock { $0.append(DispatchQueue.getSpecific(key: key) == true) }
    }
    model.text.value = "bread"
    await scheduler.advance(by: 0.5)
    let answer = try archive.search(number: 0).answer
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        answer.send(value: [Self.post(1)])
        DispatchQueue.main.async { continuation.resume() }
      }
    }
    #expect(model.posts.value == [Self.post(1)])
    #expect(isOnMain.withLock { $0 } == [true, true], "when it begins, and with the answer")
  }
}
