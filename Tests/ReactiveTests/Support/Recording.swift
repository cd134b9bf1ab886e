import Reactive

enum TestError: Error, Equatable { case one, two }

extension Signal where Value: Sendable {
  /// Notes the description of every event.
  @discardableResult
  func record(in log: Log<String>) -> (any Disposable)? {
    observe { log.append($0.description) }
  }
}

extension SignalProducer where Value: Sendable {
  /// Notes the description of every event.
  @discardableResult
  func record(in log: Log<String>) -> any Disposable {
    start { log.append($0.description) }
  }

  /// The descriptions of the events that come before `start` returns.
  var recorded: [String] {
    let log = Log<String>()
    record(in: log)
    return log.entries
  }
}
