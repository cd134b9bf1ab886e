public import FoundationEssentials

extension Signal {
  /// Delivers values at least `interval` seconds apart: the first at once, then the latest of
  /// those that came meanwhile. What waits when the stream ends is dropped.
  ///
  /// `interval` must not be negative.
  @preconcurrency
  public func throttle(
    _ interval: TimeInterval, on scheduler: any DateScheduler
  ) -> Signal<Value, Error> where Value: Sendable {
    precondition(interval >= 0, "a stream can't be throttled to \(interval) seconds")
    return Throttle(by: interval, on: scheduler).signal(of: self)
  }
}

extension SignalProducer {
  /// Delivers values at least `interval` seconds apart: the first at once, then the latest of
  /// those that came meanwhile. What waits when the stream ends is dropped.
  ///
  /// `interval` must not be negative.
  @preconcurrency
  public func throttle(
    _ interval: TimeInterval, on scheduler: any DateScheduler
  ) -> SignalProducer<Value, Error> where Value: Sendable {
    precondition(interval >= 0, "a stream can't be throttled to \(interval) seconds")
    return lift { $0.throttle(interval, on: scheduler) }
  }
}

// Sendable as every scheduled operator is.
private final class Throttle<Value, Error: Swift.Error>: ScheduledOperator<Value, Value, Error>,
  @unchecked Sendable
{
  private let interval: TimeInterval
  private let scheduler: any DateScheduler
  private let timer = SerialDisposable()

  private let lock = PlainLock()
  // Guarded by the lock.
  @exclusivity(unchecked)
  private var pending = WaitingValue<Value>()
  @exclusivity(unchecked)
  private var previousDate = Date.distantPast
  @exclusivity(unchecked)
  private var isTimerSet = false

  init(by interval: TimeInterval, on scheduler: any DateScheduler) {
    self.interval = interval
    self.scheduler = scheduler
    super.init(on: scheduler)
    lifetime += timer
  }

  deinit {
    pending.destroy()
  }

  override func receive(_ value: Value) {
    let now = scheduler.currentDate
    lock.lock()
    let replaced = pending.put(value)
    let needsTimer = !isTimerSet
    isTimerSet = true
    let date = previousDate <= now ? max(now, previousDate.addingTimeInterval(interval)) : now
    lock.unlock()
    if needsTimer {
      timer.inner = scheduler.schedule(after: date) { self.fire(at: date) }
    }
    replaced?.deinitialize(count: 1)
  }

  private func fire(at date: Date) {
    lock.lock()
    isTimerSet = false
    previousDate = date
    guard pending.isThere else { return lock.unlock() }
    let due = pending.take()
    lock.unlock()
    emit(due)
  }

  override func terminate(_ termination: Termination<Error>) {
    // Also what is due already and waits for its turn.
    timer.dispose()
    super.terminate(termination)
  }
}
