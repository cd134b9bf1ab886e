public import FoundationEssentials

extension Signal {
  /// Delivers values at least `interval` seconds apart: the first as soon as possible, then the
  /// latest one received meanwhile.
  ///
  /// The end of the stream is delivered as soon as possible. A value that is already due is
  /// delivered before it; one that is not due yet is dropped. Disposal drops pending events, and
  /// delivers the interruption on `scheduler`.
  ///
  /// - Parameters:
  ///   - interval: The time in seconds; traps if it is negative.
  ///   - scheduler: Where the time is waited for and all events are delivered.
  /// - Returns: A signal that sends, on `scheduler`, no two values within `interval`.
  @preconcurrency
  public func throttle(
    _ interval: TimeInterval, on scheduler: any DateScheduler
  ) -> Signal<Value, Error> where Value: Sendable {
    precondition(interval >= 0, "a stream can't be throttled to \(interval) seconds")
    return through(Throttle(interval, on: scheduler, discardWhenCompleted: true))
  }

  /// Delivers values at least `interval` seconds apart: the first as soon as possible, then the
  /// latest one received meanwhile.
  ///
  /// A failure or an interruption is delivered as soon as possible. A value that is already due is
  /// delivered before it; one that is not due yet is dropped. Disposal drops pending events, and
  /// delivers the interruption on `scheduler`.
  ///
  /// - Parameters:
  ///   - interval: The time in seconds; traps if it is negative.
  ///   - scheduler: Where the time is waited for and all events are delivered.
  ///   - discardWhenCompleted: Whether completion drops a value that is not due yet. Otherwise
  ///     completion waits for it.
  /// - Returns: A signal that sends, on `scheduler`, no two values within `interval`.
  @preconcurrency
  public func throttle(
    _ interval: TimeInterval, on scheduler: any DateScheduler, discardWhenCompleted: Bool
  ) -> Signal<Value, Error> where Value: Sendable {
    precondition(interval >= 0, "a stream can't be throttled to \(interval) seconds")
    return through(
      Throttle(interval, on: scheduler, discardWhenCompleted: discardWhenCompleted))
  }
}

// Sendable as every scheduled operator is.
final class Throttle<Value, Error: Swift.Error>: DeadlineOperator<Value, Error>,
  @unchecked Sendable
{
  private let discardWhenCompleted: Bool

  init(_ interval: TimeInterval, on scheduler: any DateScheduler, discardWhenCompleted: Bool) {
    self.discardWhenCompleted = discardWhenCompleted
    super.init(interval, on: scheduler)
  }

  override func deadline(now: Date) -> Date {
    // If the clock has been set back, don't wait for the old time.
    previousDeadline <= now ? max(now, previousDeadline.addingTimeInterval(interval)) : now
  }

  override func terminate(_ termination: Termination<Error>) {
    if case .completed = termination, !discardWhenCompleted, completeLater() { return }
    super.terminate(termination)
  }
}
