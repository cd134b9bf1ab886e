public import FoundationEssentials

extension Signal {
  /// Delivers a value when `interval` seconds have gone by without another.
  ///
  /// One timer at most is set for it, however many values come. Disposal drops what waits, and
  /// delivers the interruption on `scheduler`.
  ///
  /// - Parameters:
  ///   - interval: Seconds; not negative, or the call traps.
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

/// One timer is out at most. When it fires early, because a newer value has come, it is set
/// again: many values in an interval cost two timers.
// Sendable as every scheduled operator is.
final class Debounce<Value, Error: Swift.Error>: ScheduledOperator<Value, Value, Error>,
  @unchecked Sendable
{
  private let interval: TimeInterval
  private let scheduler: any DateScheduler
  private let discardWhenCompleted: Bool
  private let timer = SerialDisposable()

  private let lock = PlainLock()
  // Guarded by the lock.
  private let pending = FIFO<Value>(capacity: 2)
  private var deadline = Date.distantPast
  private var isTimerSet = false
  private var isCompleting = false

  init(by interval: TimeInterval, on scheduler: any DateScheduler, discardWhenCompleted: Bool) {
    self.interval = interval
    self.scheduler = scheduler
    self.discardWhenCompleted = discardWhenCompleted
    super.init(on: scheduler)
  }

  override func willStart() {
    lifetime += timer
  }

  override func receive(_ value: Value) {
    let deadline = scheduler.currentDate.addingTimeInterval(interval)
    lock.lock()
    let replaced = pending.replace(with: value)
    self.deadline = deadline
    let needsTimer = !isTimerSet
    isTimerSet = true
    lock.unlock()
    if needsTimer { setTimer(for: deadline) }
    replaced?.deinitialize(count: 1)
  }

  private func setTimer(for date: Date) {
    timer.inner = scheduler.schedule(after: date) { self.fire(at: date) }
  }

  private func fire(at date: Date) {
    lock.lock()
    guard !pending.isEmpty else {
      isTimerSet = false
      return lock.unlock()
    }
    if deadline > date {
      let next = deadline
      lock.unlock()
      return setTimer(for: next)
    }
    let due = pending.takeFirst()
    let finishes = isCompleting
    isTimerSet = false
    lock.unlock()
    emit(due)
    if finishes { complete() }
  }

  override func terminate(_ termination: Termination<Error>) {
    if case .completed = termination, !discardWhenCompleted {
      lock.lock()
      isCompleting = true
      let isWaiting = !pending.isEmpty
      lock.unlock()
      if isWaiting { return }
    }
    timer.dispose()
    super.terminate(termination)
  }

  override func drop() {
    timer.dispose()
    lock.lock()
    let dropped = pending.popFirst()
    lock.unlock()
    withExtendedLifetime(dropped) {}
  }
}
