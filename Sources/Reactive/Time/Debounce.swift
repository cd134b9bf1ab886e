public import FoundationEssentials

extension Signal {
  /// Delivers a value when no other value has followed for `interval` seconds.
  ///
  /// At most one timer is set at a time. Disposal drops pending events, and delivers the
  /// interruption on `scheduler`.
  ///
  /// - Parameters:
  ///   - interval: The time in seconds; traps if it is negative.
  ///   - scheduler: Where the time is waited for and all events are delivered.
  ///   - discardWhenCompleted: Whether completion drops the value that waits. Otherwise completion
  ///     waits for it. A failure or an interruption always drops it.
  /// - Returns: A signal that sends, on `scheduler`, values that were not followed by others.
  @preconcurrency
  public func debounce(
    _ interval: TimeInterval, on scheduler: any DateScheduler,
    discardWhenCompleted: Bool = true
  ) -> Signal<Value, Error> where Value: Sendable {
    precondition(interval >= 0, "a stream can't be debounced by \(interval) seconds")
    return through(
      Debounce(by: interval, on: scheduler, discardWhenCompleted: discardWhenCompleted))
  }
}

// Sendable as every scheduled operator is.
final class Debounce<Value, Error: Swift.Error>: DeadlineOperator<Value, Error>,
  @unchecked Sendable
{
  private let discardWhenCompleted: Bool

  init(by interval: TimeInterval, on scheduler: any DateScheduler, discardWhenCompleted: Bool) {
    self.discardWhenCompleted = discardWhenCompleted
    super.init(interval, on: scheduler)
  }

  override func deadline(now: Date) -> Date {
    now.addingTimeInterval(interval)
  }

  override func terminate(_ termination: Termination<Error>) {
    if case .completed = termination, !discardWhenCompleted, completeLater() { return }
    drop()
    super.terminate(termination)
  }
}
