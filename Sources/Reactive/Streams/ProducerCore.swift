/// What a ``SignalProducer`` is a handle of, regardless of its types.
@usableFromInline
class AnyProducerCore {
  /// Whether a run that completes has sent one value, and completes then.
  final let sendsOneValue: Bool

  /// Whether it is a ``ChainCore``.
  final let isChain: Bool

  @usableFromInline
  init(sendsOneValue: Bool, isChain: Bool) {
    self.sendsOneValue = sendsOneValue
    self.isChain = isChain
  }

  // MARK: Chains

  /// Puts what follows the first part on the stack of a chain.
  ///
  /// - Returns: The first part. Nil if it isn't made of parts.
  func takeApart(in chain: Chain) -> AnyProducerCore? { nil }

  /// Starts the run as a part of a chain, to whose last frame the events go.
  func startPart(of chain: Chain, _ connection: Connection) -> AnyObject? {
    fatalError("a subclass of AnyProducerCore must override startPart(of:_:)")
  }

  /// Takes out what may be a chain of producers. To be called at the end of the core's life.
  func takeParts() -> [AnyProducerCore] { [] }
}

/// How a ``SignalProducer`` is started.
@usableFromInline
class ProducerCore<Value, Error: Swift.Error>: AnyProducerCore {
  @usableFromInline
  init(isSingle: Bool = false, sendsOneValue: Bool = false, isChain: Bool = false) {
    self.isSingle = isSingle
    super.init(sendsOneValue: isSingle || sendsOneValue, isChain: isChain)
  }

  /// Delivers the events of a new run to `sink`, serially, which ignores what follows an end.
  ///
  /// - Parameter connection: What interrupts the run. A core whose events come in at a part of its
  ///   own makes that the entry.
  /// - Returns: The input of the source, to be retained together with the connection.
  func start(_ sink: StreamObserver<Value, Error>, _ connection: Connection) -> AnyObject? {
    fatalError("a subclass of ProducerCore must override start")
  }

  /// Whether it is a ``SingleCore``, which needs no start to be run.
  final let isSingle: Bool

  final override func startPart(of chain: Chain, _ connection: Connection) -> AnyObject? {
    start(chain.last().observer(in: chain), connection)
  }

  // MARK: Runs

  /// Delivers the value of a ``SingleCore``, without a run.
  func deliverSingle(to sink: StreamObserver<Value, Error>) {
    fatalError("a subclass with a single value must override deliverSingle(to:)")
  }

  final func start(_ sink: StreamObserver<Value, Error>) -> any Disposable {
    let connection = Connection()
    guard let input = start(sink, connection) else { return connection }
    let run = Run(connection)
    run.hold(input)
    return run
  }

  /// Starts a run whose events go to `root`, the entry of `connection`.
  final func start(
    into root: Root<Value, Error>, _ connection: Connection
  ) -> AnyObject? {
    start(root, below: connection)
  }

  /// Starts a run that ends with `connection`, which belongs to the downstream part.
  final func start(
    _ sink: StreamObserver<Value, Error>, below connection: Connection
  ) -> AnyObject? {
    let upstream = Connection()
    connection.add(upstream)
    return upstream.isDisposed ? nil : start(sink, upstream)
  }
}

/// A run that is observed as a signal, and is begun when its observers are attached.
struct Instance<Value, Error: Swift.Error> {
  let signal: Signal<Value, Error>
  let connection = Connection()
  private let core: ProducerCore<Value, Error>
  private let root = Root<Value, Error>()

  init(of core: ProducerCore<Value, Error>) {
    self.core = core
    signal = Signal(core: root)
    root.own(connection)
    // Until the run has an entry further up.
    connection.setEntry(root)
  }

  /// Lets the events come, unless the run has been disposed of.
  ///
  /// - Returns: The input of the source, to be retained together with the connection.
  func begin() -> AnyObject? {
    // Keep a signal without observers alive for events that come meanwhile.
    withExtendedLifetime(signal) {
      connection.isDisposed ? nil : core.start(root, connection)
    }
  }
}

/// Calls a closure that delivers everything before it returns.
final class GeneratorCore<Value, Error: Swift.Error>: ProducerCore<Value, Error> {
  private let generator: (StreamObserver<Value, Error>, Connection) -> Void

  /// - Parameter generator: Must look at the connection before every value, and deliver nothing
  ///   once that is disposed.
  init(
    sendsOneValue: Bool = false,
    _ generator: @escaping (StreamObserver<Value, Error>, Connection) -> Void
  ) {
    self.generator = generator
    super.init(sendsOneValue: sendsOneValue)
  }

  override func start(
    _ sink: StreamObserver<Value, Error>, _ connection: Connection
  ) -> AnyObject? {
    generator(sink, connection)
    connection.dispose()
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

/// A run with a root of its own, where events may come in from any thread.
final class RootedCore<Value, Error: Swift.Error>: ProducerCore<Value, Error> {
  typealias Begin = (Root<Value, Error>, Connection) -> AnyObject?
  private let begin: Begin

  /// - Parameter begin: Sees to it that events come to the root. Runs that it starts have
  ///   connections that are resources of the given one. It returns the input that is to be retained
  ///   together with that.
  init(sendsOneValue: Bool = false, _ begin: @escaping Begin) {
    self.begin = begin
    super.init(sendsOneValue: sendsOneValue)
  }

  /// - Parameter handler: Is handed an input.
  convenience init(
    sendsOneValue: Bool = false,
    handler: @escaping (Signal<Value, Error>.Observer, Lifetime) -> Void
  ) {
    self.init(sendsOneValue: sendsOneValue) { root, connection in
      root.demand = Demand.current
      let input = Signal<Value, Error>.Observer(root, interruptsOnDeinit: true)
      handler(input, connection.lifetime)
      return input
    }
  }

  override func start(
    _ sink: StreamObserver<Value, Error>, _ connection: Connection
  ) -> AnyObject? {
    let root = Root<Value, Error>()
    root.begin(sink, connection)
    return begin(root, connection)
  }
}

extension ProducerCore {
  /// Applies an operator on signals to the signal of every run.
  final func lifted<U, F>(
    _ transform: @escaping (Signal<Value, Error>) -> Signal<U, F>
  ) -> ProducerCore<U, F> {
    RootedCore { root, connection in
      let instance = Instance(of: self)
      connection.add(instance.connection)
      connection.add(transform(instance.signal).attach(root))
      return instance.begin()
    }
  }
}
