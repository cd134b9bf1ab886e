// Producers: by hand, because a producer must not keep the property.
extension Signal {
  /// Delivers values on `scheduler` while `shouldThrottle` is false. While it is true, keeps the
  /// latest, and delivers that when it turns false.
  ///
  /// A value that the scheduler has not yet delivered is replaced by the next. The end is never
  /// held back: it drops the kept value, and is delivered after a value that the scheduler is about
  /// to deliver. Disposal drops that value, too, and delivers the interruption on `scheduler`.
  ///
  /// - Parameters:
  ///   - shouldThrottle: Whether to keep values back. When it has no more changes, its last value
  ///     counts.
  ///   - scheduler: Where all events are delivered.
  /// - Returns: A signal that sends on `scheduler`.
  @preconcurrency
  public func throttle<P: PropertyProtocol>(
    while shouldThrottle: P, on scheduler: any Scheduler
  ) -> Signal<Value, Error> where P.Value == Bool, Value: Sendable {
    through(ThrottleWhile(shouldThrottle.producer, on: scheduler))
  }
}

extension SignalProducer {
  /// Delivers values on `scheduler` while `shouldThrottle` is false. While it is true, keeps the
  /// latest, and delivers that when it turns false.
  ///
  /// A value that the scheduler has not yet delivered is replaced by the next. The end is never
  /// held back: it drops the kept value, and is delivered after a value that the scheduler is about
  /// to deliver. Disposal drops that value, too, and delivers the interruption on `scheduler`.
  ///
  /// - Parameters:
  ///   - shouldThrottle: Whether to keep values back. When it has no more changes, its last value
  ///     counts. The producer does not retain it.
  ///   - scheduler: Where all events are delivered.
  /// - Returns: A producer that sends on `scheduler`.
  @preconcurrency
  public func throttle<P: PropertyProtocol>(
    while shouldThrottle: P, on scheduler: any Scheduler
  ) -> SignalProducer<Value, Error> where P.Value == Bool, Value: Sendable {
    let changes = Property(shouldThrottle).producer
    return through { ThrottleWhile(changes, on: scheduler) }
  }
}

// Sendable as every scheduled operator is.
private final class ThrottleWhile<Value, Error: Swift.Error>:
  ScheduledOperator<Value, Value, Error>, @unchecked Sendable
{
  private struct State {
    var isThrottling = false
    var hasEnded = false
    var kept: Value?
    /// What the scheduler is to deliver. The property changes on another thread than values come
    /// on: whichever thread schedules last, the latest is delivered.
    var due: Value?
  }

  private let changes: SignalProducer<Bool, Never>
  private let scheduler: any Scheduler
  private let state = Locked(State())
  private let scheduled = SerialDisposable()

  init(_ changes: SignalProducer<Bool, Never>, on scheduler: any Scheduler) {
    self.changes = changes
    self.scheduler = scheduler
    super.init(on: scheduler)
  }

  override func willStart() {
    lifetime += scheduled
    lifetime += changes.skipRepeats().startWithValues { self.setThrottling($0) }
  }

  private func setThrottling(_ isThrottling: Bool) {
    update { state in
      state.isThrottling = isThrottling
      guard !isThrottling, !state.hasEnded, let value = state.kept.take() else { return false }
      state.due = value
      return true
    }
  }

  override func receive(_ value: Value) {
    update { state in
      if state.isThrottling { state.kept = value } else { state.due = value }
      return !state.isThrottling
    }
  }

  override func terminate(_ termination: Termination<Error>) {
    update { state in
      state.hasEnded = true
      state.kept = nil
      return false
    }
    super.terminate(termination)
  }

  override func drop() {
    scheduled.dispose()
    update { state in
      state.hasEnded = true
      (state.kept, state.due) = (nil, nil)
      return false
    }
  }

  /// - Parameter change: Changes the state, and returns whether to deliver now.
  private func update(_ change: (inout State) -> Bool) {
    let (before, isDue) = state.withLock { state in
      // Destroyed when the lock is free again.
      let before = state
      return (before, change(&state))
    }
    if isDue { scheduled.setInner { scheduler.schedule { self.deliver() } } }
    withExtendedLifetime(before) {}
  }

  private func deliver() {
    if let due = state.withLock({ $0.due.take() }) { emit(due) }
  }
}
