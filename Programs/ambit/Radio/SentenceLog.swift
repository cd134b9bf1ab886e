import Logging

/// A log handler that forwards sentences.
struct SentenceLog: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel = LogLevel.current
  private let onSentence: @Sendable (String, _ isAboutBonds: Bool) -> Void

  /// - Parameter onSentence: Takes each message, on the thread that logs it.
  init(_ onSentence: @escaping @Sendable (String, _ isAboutBonds: Bool) -> Void) {
    self.onSentence = onSentence
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    onSentence("\(event.message)", event.metadata?["about"] == "bonds")
  }
}
