public import Dispatch
public import FoundationEssentials

/// Performs work serially.
public protocol Scheduler: AnyObject, Sendable {
  /// Enqueues work. The scheduler decides when and on which thread it is performed.
  ///
  /// - Returns: A disposable that cancels the work if it has not begun; nil if it can't be.
  @preconcurrency
  @discardableResult
  func schedule(_ action: @escaping @Sendable () -> Void) -> (any Disposable)?
}

/// A scheduler with a clock: it can perform work at a date, and repeatedly.
public protocol DateScheduler: Scheduler {
  /// The time on the scheduler's clock.
  var currentDate: Date { get }

  /// Enqueues work to be performed at `date`, or as soon as possible after.
  ///
  /// - Returns: A disposable that cancels the work if it has not begun; nil if it can't be.
  @preconcurrency
  @discardableResult
  func schedule(after date: Date, action: @escaping @Sendable () -> Void) -> (any Disposable)?

  /// Enqueues work to be performed at `date` and every `interval` after it.
  ///
  /// To save power the work may be performed up to `leeway` later than due.
  ///
  /// - Returns: A disposable that ends the repetition.
  @preconcurrency
  @discardableResult
  func schedule(
    after date: Date, interval: DispatchTimeInterval, leeway: DispatchTimeInterval,
    action: @escaping @Sendable () -> Void
  ) -> (any Disposable)?
}

extension DateScheduler {
  /// Enqueues work to be performed after `delay` and every `interval` from then on.
  ///
  /// To save power the work may be performed up to `leeway` later than due. None of the three may
  /// be negative.
  ///
  /// - Returns: A disposable that ends the repetition.
  @preconcurrency
  @discardableResult
  public func schedule(
    after delay: DispatchTimeInterval, interval: DispatchTimeInterval,
    leeway: DispatchTimeInterval = .seconds(0), action: @escaping @Sendable () -> Void
  ) -> (any Disposable)? {
    precondition(delay.timeInterval >= 0, "work can't be delayed by \(delay)")
    return schedule(
      after: currentDate.addingTimeInterval(delay), interval: interval, leeway: leeway,
      action: action)
  }
}
