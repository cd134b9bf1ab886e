extension Signal {
  /// Delivers the events from now on to `observer`; an interruption, if the signal has ended.
  ///
  /// - Returns: A disposable that ends the observation, nil if the signal has ended.
  @discardableResult
  public func observe(_ observer: Observer) -> (any Disposable)? {
    attach(observer.sink)
  }

  /// Calls `action` with every event from now on.
  ///
  /// - Returns: A disposable that ends the observation, nil if the signal has ended.
  @available(swift 6)
  @discardableResult
  public func observe(_ action: @escaping @Sendable (Event) -> Void) -> (any Disposable)? {
    observe(Observer(action))
  }

  /// Calls `action` with every value from now on, and with the error if there is one.
  ///
  /// - Returns: A disposable that ends the observation, nil if the signal has ended.
  @available(swift 6)
  @discardableResult
  public func observeResult(
    _ action: @escaping @Sendable (Result<Value, Error>) -> Void
  ) -> (any Disposable)? {
    observe(
      Observer(value: { action(.success($0)) }, failed: { action(.failure($0)) }))
  }

  /// Calls `action` when the signal completes.
  ///
  /// - Returns: A disposable that ends the observation, nil if the signal has ended.
  @available(swift 6)
  @discardableResult
  public func observeCompleted(_ action: @escaping @Sendable () -> Void) -> (any Disposable)? {
    observe(Observer(completed: action))
  }

  /// Calls `action` when the signal fails.
  ///
  /// - Returns: A disposable that ends the observation, nil if the signal has ended.
  @available(swift 6)
  @discardableResult
  public func observeFailed(_ action: @escaping @Sendable (Error) -> Void) -> (any Disposable)? {
    observe(Observer(failed: action))
  }

  /// Calls `action` when the signal is interrupted; at once if it has ended.
  ///
  /// - Returns: A disposable that ends the observation, nil if the signal has ended.
  @available(swift 6)
  @discardableResult
  public func observeInterrupted(_ action: @escaping @Sendable () -> Void) -> (any Disposable)? {
    observe(Observer(interrupted: action))
  }
}

extension Signal where Error == Never {
  /// Calls `action` with every value from now on.
  ///
  /// - Returns: A disposable that ends the observation, nil if the signal has ended.
  @available(swift 6)
  @inlinable
  @discardableResult
  public func observeValues(_ action: @escaping @Sendable (Value) -> Void) -> (any Disposable)? {
    // Made here, where the type of the values is known and need not be looked up.
    attach(ObserverSubscription(of: ValueObserver(action), to: core))
  }
}
