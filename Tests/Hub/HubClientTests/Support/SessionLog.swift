import BluetoothInterface
import HubClient
import HubWire
import Logging
import Synchronization

/// A session with the events that it got, to wait for.
final class SessionLog: Sendable {
  private let events: AsyncStream<HostEvent>
  let session: any HostSession
  private let count: Counter

  /// How many events a client got.
  private final class Counter: Sendable {
    let number = Atomic(0)
  }

  init(_ provider: HubSessionProvider, acknowledgesEvents: Bool = false) {
    let (stream, continuation) = AsyncStream.makeStream(of: HostEvent.self)
    let count = Counter()
    self.count = count
    events = stream
    session = provider.openSession(acknowledgesEvents: acknowledgesEvents, settle: nil) { events in
      count.number.add(events.count, ordering: .relaxed)
      for event in events { continuation.yield(event) }
    }
  }

  /// How many events the session got.
  var eventCount: Int { count.number.load(ordering: .relaxed) }

  /// The next event; the suite's time limit ends the wait.
  func next() async -> HostEvent? {
    var iterator = events.makeAsyncIterator()
    return await iterator.next()
  }

  /// Waits for an event.
  func wait(for event: HostEvent) async -> Bool {
    while let next = await next() { if next == event { return true } }
    return false
  }
}

/// Messages of apps that a scripted hub got, to wait for.
final class MessageLog: Sendable {
  private let continuation: AsyncStream<AppMessage>.Continuation
  private let messages: AsyncStream<AppMessage>

  init() {
    (messages, continuation) = AsyncStream.makeStream(of: AppMessage.self)
  }

  func append(_ message: AppMessage) { continuation.yield(message) }

  /// The next message; the suite's time limit ends the wait.
  func next() async -> AppMessage? {
    var iterator = messages.makeAsyncIterator()
    return await iterator.next()
  }
}

extension Logger {
  /// Logs nothing: tests read the problem instead.
  static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  /// A logger with the lines that it gets, each with its level.
  static func recording() -> (lines: AsyncStream<String>, logger: Logger) {
    let (lines, continuation) = AsyncStream.makeStream(of: String.self)
    return (lines, Logger(label: "test") { _ in RecordingHandler(continuation: continuation) })
  }

  private struct RecordingHandler: LogHandler {
    let continuation: AsyncStream<String>.Continuation
    var logLevel = Logger.Level.info
    var metadata = Logger.Metadata()

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { continuation.yield("\(event.level): \(event.message)") }
  }
}
