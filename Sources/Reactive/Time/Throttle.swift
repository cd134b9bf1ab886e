public import FoundationEssentials

extension Signal {
  /// Delivers values at least `interval` seconds apart: the first as soon as can be, then the
  /// latest of those that came meanwhile.
  ///
  /// The end of the stream is delivered as soon as can be. A value that is due before is delivered
  /// before; one whose time has not come is dropped. Disposal drops what waits, and delivers the
  /// interruption on `scheduler`.
  ///
  /// - Parameters:
  ///   - interval: Seconds; not negative, or the call traps.
  ///   - scheduler: Where the time is waited for and all events are delivered.
  /// - Returns: A signal that sends, on `scheduler`, no two values within `interval`.
  @preconcurrency
  public func throttle(
    _ interval: TimeInterval, on scheduler: any DateScheduler
  ) -> Signal<Value, Error> where Value: Sendable {
    precondition(interval >= 0, "a stream can't be throttled to \(interval) seconds")
    return through(Throttle(by: interval, on: scheduler))
  }
}

// Sendable as every scheduled operator is.
final class Throttle<Value, Error: Swift.Error>: ScheduledOperator<Value, Value, Error>,
  @unchecked Sendable
{
  private let interval: TimeInterval
  private let scheduler: any DateScheduler
  private let timer = SerialDisposable()

  private let lock = PlainLock()
  // Guarded by the lock.
  private let pending = FIFO<Value>(capacity: 2)
  private var previousDate = Date.distantPast
  /// When the timer fires, if one is set.
  private var timerDate: Date?

  init(by interval: TimeInterval, on scheduler: any DateScheduler) {
    self.interval = interval
    self.scheduler = scheduler
    super.init(on: scheduler)
  }

  override func willStart() {
    lifetime += timer
  }

  override func receive(_ value: Value) {
    let now = scheduler.currentDate
    lock.lock()
    let replaced = pending.replace(with: value)
    // A clock that has been set back makes nobody wait for the old time.
    let date = previousDate <= now ? max(now, previousDate.addingTimeInterval(interval)) : now
    let needsTimer = timerDate.map { date < $0 } ?? true
    if needsTimer { timerDate = date }
    lock.unlock()
    if needsTimer {
      timer.inner = scheduler.schedule(after: date) { self.fire(at: date) }
    }
    replaced?.deinitialize(count: 1)
  }

  private func fire(at date: Date) {
    lock.lock()
    timerDate = nil
    guard !pending.isEmpty else { return lock.unlock() }
    previousDate = date
    let due = pending.takeFirst()
    lock.unlock()
    emit(due)
  }

  override func drop() {
    timer.dispose()
    lock.lock()
    let dropped = pending.popFirst()
    lock.unlock()
    withExtendedLifetime(dropped) {}
  }
}
