extension Signal {
  /// Transforms the latest value on `scheduler`, when the scheduler performs the work.
  ///
  /// Values that were replaced by then are dropped without being transformed. Completion and a
  /// failure are sent after the pending value; an interruption drops it. Disposal drops the pending
  /// value, and delivers the interruption on `scheduler`.
  ///
  /// - Parameters:
  ///   - scheduler: Where `transform` is called and all events are delivered.
  ///   - transform: Called on `scheduler`, one call at a time.
  /// - Returns: A signal that sends, on `scheduler`, what `transform` returns.
  @available(swift 6)
  public func lazyMap<U>(
    on scheduler: any Scheduler, transform: @escaping @Sendable (Value) -> U
  ) -> Signal<U, Error> where Value: Sendable {
    through(LazyMap(on: scheduler, transform: transform))
  }
}

// Sendable as every scheduled operator is.
final class LazyMap<Input, Output, Error: Swift.Error>:
  ScheduledOperator<Input, Output, Error>, @unchecked Sendable
{
  private let scheduler: any Scheduler
  private let transform: (Input) -> Output
  private let scheduled = SerialDisposable()

  private let lock = PlainLock()
  // Guarded by the lock.
  private var latest: Input?
  private var isScheduled = false

  init(on scheduler: any Scheduler, transform: @escaping (Input) -> Output) {
    self.scheduler = scheduler
    self.transform = transform
    super.init(on: scheduler)
  }

  override func willStart() {
    lifetime += scheduled
  }

  override func receive(_ value: Input) {
    lock.lock()
    // Destroyed when the lock is free again.
    let replaced = latest
    latest = value
    let needsTurn = !isScheduled
    isScheduled = true
    lock.unlock()
    if needsTurn { scheduled.inner = scheduler.schedule { self.deliverLatest() } }
    withExtendedLifetime(replaced) {}
  }

  private func deliverLatest() {
    if let value = takeLatest(), isActive { emit(transform(value)) }
  }

  private func takeLatest() -> Input? {
    lock.lock()
    defer { lock.unlock() }
    isScheduled = false
    return latest.take()
  }

  override func terminate(_ termination: Termination<Error>) {
    if case .interrupted = termination { drop() }
    super.terminate(termination)
  }

  override func drop() {
    scheduled.dispose()
    _ = takeLatest()
  }
}
