import Binding
import Foundation
import Reactive
import Testing

@testable import messenger

/// An account that does what a test has it do.
private final class TestMailbox: Mailbox {
  struct Failure: Error, CustomStringConvertible {
    var description = "the disk is full"
  }

  let address = "ann@x"
  let sent = MutableProperty<[String]>([])
  let marked = MutableProperty<[Bubble.ID]>([])
  let isFailing = MutableProperty(false)
  let events = AsyncStream.makeStream(of: MailboxEvent.self)
  let taken = AsyncStream.makeStream(of: Void.self)

  func normalized(_ address: String) -> String? { address.contains("@") ? address : nil }
  func peers() async throws -> [String] { ["bob@x"] }
  func history(with peer: String) async throws -> [Bubble] { [] }
  func load(_ bubble: Bubble) async throws -> String { throw Failure(description: "gone") }

  func markDisplayed(_ bubble: Bubble) async { marked.modify { $0.append(bubble.id) } }

  func send(_ text: String, to peer: String) async throws -> Bubble {
    if isFailing.value { throw Failure() }
    return bubble(
      .sent(
        sent.modify {
          $0.append(text); return Int64($0.count)
        }), text)
  }

  func send(file path: String, to peer: String) async throws -> Bubble {
    let name = URL(filePath: path).lastPathComponent
    return bubble(
      .upload(
        sent.modify {
          $0.append(name); return Int64($0.count)
        }), name)
  }

  func run(_ take: @escaping @Sendable (MailboxEvent) async -> Void) async {
    for await event in events.stream {
      await take(event)
      taken.continuation.yield()
    }
  }
}

extension PropertyProtocol where Value: Sendable {
  /// Waits until the value is as a test expects it.
  fileprivate func value(where isFit: @escaping @Sendable (Value) -> Bool) async -> Value? {
    await producer.filter { isFit($0) }.firstValue()
  }
}

@Suite("The messenger", .timeLimit(.minutes(5)))
@MainActor
struct MessengerTests {
  private let mailbox = TestMailbox()
  private let messages: Messages
  private let outbox = FileManager.default.temporaryDirectory
    .appending(path: "messenger-\(UUID().uuidString)")

  init() { messages = Messages(mailbox) }

  private static func file(_ path: String) throws -> String {
    let url = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Examples/Messenger/\(path)")
    return try String(contentsOf: url, encoding: .utf8)
  }

  @Test("The page names only declared values")
  func page() throws {
    #expect(Messenger.problems(inPage: try Self.file("Site/index.html"), named: "index.html") == [])
  }

  @Test("A text is sent to the open conversation, and the field is empty when it is stored")
  func sending() async {
    let view = Messenger(messages, outbox: outbox)
    view.draft.value = "Hello"
    #expect(!view.send.isEnabled.value, "no conversation is open")
    view.open.apply("bob@x").start()
    #expect(view.send.isEnabled.value)
    try? await view.send.apply().completion()
    #expect(mailbox.sent.value == ["Hello"])
    #expect(view.draft.value == "")
    #expect(!view.send.isEnabled.value)
    #expect(view.bubbles.value.map(\.text) == ["Hello"])
  }

  @Test("A text that can't be stored stays in its field, with the reason")
  func failure() async {
    let view = Messenger(messages, outbox: outbox)
    view.with.value = "bob@x"
    view.draft.value = "Hello"
    mailbox.isFailing.value = true
    let error = MutableProperty<String?>(nil)
    error <~ view.send.errors.map { $0.text }
    try? await view.send.apply().completion()
    #expect(error.value == "the disk is full")
    #expect(view.draft.value == "Hello")
    #expect(view.bubbles.value.isEmpty)
  }

