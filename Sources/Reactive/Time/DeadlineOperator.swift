internal import FoundationEssentials

/// Keeps the latest value until its deadline.
///
/// One timer is out at most. A newer value postpones it where the scheduler can do that; otherwise
/// it fires early and is set again: many values in an interval cost two timers.
// Sendable as every scheduled operator is.
class DeadlineOperator<Value, Error: Swift.Error>: ScheduledOperator<Value, Value, Error>,
  @unchecked Sendable
{
  final let interval: TimeInterval
  private let scheduler: any DateScheduler
  private let postponer: (any PostponingScheduler)?
  private let timer = SerialDisposable()

  private let lock = PlainLock()
  // Guarded by the lock.
  private let pending = FIFO<Value>(capacity: 2)
  private var deadline = Date.distantPast
  /// When the timer fires, if one is set.
  private var timerDate: Date?
  private var isCompleting = false
  /// The deadline of the last value that was delivered.
  private(set) final var previousDeadline = Date.distantPast

  init(_ interval: TimeInterval, on scheduler: any DateScheduler) {
    self.interval = interval
    self.scheduler = scheduler
    postponer = scheduler as? any PostponingScheduler
    super.init(on: scheduler)
  }

  /// When a value is to be delivered that has come now. Called under the lock.
  func deadline(now: Date) -> Date {
    fatalError("a subclass of DeadlineOperator must override deadline(now:)")
  }

  final override func willStart() {
    lifetime += timer
  }

  final override func receive(_ value: Value) {
    let now = scheduler.currentDate
    lock.lock()
    let replaced = pending.replace(with: value)
    let date = deadline(now: now)
    deadline = date
    let needsTimer = timerDate.map { date < $0 } ?? true
    if needsTimer || postponeTimer(to: date) { timerDate = date }
    lock.unlock()
    if needsTimer { setTimer(for: date) }
    replaced?.deinitialize(count: 1)
  }

  private func setTimer(for date: Date) {
    timer.inner = scheduler.schedule(after: date) { self.fire() }
  }

  @inline(__always)
  private func postponeTimer(to date: Date) -> Bool {
    guard let postponer, let work = timer.inner as? ScheduledAction else { return false }
    return postponer.postpone(work, to: date)
  }

  private func fire() {
    lock.lock()
    let date = timerDate.take() ?? .distantPast
    guard !pending.isEmpty else { return lock.unlock() }
    if deadline > date {
      let next = deadline
      timerDate = next
      lock.unlock()
      return setTimer(for: next)
    }
    previousDeadline = deadline
    let due = pending.takeFirst()
    let finishes = isCompleting
    lock.unlock()
    emit(due)
    if finishes { complete() }
  }

  /// Completes after the value that is kept.
  ///
  /// - Returns: Whether one is.
  final func completeLater() -> Bool {
    lock.lock()
    defer { lock.unlock() }
    isCompleting = true
    return !pending.isEmpty
  }

  final override func drop() {
    timer.dispose()
    lock.lock()
    let dropped = pending.popFirst()
    lock.unlock()
    withExtendedLifetime(dropped) {}
  }
}
