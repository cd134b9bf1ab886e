// Producers: by hand, because theirs logs starts, too.
extension Signal {
  /// Logs events, of the given kinds, before passing them on as they are.
  ///
  /// - Parameters:
  ///   - identifier: The name of the signal in the log.
  ///   - events: The kinds of events to log.
  ///   - fileName: The file in which this is called.
  ///   - functionName: The function in which it is.
  ///   - lineNumber: The line on which it is.
  ///   - logger: Writes an event down; called on the thread that sends it.
  /// - Returns: A signal of the same events.
  @available(swift 6)
  public func logEvents(
    identifier: String = "",
    events: Set<LoggingEvent.Signal> = Set(LoggingEvent.Signal.allCases),
    fileName: String = #file, functionName: String = #function, lineNumber: Int = #line,
    logger: @escaping EventLogger = defaultEventLog
  ) -> Signal<Value, Error> {
    let log = Journal(events: events) {
      logger(identifier, $0, fileName, functionName, lineNumber)
    }
    return on(
      failed: log.entry(.failed), completed: log.entry(.completed),
      interrupted: log.entry(.interrupted), terminated: log.entry(.terminated),
      disposed: log.entry(.disposed), value: log.entry(.value))
  }
}

extension SignalProducer {
  /// Logs events of every run, of the given kinds, before passing them on as they are.
  ///
  /// - Parameters:
  ///   - identifier: The name of the producer in the log.
  ///   - events: The kinds of events to log.
  ///   - fileName: The file in which this is called.
  ///   - functionName: The function in which it is.
  ///   - lineNumber: The line on which it is.
  ///   - logger: Writes an event down; called on the thread that sends it.
  /// - Returns: A producer of the same events.
  @available(swift 6)
  public func logEvents(
    identifier: String = "",
    events: Set<LoggingEvent.SignalProducer> = Set(LoggingEvent.SignalProducer.allCases),
    fileName: String = #file, functionName: String = #function, lineNumber: Int = #line,
    logger: @escaping EventLogger = defaultEventLog
  ) -> SignalProducer<Value, Error> {
    let log = Journal(events: events) {
      logger(identifier, $0, fileName, functionName, lineNumber)
    }
    return on(
      starting: log.entry(.starting), started: log.entry(.started),
      failed: log.entry(.failed), completed: log.entry(.completed),
      interrupted: log.entry(.interrupted), terminated: log.entry(.terminated),
      disposed: log.entry(.disposed), value: log.entry(.value))
  }
}

/// Writes the wanted kinds of events down.
private struct Journal<Kind: RawRepresentable<String> & Hashable & Sendable> {
  let events: Set<Kind>
  let write: @Sendable (String) -> Void

  /// What writes down events of a kind; nil if they aren't wanted.
  func entry(_ kind: Kind) -> (@Sendable () -> Void)? {
    guard events.contains(kind) else { return nil }
    return { [write] in write(kind.rawValue) }
  }

  /// What writes down events of a kind, with what they carry; nil if they aren't wanted.
  func entry<Content>(_ kind: Kind) -> (@Sendable (Content) -> Void)? {
    guard events.contains(kind) else { return nil }
    return { [write] content in
      write(content is Void ? kind.rawValue : "\(kind.rawValue) \(content)")
    }
  }
}
