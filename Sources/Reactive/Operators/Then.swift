/// Ignores the values of one producer, and starts another when it completes.
private final class ThenCore<
  Ignored, Value, Error: Swift.Error
>: ProducerCore<Value, Error> {
  private let first: ProducerCore<Ignored, Error>
  private let second: ProducerCore<Value, Error>

  init(
    _ first: SignalProducer<Ignored, Error>, _ second: SignalProducer<Value, Error>
  ) {
    self.first = first.core
    self.second = second.core
  }

  override func start(
    _ sink: StreamObserver<Value, Error>, _ connection: Connection
  ) -> AnyObject? {
    let current = SerialDisposable()
    connection.setSource(current)
    let run = Connection()
    current.inner = run
    let observer = Then<Ignored, Value, Error>(
      next: { [second] sink in
        let run = Connection()
        current.inner = run
        guard !current.isDisposed, let input = second.start(sink, run) else { return }
        run.hold(input)
      })
    observer.connect(to: sink, connection: connection)
    if let input = first.start(observer, run) { run.hold(input) }
    return nil
  }
}

private final class Then<Ignored, Value, Error: Swift.Error>:
  ValueStage<Ignored, Value, Error>
{
  private let next: (StreamObserver<Value, Error>) -> Void

  init(
    next: @escaping (StreamObserver<Value, Error>) -> Void
  ) {
    self.next = next
  }

  override func receive(_ value: Ignored) {}

  override func terminate(_ termination: Termination<Error>) {
    guard !isFinished else { return }
    switch termination {
    case .failed, .interrupted: finish(termination)
    case .completed: next(PassOn(self))
    }
  }
}

/// Passes the events of the second producer on.
private final class PassOn<Ignored, Value, Error: Swift.Error>:
  StreamObserver<Value, Error>
{
  private let then: Then<Ignored, Value, Error>

  init(_ then: Then<Ignored, Value, Error>) {
    self.then = then
  }

  override func receive(_ value: Value) {
    then.emit(value)
  }

  override func terminate(_ termination: Termination<Error>) {
    then.finish(termination)
  }
}

extension SignalProducer {
  /// Ignores the values, and starts `replacement` when this completes.
  @_disfavoredOverload
  public func then<U>(
    _ replacement: SignalProducer<U, Never>
  ) -> SignalProducer<U, Error> {
    then(replacement.promoteError(Error.self))
  }

  /// Ignores the values, and starts `replacement` when this completes.
  @_disfavoredOverload
  public func then<Replacement: SignalProducerConvertible>(
    _ replacement: Replacement
  ) -> SignalProducer<Replacement.Value, Error> where Replacement.Error == Never {
    then(replacement.producer.promoteError(Error.self))
  }

  /// Ignores the values, and starts `replacement` when this completes.
  public func then<U>(
    _ replacement: SignalProducer<U, Error>
  ) -> SignalProducer<U, Error> {
    SignalProducer<U, Error>(core: ThenCore(self, replacement))
  }

  /// Ignores the values, and starts `replacement` when this completes.
  public func then<Replacement: SignalProducerConvertible>(
    _ replacement: Replacement
  ) -> SignalProducer<Replacement.Value, Error> where Replacement.Error == Error {
    then(replacement.producer)
  }

  /// Ignores the values, and starts `replacement` when this completes.
  public func then(
    _ replacement: SignalProducer<Value, Error>
  ) -> SignalProducer<Value, Error> {
    SignalProducer(core: ThenCore(self, replacement))
  }

  /// Ignores the values, and starts `replacement` when this completes.
  public func then<Replacement: SignalProducerConvertible>(
    _ replacement: Replacement
  ) -> SignalProducer<Value, Error>
  where Replacement.Value == Value, Replacement.Error == Error {
    then(replacement.producer)
  }
}

extension SignalProducer where Error == Never {
  /// Ignores the values, and starts `replacement` when this completes.
  public func then<U, F>(
    _ replacement: SignalProducer<U, F>
  ) -> SignalProducer<U, F> {
    SignalProducer<U, F>(core: ThenCore(promoteError(F.self), replacement))
  }

  /// Ignores the values, and starts `replacement` when this completes.
  public func then<Replacement: SignalProducerConvertible>(
    _ replacement: Replacement
  ) -> SignalProducer<Replacement.Value, Replacement.Error> {
    then(replacement.producer)
  }

  /// Ignores the values, and starts `replacement` when this completes.
  public func then<U>(
    _ replacement: SignalProducer<U, Never>
  ) -> SignalProducer<U, Never> {
    SignalProducer<U, Never>(core: ThenCore(self, replacement))
  }

  /// Ignores the values, and starts `replacement` when this completes.
  public func then<Replacement: SignalProducerConvertible>(
    _ replacement: Replacement
  ) -> SignalProducer<Replacement.Value, Never> where Replacement.Error == Never {
    then(replacement.producer)
  }

  /// Ignores the values, and starts `replacement` when this completes.
  public func then(
    _ replacement: SignalProducer<Value, Never>
  ) -> SignalProducer<Value, Never> {
    SignalProducer(core: ThenCore(self, replacement))
  }

  /// Ignores the values, and starts `replacement` when this completes.
  public func then<Replacement: SignalProducerConvertible>(
    _ replacement: Replacement
  ) -> SignalProducer<Value, Never>
  where Replacement.Value == Value, Replacement.Error == Never {
    then(replacement.producer)
  }
}
