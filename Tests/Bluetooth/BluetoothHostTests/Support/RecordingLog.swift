import Logging
import Synchronization

/// A log that keeps its entries.
final class RecordingLog: Sendable {
  struct Entry: Equatable {
    var level: Logger.Level
    var message: String
  }

  private let recorded = Mutex<[Entry]>([])

  var entries: [Entry] { recorded.withLock { $0 } }
  var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

  private struct Handler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace
    let log: RecordingLog

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    init(log: RecordingLog) { self.log = log }

    func log(event: LogEvent) {
      log.recorded.withLock { $0.append(Entry(level: event.level, message: "\(event.message)")) }
    }
  }
}
