/// What a ``SignalProducer`` is a handle of: how it is started.
@usableFromInline
class ProducerCore<Value, Error: Swift.Error> {
  /// A signal that has been made and not been fed yet.
  struct Instance {
    let signal: Signal<Value, Error>
    let interruptHandle: HeldConnection
    /// Lets the events come, once those who want to observe do.
    let start: () -> Void
  }

  @usableFromInline
  init(isSingle: Bool = false) {
    self.isSingle = isSingle
  }

  /// Delivers the events of a new run to `sink`, serially, which ignores what follows an end.
  ///
  /// - Returns: What is to be held together with the connection.
  func start(_ sink: StreamObserver<Value, Error>, _ connection: Connection) -> AnyObject? {
    fatalError("a producer must say how it is started")
  }

  /// Whether it is a ``SingleCore``, which needs no start to be run.
  final let isSingle: Bool

  /// Delivers the value of a ``SingleCore``, without a run.
  func deliverSingle(to sink: StreamObserver<Value, Error>) {
    fatalError("a producer that says it is single must deliver its value")
  }

  /// Prepares a run that is observed as a signal.
  func makeInstance() -> Instance {
    let root = Root<Value, Error>()
    let connection = Connection(root: root)
    root.own(connection)
    let upstream = Connection()
    connection.add(upstream)
    let handle = HeldConnection(connection)
    return Instance(
      signal: Signal(core: root), interruptHandle: handle,
      start: {
        if let input = self.start(root, upstream) { handle.hold(input) }
      })
  }

  final func start(_ sink: StreamObserver<Value, Error>) -> any Disposable {
    let connection = Connection()
    guard let input = start(sink, connection) else { return connection }
    return HeldConnection(connection, holding: input)
  }
}

/// Hands an input to a closure.
final class HandlerCore<Value, Error: Swift.Error>: ProducerCore<Value, Error> {
  private let handler: (Signal<Value, Error>.Observer, Lifetime) -> Void

  init(_ handler: @escaping (Signal<Value, Error>.Observer, Lifetime) -> Void) {
    self.handler = handler
  }

  override func start(
    _ sink: StreamObserver<Value, Error>, _ connection: Connection
  ) -> AnyObject? {
    let root = Root<Value, Error>()
    root.begin(sink, connection)
    let input = Signal<Value, Error>.Observer(root, interruptsOnDeinit: true)
    handler(input, connection.lifetime)
    return input
  }

  override func makeInstance() -> Instance {
    let root = Root<Value, Error>()
    let connection = Connection(root: root)
    root.own(connection)
    let input = Signal<Value, Error>.Observer(root, interruptsOnDeinit: true)
    return Instance(
      signal: Signal(core: root), interruptHandle: HeldConnection(connection, holding: input),
      start: { self.handler(input, connection.lifetime) })
  }
}

/// Calls a closure that delivers everything before it returns.
final class GeneratorCore<Value, Error: Swift.Error>: ProducerCore<Value, Error> {
  private let generator: (StreamObserver<Value, Error>, Connection) -> Void

  /// - Parameter generator: Must look at the connection before every value, and deliver nothing
  ///   once that is disposed.
  init(_ generator: @escaping (StreamObserver<Value, Error>, Connection) -> Void) {
    self.generator = generator
  }

  override func start(
    _ sink: StreamObserver<Value, Error>, _ connection: Connection
  ) -> AnyObject? {
    generator(sink, connection)
    connection.dispose()
    return nil
  }
}

/// Observes a signal.
final class ObservingCore<Value, Error: Swift.Error>: ProducerCore<Value, Error> {
  private let signal: Signal<Value, Error>

  init(_ signal: Signal<Value, Error>) {
    self.signal = signal
  }

  override func start(
    _ sink: StreamObserver<Value, Error>, _ connection: Connection
  ) -> AnyObject? {
    // An interruption may come from another thread than the events.
    let root = Root<Value, Error>()
    root.begin(sink, connection)
    connection.add(signal.attach(ObserverSubscription(of: root, to: signal.core)))
    return nil
  }
}

/// Applies an operator.
@usableFromInline
final class OperatorCore<
  Input, InputError: Swift.Error, Value, Error: Swift.Error
>: ProducerCore<Value, Error> {
  @usableFromInline let source: ProducerCore<Input, InputError>
  @usableFromInline let makeStage: () -> Stage<Input, InputError, Value, Error>

  @inlinable
  init(
    _ source: ProducerCore<Input, InputError>,
    _ makeStage: @escaping () -> Stage<Input, InputError, Value, Error>
  ) {
    self.source = source
    self.makeStage = makeStage
  }

  override func start(
    _ sink: StreamObserver<Value, Error>, _ connection: Connection
  ) -> AnyObject? {
    let stage = makeStage()
    stage.connect(to: sink, connection: connection)
    return connection.isDisposed ? nil : source.start(stage, connection)
  }
}

/// Makes one signal of another at every start.
final class LiftedCore<
  Input, InputError: Swift.Error, Value, Error: Swift.Error
>: ProducerCore<Value, Error> {
  private let source: ProducerCore<Input, InputError>
  private let transform: (Signal<Input, InputError>) -> Signal<Value, Error>

  init(
    _ source: ProducerCore<Input, InputError>,
    _ transform: @escaping (Signal<Input, InputError>) -> Signal<Value, Error>
  ) {
    self.source = source
    self.transform = transform
  }

  override func makeInstance() -> Instance {
    let instance = source.makeInstance()
    return Instance(
      signal: transform(instance.signal), interruptHandle: instance.interruptHandle,
      start: instance.start)
  }

  override func start(
    _ sink: StreamObserver<Value, Error>, _ connection: Connection
  ) -> AnyObject? {
    let instance = makeInstance()
    // Without the input: what is downstream holds the connection, and its source would never be
    // interrupted for having let go of it.
    connection.setSource(instance.interruptHandle.connection)
    _ = instance.signal.attach(ObserverSubscription(of: sink, to: instance.signal.core))
    instance.startUnlessDisposed()
    return instance.interruptHandle
  }
}

/// Delivers one value.
@usableFromInline
final class SingleCore<Value, Error: Swift.Error>: ProducerCore<Value, Error> {
  @usableFromInline let value: Value

  @inlinable
  init(_ value: Value) {
    self.value = value
    super.init(isSingle: true)
  }

  override func deliverSingle(to sink: StreamObserver<Value, Error>) {
    sink.receive(value)
  }

  override func start(
    _ sink: StreamObserver<Value, Error>, _ connection: Connection
  ) -> AnyObject? {
    sink.receive(value)
    if !connection.isDisposed { sink.terminate(.completed) }
    connection.dispose()
    return nil
  }
}

/// Starts several producers at once, whose signals are joined into one.
final class JoinedCore<Value, Error: Swift.Error>: ProducerCore<Value, Error> {
  private let join: (Signal<Value, Error>.Observer, Connection) -> Void

  init(_ join: @escaping (Signal<Value, Error>.Observer, Connection) -> Void) {
    self.join = join
  }

  override func start(
    _ sink: StreamObserver<Value, Error>, _ connection: Connection
  ) -> AnyObject? {
    let root = Root<Value, Error>()
    root.begin(sink, connection)
    join(Signal<Value, Error>.Observer(root, interruptsOnDeinit: true), connection)
    return nil
  }
}