  @Test("Files that have come are kept in the outbox before they are sent")
  func files() async throws {
    defer { try? FileManager.default.removeItem(at: outbox) }
    try FileManager.default.createDirectory(at: outbox, withIntermediateDirectories: true)
    let part = outbox.appending(path: "part")
    try Data("x".utf8).write(to: part)
    let view = Messenger(messages, outbox: outbox)
    view.with.value = "bob@x"
    var file = Upload.File(id: "1", name: "../a/.hidden.png", byteCount: 1)
    view.files.put(file)
    #expect(!view.send.isEnabled.value)
    file.path = part.path
    view.files.put(file)
    #expect(view.send.isEnabled.value)
    try await view.send.apply().completion()
    #expect(mailbox.sent.value == ["hidden.png"])
    #expect(view.files.files.value.isEmpty)
    #expect(!FileManager.default.fileExists(atPath: part.path))
  }

  @Test("Messages are marked as displayed while a view shows their conversation, and not otherwise")
  func marks() async {
    let view = Messenger(messages, outbox: outbox)
    let running = Task { await messages.run() }
    defer { running.cancel() }
    var taken = mailbox.taken.stream.makeAsyncIterator()
    mailbox.events.continuation.yield(.received(bubble(.received(1))))
    await taken.next()
    view.with.value = "bob@x"
    #expect(view.list.value.first?.unreadCount == 1, "no page shows the view model")
    view.appeared()
    #expect(view.list.value.first?.unreadCount == 0)
    #expect(await mailbox.marked.value { $0 == ["received-1"] } != nil)
    mailbox.events.continuation.yield(.received(bubble(.received(2))))
    await taken.next()
    #expect(await mailbox.marked.value { $0 == ["received-1", "received-2"] } != nil)
    view.disappeared()
    mailbox.events.continuation.yield(.received(bubble(.received(3))))
    await taken.next()
    #expect(view.list.value.first?.unreadCount == 1)
  }

  @Test("A file that can't be loaded has the reason, and can be requested again")
  func loading() async {
    let view = Messenger(messages, outbox: outbox)
    let running = Task { await messages.run() }
    defer { running.cancel() }
    view.with.value = "bob@x"
    var message = bubble(.received(1))
    message.file = File(name: "a.png", mediaType: "image/png")
    mailbox.events.continuation.yield(.received(message))
    #expect(await view.bubbles.value { $0.first?.canLoad == true } != nil)
    await messages.load("received-1")
    #expect(view.bubbles.value.first?.fileText == "a.png: gone")
    #expect(view.bubbles.value.first?.canLoad == true)
  }

  @Test("An address that is none is refused with an example")
  func addresses() async {
    let view = Messenger(messages, outbox: outbox)
    let error = MutableProperty<String?>(nil)
    error <~ view.begin.errors.map { $0.text }
    view.address.value = "bob"
    try? await view.begin.apply().completion()
    #expect(error.value == "An address looks like bob@chat.example.")
    view.address.value = "bob@x"
    try? await view.begin.apply().completion()
    #expect(view.with.value == "bob@x")
  }

  @Test("The terminal prints messages with their states, and nothing that controls it")
  func terminal() async {
    var lines: [String] = []
    let view = TerminalView(messages, outbox: outbox) { lines.append($0) }
    await view.take("Hello")
    #expect(lines.last == "-- \"/to ADDRESS\" opens a conversation first.")
    await view.take("/to bob@x")
    #expect(lines.last == "-- bob@x")
    await view.take("Bell \u{7}\u{1B}[2J")
    #expect(lines.last?.hasSuffix("You: Bell   [2J (waits for a connection)") == true)
    let running = Task { await messages.run() }
    defer { running.cancel() }
    var taken = mailbox.taken.stream.makeAsyncIterator()
    mailbox.events.continuation.yield(.state(.sent(1), .received))
    await taken.next()
    #expect(lines.last == "   Bell   [2J: received")
    mailbox.events.continuation.yield(.received(bubble(.received(1), "Hi\u{1B}c\nfake")))
    await taken.next()
    #expect(lines.last?.hasSuffix("bob@x: Hi c fake") == true)
    await view.take("/list")
    #expect(lines.last?.hasPrefix("bob@x Hi") == true)
    mailbox.isFailing.value = true
    await view.take("again")
    #expect(lines.last == "-- the disk is full")
  }
}
