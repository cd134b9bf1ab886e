/// The kinds of events that can be logged.
public enum LoggingEvent {
  /// What happens on a signal.
  public enum Signal: String, CaseIterable, Sendable {
    /// A value.
    case value
    /// Completion.
    case completed
    /// A failure.
    case failed
    /// Any of the three ends.
    case terminated
    /// Nothing can be delivered any more.
    case disposed
    /// An interruption.
    case interrupted
  }

  /// What happens to a producer and its runs.
  public enum SignalProducer: String, CaseIterable, Sendable {
    /// A run is about to start.
    case starting
    /// The start of a run has returned.
    case started
    /// A value.
    case value
    /// Completion.
    case completed
    /// A failure.
    case failed
    /// Any of the three ends.
    case terminated
    /// Nothing can be delivered any more.
    case disposed
    /// An interruption.
    case interrupted
  }
}

/// Writes down an event. It may be called from any thread.
///
/// - Parameters:
///   - identifier: What the stream was called.
///   - event: The kind of the event, and what it carries.
///   - fileName: The file in which logging was asked for.
///   - functionName: The function in which it was.
///   - lineNumber: The line.
public typealias EventLogger =
  @Sendable (
    _ identifier: String, _ event: String, _ fileName: String, _ functionName: String,
    _ lineNumber: Int
  ) -> Void

/// Prints an event, on the thread that sends it.
///
/// - Parameters:
///   - identifier: What the stream was called.
///   - event: The kind of the event, and what it carries.
///   - fileName: The file in which logging was asked for.
///   - functionName: The function in which it was.
///   - lineNumber: The line.
@Sendable
public func defaultEventLog(
  identifier: String, event: String, fileName: String, functionName: String, lineNumber: Int
) {
  print(
    "[\(identifier)] \(event) fileName: \(fileName), functionName: \(functionName), "
      + "lineNumber: \(lineNumber)")
}
