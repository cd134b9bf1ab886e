public import FoundationEssentials

extension Signal {
  /// Delivers a value when `interval` seconds have gone by without another.
  ///
  /// - Parameters:
  ///   - interval: Not negative.
  ///   - scheduler: Where the time is waited for and the value delivered.
  ///   - discardWhenCompleted: Whether completion drops the value that waits. Otherwise completion
  ///     waits for it. A failure or an interruption always drops it.
  @preconcurrency
  public func debounce(
    _ interval: TimeInterval, on scheduler: any DateScheduler,
    discardWhenCompleted: Bool = true
  ) -> Signal<Value, Error> where Value: Sendable {
    precondition(interval >= 0, "a stream can't be debounced by \(interval) seconds")
    return Debounce(
      by: interval, on: scheduler, discardWhenCompleted: discardWhenCompleted
    ).signal(of: self)
  }
}

extension SignalProducer {
  /// Delivers a value when `interval` seconds have gone by without another.
  ///
  /// - Parameters:
  ///   - interval: Not negative.
  ///   - scheduler: Where the time is waited for and the value delivered.
  ///   - discardWhenCompleted: Whether completion drops the value that waits. Otherwise completion
  ///     waits for it. A failure or an interruption always drops it.
  @preconcurrency
  public func debounce(
    _ interval: TimeInterval, on scheduler: any DateScheduler,
    discardWhenCompleted: Bool = true
  ) -> SignalProducer<Value, Error> where Value: Sendable {
    precondition(interval >= 0, "a stream can't be debounced by \(interval) seconds")
    return lift {
      $0.debounce(interval, on: scheduler, discardWhenCompleted: discardWhenCompleted)
    }
  }
}

/// One timer is out at most. When it fires early, because a newer value has come, it is set
/// again: many values in an interval cost two timers.
// Sendable as every scheduled operator is.
private final class Debounce<Value, Error: Swift.Error>: ScheduledOperator<Value, Value, Error>,
  @unchecked Sendable
{
  private let interval: TimeInterval
  private let scheduler: any DateScheduler
  private let discardWhenCompleted: Bool
  private let timer = SerialDisposable()

  private let lock = PlainLock()
  // Only for whoever has the lock.
  private var pending: Value?
  private var deadline = Date.distantPast
  private var isTimerSet = false
  private var isCompleting = false

  init(by interval: TimeInterval, on scheduler: any DateScheduler, discardWhenCompleted: Bool) {
    self.interval = interval
    self.scheduler = scheduler
    self.discardWhenCompleted = discardWhenCompleted
    super.init(on: scheduler)
    lifetime += timer
  }

  override func receive(_ value: Value) {
    let deadline = scheduler.currentDate.addingTimeInterval(interval)
    lock.lock()
    // Destroyed when the lock is free again.
    let replaced = pending
    pending = value
    self.deadline = deadline
    let needsTimer = !isTimerSet
    isTimerSet = true
    lock.unlock()
    if needsTimer { setTimer(for: deadline) }
    withExtendedLifetime(replaced) {}
  }

  private func setTimer(for date: Date) {
    timer.inner = scheduler.schedule(after: date) { self.fire(at: date) }
  }

  private func fire(at date: Date) {
    lock.lock()
    let isEarly = pending != nil && deadline > date
    let next = deadline
    let due = isEarly ? nil : pending.take()
    let finishes = isCompleting
    isTimerSet = isEarly
    lock.unlock()
    if isEarly { return setTimer(for: next) }
    guard let due else { return }
    emit(due)
    if finishes { finish(.completed) }
  }

  override func terminate(_ termination: Termination<Error>) {
    if case .completed = termination, !discardWhenCompleted {
      lock.lock()
      isCompleting = true
      let isWaiting = pending != nil
      lock.unlock()
      if isWaiting { return }
    }
    timer.dispose()
    super.terminate(termination)
  }
}
