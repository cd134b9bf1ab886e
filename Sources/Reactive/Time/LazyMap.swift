extension Signal {
  /// Transforms on `scheduler` the latest value there is when the scheduler gets to it; those that
  /// have been replaced by then are dropped without having been transformed.
  @preconcurrency
  public func lazyMap<U>(
    on scheduler: any Scheduler, transform: @escaping @Sendable (Value) -> U
  ) -> Signal<U, Error> where Value: Sendable {
    LazyMap(on: scheduler, transform: transform).signal(of: self)
  }
}

extension SignalProducer {
  /// Transforms on `scheduler` the latest value there is when the scheduler gets to it; those that
  /// have been replaced by then are dropped without having been transformed.
  @preconcurrency
  public func lazyMap<U>(
    on scheduler: any Scheduler, transform: @escaping @Sendable (Value) -> U
  ) -> SignalProducer<U, Error> where Value: Sendable {
    lift { $0.lazyMap(on: scheduler, transform: transform) }
  }
}

// Sendable as every scheduled operator is.
private final class LazyMap<Input, Output, Error: Swift.Error>:
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
    lock.lock()
    isScheduled = false
    let value = latest.take()
    lock.unlock()
    if let value, isActive { emit(transform(value)) }
  }
}
