extension Signal {
  /// Delivers values on `scheduler` while `shouldThrottle` is false. While it is true, keeps the
  /// latest, and delivers that when it turns false. Termination is never held back, and drops
  /// what is kept.
  ///
  /// When `shouldThrottle` has no more changes, its last value counts.
  @preconcurrency
  public func throttle<P: PropertyProtocol>(
    while shouldThrottle: P, on scheduler: any Scheduler
  ) -> Signal<Value, Error> where P.Value == Bool, Value: Sendable {
    let throttle = ThrottleWhile<Value, Error>(on: scheduler)
    throttle.lifetime += shouldThrottle.producer.skipRepeats()
      .startWithValues { throttle.setThrottling($0) }
    return throttle.signal(of: self)
  }
}

extension SignalProducer {
  /// Delivers values on `scheduler` while `shouldThrottle` is false. While it is true, keeps the
  /// latest, and delivers that when it turns false. Termination is never held back, and drops
  /// what is kept.
  ///
  /// When `shouldThrottle` has no more changes, its last value counts.
  @preconcurrency
  public func throttle<P: PropertyProtocol>(
    while shouldThrottle: P, on scheduler: any Scheduler
  ) -> SignalProducer<Value, Error> where P.Value == Bool, Value: Sendable {
    // A property is safe to use from any thread, whatever it is.
    let property = UncheckedTransfer(shouldThrottle)
    return lift { $0.throttle(while: property.value, on: scheduler) }
  }
}

// Sendable as every scheduled operator is.
private final class ThrottleWhile<Value, Error: Swift.Error>:
  ScheduledOperator<Value, Value, Error>, @unchecked Sendable
{
  // Entered and left only under the lock.
  private struct State: @unchecked Sendable {
    var isThrottling = false
    var hasEnded = false
    var kept: Value?
  }

  private let scheduler: any Scheduler
  private let state = Locked(State())
  private let scheduled = SerialDisposable()

  init(on scheduler: any Scheduler) {
    self.scheduler = scheduler
    super.init(on: scheduler)
    lifetime += scheduled
  }

  func setThrottling(_ isThrottling: Bool) {
    let value = state.withLock { state in
      state.isThrottling = isThrottling
      return UncheckedTransfer(isThrottling || state.hasEnded ? nil : state.kept.take())
    }.value
    if let value { deliver(value) }
  }

  override func receive(_ value: Value) {
    let transfer = UncheckedTransfer(value)
    let isKept = state.withLock { state in
      if state.isThrottling { state.kept = transfer.value }
      return state.isThrottling
    }
    if !isKept { deliver(value) }
  }

  private func deliver(_ value: Value) {
    let transfer = UncheckedTransfer(value)
    scheduled.inner = scheduler.schedule { self.emit(transfer.value) }
  }

  override func terminate(_ termination: Termination<Error>) {
    state.withLock { state in
      state.hasEnded = true
      state.kept = nil
    }
    scheduled.inner = nil
    super.terminate(termination)
  }
}
