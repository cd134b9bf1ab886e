/// The kinds of events that can be logged.
public enum LoggingEvent {
  /// The events of a signal.
  public enum Signal: String, CaseIterable, Sendable {
    /// A value.
    case value
    /// Completion.
    case completed
    /// A failure.
    case failed
    /// Any of the three ends.
    case terminated
    /// No more events can be delivered.
    case disposed
    /// An interruption.
    case interrupted
  }

  /// The events of a producer and its runs.
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
    /// No more events can be delivered.
    case disposed
    /// An interruption.
    case interrupted
  }
}

/// Writes down an event. It may be called from any thread.
///
/// - Parameters:
///   - identifier: The name of the stream.
///   - event: The kind of the event, and its value or error.
///   - fileName: The file that called the operator.
///   - functionName: The function that called it.
///   - lineNumber: The line of the call.
public typealias EventLogger =
  @Sendable (
    _ identifier: String, _ event: String, _ fileName: String, _ functionName: String,
    _ lineNumber: Int
  ) -> Void

/// Prints an event, on the thread that sends it.
///
/// - Parameters:
///   - identifier: The name of the stream.
///   - event: The kind of the event, and its value or error.
///   - fileName: The file that called the operator.
///   - functionName: The function that called it.
///   - lineNumber: The line of the call.
@Sendable
public func defaultEventLog(
  identifier: String, event: String, fileName: String, functionName: String, lineNumber: Int
) {
  print(
    "[\(identifier)] \(event) fileName: \(fileName), functionName: \(functionName), "
      + "lineNumber: \(lineNumber)")
}
