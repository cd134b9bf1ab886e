extension SignalProducer {
  /// Starts a run and delivers its events to `observer`.
  ///
  /// - Returns: A disposable that interrupts the run.
  @discardableResult
  public func start(_ observer: Signal<Value, Error>.Observer = .init()) -> any Disposable {
    core.start(observer.sink)
  }

  /// Starts a run and calls `action` with every event.
  ///
  /// - Returns: A disposable that interrupts the run.
  @available(swift 6)
  @discardableResult
  public func start(
    _ action: @escaping @Sendable (Signal<Value, Error>.Event) -> Void
  ) -> any Disposable {
    start(Signal<Value, Error>.Observer(action))
  }

  /// Creates the signal of a run, passes it to `setup`, and starts the run when `setup` returns.
  ///
  /// - Parameter setup: Called with the signal and with a disposable that interrupts the run. If it
  ///   is disposed of before the start, the run isn't started.
  /// - Returns: What `setup` returns.
  @discardableResult
  public func startWithSignal<Result>(
    _ setup: (_ signal: Signal<Value, Error>, _ interruptHandle: any Disposable) -> Result
  ) -> Result {
    let instance = Instance(of: core)
    let run = Run(instance.connection)
    let result = setup(instance.signal, run)
    run.hold(instance.begin())
    return result
  }

  /// Starts a run and calls `action` with every value, and with the error if there is one.
  ///
  /// - Returns: A disposable that interrupts the run.
  @available(swift 6)
  @discardableResult
  public func startWithResult(
    _ action: @escaping @Sendable (Result<Value, Error>) -> Void
  ) -> any Disposable {
    start(
      Signal<Value, Error>.Observer(
        value: { action(.success($0)) }, failed: { action(.failure($0)) }))
  }

  /// Starts a run and calls `action` when it completes.
  ///
  /// - Returns: A disposable that interrupts the run.
  @available(swift 6)
  @discardableResult
  public func startWithCompleted(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    start(Signal<Value, Error>.Observer(completed: action))
  }

  /// Starts a run and calls `action` when it fails.
  ///
  /// - Returns: A disposable that interrupts the run.
  @available(swift 6)
  @discardableResult
  public func startWithFailed(_ action: @escaping @Sendable (Error) -> Void) -> any Disposable {
    start(Signal<Value, Error>.Observer(failed: action))
  }

  /// Starts a run and calls `action` when it is interrupted.
  ///
  /// - Returns: A disposable that interrupts the run.
  @available(swift 6)
  @discardableResult
  public func startWithInterrupted(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    start(Signal<Value, Error>.Observer(interrupted: action))
  }
}

extension SignalProducer where Error == Never {
  /// Starts a run and calls `action` with every value.
  ///
  /// - Returns: A disposable that interrupts the run.
  @available(swift 6)
  @discardableResult
  public func startWithValues(_ action: @escaping @Sendable (Value) -> Void) -> any Disposable {
    core.start(ValueObserver(action))
  }
}

extension SignalProducer {
  /// Applies an operator on signals to the signal of every run.
  ///
  /// Disposal interrupts the observer first, and then the runs upstream.
  ///
  /// - Parameter transform: Called at every start, on the thread that starts, with the signal of
  ///   the run, before that sends anything.
  /// - Returns: A producer whose runs send the events of the signals that `transform` returns.
  @available(swift 6)
  public func lift<U, F>(
    _ transform: @escaping @Sendable (Signal<Value, Error>) -> Signal<U, F>
  ) -> SignalProducer<U, F> {
    SignalProducer<U, F>(core: core.lifted(transform))
  }

  /// Applies an operator on two signals to the signals of every run; that of the argument starts
  /// first.
  ///
  /// Disposal interrupts the observer first, and then the runs upstream.
  ///
  /// - Parameter transform: Called at every start, on the thread that starts, with the signals of
  ///   both runs, before they send anything.
  /// - Returns: A function that takes the other producer and returns one whose runs send the events
  ///   of the signals that `transform` returns.
  @available(swift 6)
  public func lift<U, F, V, G>(
    _ transform: @escaping @Sendable (Signal<Value, Error>) -> (Signal<U, F>) -> Signal<V, G>
  ) -> (SignalProducer<U, F>) -> SignalProducer<V, G> {
    liftArgumentFirst { transform($0)($1) }
  }

  func liftArgumentFirst<U, F, V, G>(
    _ transform: @escaping (Signal<Value, Error>, Signal<U, F>) -> Signal<V, G>
  ) -> (SignalProducer<U, F>) -> SignalProducer<V, G> {
    { other in other.liftReceiverFirst { transform($1, $0) }(self) }
  }

  /// As `liftArgumentFirst`, for an argument whose values aren't passed: it never waits for room.
  func liftTriggerFirst<U, F, V, G>(
    _ transform: @escaping (Signal<Value, Error>, Signal<U, F>) -> Signal<V, G>
  ) -> (SignalProducer<U, F>) -> SignalProducer<V, G> {
    { other in other.liftReceiverFirst(isPaced: false) { transform($1, $0) }(self) }
  }

  /// As `lift`, with the receiver's run starting first.
  ///
  /// - Parameter isPaced: Whether that run waits for room.
  func liftReceiverFirst<U, F, V, G>(
    isPaced: Bool = true,
    _ transform: @escaping (Signal<Value, Error>, Signal<U, F>) -> Signal<V, G>
  ) -> (SignalProducer<U, F>) -> SignalProducer<V, G> {
    { other in
      SignalProducer<V, G>(
        core: RootedCore { root, connection in
          let (first, second) = (Instance(of: self.core), Instance(of: other.core))
          connection.add(first.connection)
          connection.add(second.connection)
          connection.add(transform(first.signal, second.signal).attach(root))
          connection.hold(isPaced ? first.begin() : Demand.withNone { first.begin() })
          connection.hold(second.begin())
          return nil
        })
    }
  }
}
