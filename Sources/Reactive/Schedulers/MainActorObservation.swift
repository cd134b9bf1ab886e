// Where events end on the main actor. The closure is isolated to it by its type: it may touch a
// view model's state.

extension Signal where Value: Sendable {
  /// Calls `action` on the main actor with every event from now on, in order.
  ///
  /// - Returns: A disposable that ends the observation, nil if the signal has ended.
  @discardableResult
  public func observe(
    on scheduler: UIScheduler, _ action: @escaping @MainActor @Sendable (Event) -> Void
  ) -> (any Disposable)? {
    observe(on: scheduler).observe { event in MainActor.assumeIsolated { action(event) } }
  }

  /// Calls `action` on the main actor with every value from now on, and with the error if there is
  /// one.
  ///
  /// - Returns: A disposable that ends the observation, nil if the signal has ended.
  @discardableResult
  public func observeResult(
    on scheduler: UIScheduler,
    _ action: @escaping @MainActor @Sendable (Result<Value, Error>) -> Void
  ) -> (any Disposable)? {
    observe(on: scheduler)
      .observeResult { result in MainActor.assumeIsolated { action(result) } }
  }

  /// Calls `action` on the main actor when the signal completes.
  ///
  /// - Returns: A disposable that ends the observation, nil if the signal has ended.
  @discardableResult
  public func observeCompleted(
    on scheduler: UIScheduler, _ action: @escaping @MainActor @Sendable () -> Void
  ) -> (any Disposable)? {
    observe(on: scheduler).observeCompleted { MainActor.assumeIsolated { action() } }
  }

  /// Calls `action` on the main actor when the signal fails.
  ///
  /// - Returns: A disposable that ends the observation, nil if the signal has ended.
  @discardableResult
  public func observeFailed(
    on scheduler: UIScheduler, _ action: @escaping @MainActor @Sendable (Error) -> Void
  ) -> (any Disposable)? {
    observe(on: scheduler).observeFailed { error in MainActor.assumeIsolated { action(error) } }
  }
}

extension Signal where Value: Sendable, Error == Never {
  /// Calls `action` on the main actor with every value from now on, in order.
  ///
  /// - Returns: A disposable that ends the observation, nil if the signal has ended.
  @discardableResult
  public func observeValues(
    on scheduler: UIScheduler, _ action: @escaping @MainActor @Sendable (Value) -> Void
  ) -> (any Disposable)? {
    observe(on: scheduler).observeValues { value in MainActor.assumeIsolated { action(value) } }
  }
}

extension SignalProducer where Value: Sendable {
  /// Starts here, and calls `action` on the main actor with every value, and with the error if
  /// there is one.
  ///
  /// - Returns: A disposable that interrupts the run.
  @discardableResult
  public func startWithResult(
    on scheduler: UIScheduler,
    _ action: @escaping @MainActor @Sendable (Result<Value, Error>) -> Void
  ) -> any Disposable {
    observe(on: scheduler)
      .startWithResult { result in MainActor.assumeIsolated { action(result) } }
  }

  /// Starts here, and calls `action` on the main actor on completion.
  ///
  /// - Returns: A disposable that interrupts the run.
  @discardableResult
  public func startWithCompleted(
    on scheduler: UIScheduler, _ action: @escaping @MainActor @Sendable () -> Void
  ) -> any Disposable {
    observe(on: scheduler).startWithCompleted { MainActor.assumeIsolated { action() } }
  }

  /// Starts here, and calls `action` on the main actor on failure.
  ///
  /// - Returns: A disposable that interrupts the run.
  @discardableResult
  public func startWithFailed(
    on scheduler: UIScheduler, _ action: @escaping @MainActor @Sendable (Error) -> Void
  ) -> any Disposable {
    observe(on: scheduler).startWithFailed { error in MainActor.assumeIsolated { action(error) } }
  }
}

extension SignalProducer where Value: Sendable, Error == Never {
  /// Starts here, and calls `action` on the main actor with every value, in order.
  ///
  /// - Returns: A disposable that interrupts the run.
  @discardableResult
  public func startWithValues(
    on scheduler: UIScheduler, _ action: @escaping @MainActor @Sendable (Value) -> Void
  ) -> any Disposable {
    observe(on: scheduler).startWithValues { value in MainActor.assumeIsolated { action(value) } }
  }
}

extension BindingTarget {
  /// A target that calls `action` on the main actor with every value.
  @available(swift 6)
  public init(
    on scheduler: UIScheduler, lifetime: Lifetime,
    action: @escaping @MainActor @Sendable (Value) -> Void
  ) where Value: Sendable {
    self.init(on: scheduler as any Scheduler, lifetime: lifetime) { value in
      MainActor.assumeIsolated { action(value) }
    }
  }

  /// A target that sets a property of `object`, which it does not retain, on the main actor.
  ///
  /// - Parameters:
  ///   - scheduler: The scheduler of the main actor.
  ///   - lifetime: The lifetime of the target.
  ///   - object: The object whose property is set; not retained.
  ///   - keyPath: The property, which may be isolated to the main actor.
  @available(swift 6)
  public init<Object: AnyObject>(
    on scheduler: UIScheduler, lifetime: Lifetime, object: Object,
    keyPath: ReferenceWritableKeyPath<Object, Value>
  ) where Value: Sendable {
    // A key path to what the main actor isolates is not Sendable, as it isn't to be used elsewhere.
    let path = UncheckedTransfer(keyPath)
    let target = UncheckedWeak(object)
    self.init(on: scheduler as any Scheduler, lifetime: lifetime) {
      target.object?[keyPath: path.value] = $0
    }
  }
}
