import Logging

/// A log handler that passes sentences on, whatever their level.
struct SentenceLog: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.info
  private let onSentence: @Sendable (String) -> Void

  /// - Parameter onSentence: Takes each message, on the thread that logs it.
  init(_ onSentence: @escaping @Sendable (String) -> Void) { self.onSentence = onSentence }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { onSentence("\(event.message)") }
}
