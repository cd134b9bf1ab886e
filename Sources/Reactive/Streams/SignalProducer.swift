/// A "cold" stream: each start begins a new run. Nothing happens before.
public struct SignalProducer<Value, Error: Swift.Error> {
  /// The signal that a start makes.
  public typealias ProducedSignal = Signal<Value, Error>

  @usableFromInline let core: ProducerCore<Value, Error>

  @inlinable
  init(core: ProducerCore<Value, Error>) {
    self.core = core
  }

  /// Applies an operator, of which every start makes one.
  @inlinable
  func through<U, F>(
    _ makeStage: @escaping () -> Stage<Value, Error, U, F>
  ) -> SignalProducer<U, F> {
    SignalProducer<U, F>(core: OperatorCore(core, makeStage))
  }
}

// A core holds what it was made of, never the state of a run.
extension SignalProducer: @unchecked Sendable where Value: Sendable {}

/// A type that can be converted to a producer: signals, properties, results, producers.
public protocol SignalProducerConvertible<Value, Error> {
  /// The type of the values.
  associatedtype Value
  /// The type of the failures.
  associatedtype Error: Swift.Error
  /// The producer.
  var producer: SignalProducer<Value, Error> { get }
}

/// A protocol for generic constraints, to which producers conform.
public protocol SignalProducerProtocol<Value, Error> {
  /// The type of the values.
  associatedtype Value
  /// The type of the failures.
  associatedtype Error: Swift.Error
  /// The producer itself.
  var producer: SignalProducer<Value, Error> { get }
}

extension SignalProducer: SignalProducerConvertible, SignalProducerProtocol {
  /// The producer itself.
  public var producer: SignalProducer<Value, Error> { self }
}

extension Result: SignalProducerConvertible {
  /// A producer of the success, or of the failure.
  public var producer: SignalProducer<Success, Failure> { SignalProducer(result: self) }
}

// MARK: Making producers

extension SignalProducer {
  /// Converts `base` to a producer.
  public init<T: SignalProducerConvertible>(_ base: T) where T.Value == Value, T.Error == Error {
    self = base.producer
  }

  /// A producer whose every start observes `signal`.
  public init(_ signal: Signal<Value, Error>) {
    // An interruption may come from another thread than the events.
    self.init(
      core: RootedCore { root, connection in
        connection.add(signal.attach(root))
        return nil
      })
  }

  /// A producer whose every start calls `startHandler`.
  ///
  /// - Parameter startHandler: Sends events to the observer, at once or later. The lifetime ends
  ///   after the run: with its termination, or when it is disposed of.
  @available(swift 6)
  public init(
    _ startHandler: @escaping @Sendable (Signal<Value, Error>.Observer, Lifetime) -> Void
  ) {
    self.init(core: RootedCore(handler: startHandler))
  }

  /// A producer of one value.
  @_disfavoredOverload
  @inlinable
  public init(value: Value) {
    self.init(core: SingleCore(value))
  }

  /// A producer of what `action` returns, called at every start.
  @available(swift 6)
  public init(_ action: @escaping @Sendable () -> Value) {
    self.init(
      core: GeneratorCore(sendsOneValue: true) { sink, connection in
        sink.receive(action())
        if !connection.isDisposed { sink.terminate(.completed) }
      })
  }

  /// A producer of what `action` returns, called at every start.
  @available(swift 6)
  public init(_ action: @escaping @Sendable () -> Result<Value, Error>) {
    self.init(
      core: GeneratorCore(sendsOneValue: true) { sink, connection in
        deliver(action(), sink, connection)
      })
  }

  /// A producer that fails.
  public init(error: Error) {
    self.init(core: GeneratorCore { sink, _ in sink.terminate(.failed(error)) })
  }

  /// A producer of the success, or of the failure.
  public init(result: Result<Value, Error>) {
    self.init(
      core: GeneratorCore(sendsOneValue: true) { sink, connection in
        deliver(result, sink, connection)
      })
  }

  /// A producer of the values of a sequence.
  @inlinable
  public init<S: Sequence>(_ values: S) where S.Element == Value {
    // Inlined where the sequence is known, whose iteration then needs no witness tables.
    self.init(deliveringAll: { sink, connection in
      for value in values {
        sink.receive(value)
        if connection.isDisposed { return }
      }
    })
  }

  @usableFromInline
  init(deliveringAll generator: @escaping (StreamObserver<Value, Error>, Connection) -> Void) {
    self.init(
      core: GeneratorCore { sink, connection in
        generator(sink, connection)
        if !connection.isDisposed { sink.terminate(.completed) }
      })
  }

  /// A producer of the given values.
  public init(values first: Value, _ second: Value, _ tail: Value...) {
    self.init([first, second] + tail)
  }

  /// A producer that completes.
  public static var empty: SignalProducer<Value, Error> {
    SignalProducer(core: GeneratorCore { sink, _ in sink.terminate(.completed) })
  }

  /// A producer that does nothing until it is interrupted.
  public static var never: SignalProducer<Value, Error> {
    SignalProducer(core: RootedCore { _, _ in nil })
  }

  /// A producer whose handler promises not to send from two threads at once.
  ///
  /// Kept for source compatibility: events are serialized nevertheless.
  @available(swift 6)
  public static func unserialized(
    _ startHandler: @escaping @Sendable (Signal<Value, Error>.Observer, Lifetime) -> Void
  ) -> SignalProducer<Value, Error> {
    SignalProducer(startHandler)
  }
}

extension SignalProducer where Error == Never {
  /// A producer of one value.
  @_disfavoredOverload
  @inlinable
  public init(value: Value) {
    self.init(core: SingleCore(value))
  }

  /// A producer of the values of a sequence.
  @_disfavoredOverload
  @inlinable
  public init<S: Sequence>(_ values: S) where S.Element == Value {
    self.init(deliveringAll: { sink, connection in
      for value in values {
        sink.receive(value)
        if connection.isDisposed { return }
      }
    })
  }

  /// A producer of the given values.
  @_disfavoredOverload
  public init(values first: Value, _ second: Value, _ tail: Value...) {
    self.init([first, second] + tail)
  }
}

extension SignalProducer where Error == any Swift.Error {
  /// A producer of what `action` returns or throws, called at every start.
  @available(swift 6)
  public init(_ action: @escaping @Sendable () throws -> Value) {
    self.init { () -> Result<Value, any Swift.Error> in Result { try action() } }
  }
}

private func deliver<Value, Error>(
  _ result: Result<Value, Error>, _ sink: StreamObserver<Value, Error>, _ connection: Connection
) {
  switch result {
  case .success(let value):
    sink.receive(value)
    if !connection.isDisposed { sink.terminate(.completed) }
  case .failure(let error):
    sink.terminate(.failed(error))
  }
}
