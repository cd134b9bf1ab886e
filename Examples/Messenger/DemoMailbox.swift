import Foundation

/// An account without a server: two people that don't exist answer what they are sent.
final class DemoMailbox: Mailbox {
  let address = "you@demo.example"

  /// How long the other one takes for each step.
  private let pause: Duration
  /// The folder of the picture and the recording that Ada sends.
  private let folder: URL
  private let store = Store()
  private let events = AsyncStream.makeStream(of: MailboxEvent.self)

  /// The messages, in memory.
  private actor Store {
    var bubbles: [Bubble] = []
    var count: Int64 = 0

    func add(_ make: @Sendable (Int64) -> Bubble) -> Bubble {
      count += 1
      let bubble = make(count)
      bubbles.append(bubble)
      return bubble
    }

    func history(of peer: String) -> [Bubble] { bubbles.filter { $0.peer == peer } }
  }

  static let ada = "ada@demo.example"
  static let ben = "ben@demo.example"

  init(pause: Duration, folder: URL) {
    self.pause = pause
    self.folder = folder
  }

  func normalized(_ address: String) -> String? {
    let parts = address.lowercased().split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && !$0.contains(" ") }) else {
      return nil
    }
    return parts.joined(separator: "@")
  }

  func peers() async throws -> [String] { [Self.ada, Self.ben] }
  func history(with peer: String) async throws -> [Bubble] { await store.history(of: peer) }
  func markDisplayed(_ bubble: Bubble) async {}

  func send(_ text: String, to peer: String) async throws -> Bubble {
    let bubble = await store.add { number in
      Bubble(
        key: .sent(number), peer: peer, isOwn: true, text: text, time: Self.now,
        state: .waiting(nil))
    }
    answer(bubble, "You wrote: \(text)")
    return bubble
  }

  func send(file path: String, to peer: String) async throws -> Bubble {
    let url = URL(filePath: path)
    let start = try FileHandle(forReadingFrom: url).read(upToCount: 12)
    let bubble = await store.add { number in
      var bubble = Bubble(
        key: .sent(number), peer: peer, isOwn: true, text: "", time: Self.now,
        state: .uploading(0))
      bubble.file = File(
        name: url.lastPathComponent, mediaType: start.flatMap { File.shownType(of: $0) },
        place: .here(path: path))
      return bubble
    }
    answer(bubble, "Thank you for \(url.lastPathComponent).")
    return bubble
  }

  func load(_ bubble: Bubble) async throws -> String {
    try await Task.sleep(for: pause)
    guard let name = bubble.file?.name else { throw CocoaError(.fileNoSuchFile) }
    return folder.appending(path: name).path
  }

  func run(_ take: @escaping @Sendable (MailboxEvent) async -> Void) async {
    await take(.connection(nil))
    await greet(take)
    for await event in events.stream { await take(event) }
  }

  private func greet(_ take: @escaping @Sendable (MailboxEvent) async -> Void) async {
    let picture = try? Data(contentsOf: folder.appending(path: "gate.png"))
    let files = [
      File(name: "gate.png", mediaType: "image/png", thumbnail: picture.map { Array($0) }),
      File(name: "bell.wav", mediaType: "audio/wav", duration: 1_000),
    ]
    for (text, file) in [("Someone is at the gate.", files[0]), ("It rang like this.", files[1])] {
      let bubble = await store.add { number in
        var bubble = Bubble(
          key: .received(number), peer: Self.ada, isOwn: false, text: text, time: Self.now)
        bubble.file = file
        return bubble
      }
      await take(.received(bubble))
    }
  }

  /// Moves a message through its states, and answers it.
  private func answer(_ bubble: Bubble, _ text: String) {
    let (events, pause, store) = (events.continuation, pause, store)
    Task {
      for state in [Bubble.State.atServer, .received, .displayed] {
        try await Task.sleep(for: pause)
        events.yield(.state(bubble.key, state))
      }
      events.yield(.typing(bubble.peer, true))
      try await Task.sleep(for: pause)
      let answer = await store.add { number in
        Bubble(key: .received(number), peer: bubble.peer, isOwn: false, text: text, time: Self.now)
      }
      events.yield(.received(answer))
    }
  }

  private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }
}
