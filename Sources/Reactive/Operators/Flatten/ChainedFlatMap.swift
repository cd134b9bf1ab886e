/// Flattens the producers made of the values of another that sends one, or is a chain that may send
/// one: a value that nothing follows is replaced by what is made of it, in the same chain.
final class ChainedFlatMapCore<Input, Value, Error: Swift.Error>: ChainCore<Value, Error> {
  // Set until the end.
  private var source: ProducerCore<Input, Error>?
  private let strategy: FlattenStrategy
  private let transform: (Input) -> SignalProducer<Value, Error>

  init(
    _ source: ProducerCore<Input, Error>, _ strategy: FlattenStrategy,
    _ transform: @escaping (Input) -> SignalProducer<Value, Error>
  ) {
    self.source = source
    self.strategy = strategy
    self.transform = transform
  }

  deinit { letPartsGo() }

  override func takeApart(in chain: Chain) -> AnyProducerCore? {
    chain.push(FlatMapFrame(chain, strategy, transform))
    return source
  }

  override func takeParts() -> [AnyProducerCore] {
    defer { source = nil }
    return source.map { [$0] } ?? []
  }
}

/// Keeps the producer that is made of a part's one value until that part has completed. If the part
/// may send several, a ``Flattener`` runs what is made of them.
private final class FlatMapFrame<Input, Value, Error: Swift.Error>: ChainFrame<Input, Error> {
  private let strategy: FlattenStrategy
  private let transform: (Input) -> SignalProducer<Value, Error>
  /// That of the chain which this has been put on.
  private let bottom: AnyChainFrame
  private var made: ProducerCore<Value, Error>?
  /// Set when the chain has been split at this frame, which then is the first of the upper part.
  private var flattening: (Flattener<Value, Error>, outer: OuterStream<Input, Value, Error>)?

  init(
    _ chain: Chain, _ strategy: FlattenStrategy,
    _ transform: @escaping (Input) -> SignalProducer<Value, Error>
  ) {
    self.strategy = strategy
    self.transform = transform
    bottom = chain.bottom
  }

  override func receive(_ value: Input) {
    if let flattening {
      flattening.outer.receive(value)
    } else if !bottom.isClosing {
      made = transform(value).core
    }
  }

  override func proceed(in chain: Chain, after end: Termination<Error>) -> AnyProducerCore? {
    if let flattening {
      flattening.outer.terminate(end)
      return nil
    }
    let last: ChainFrame<Value, Error> = chain.last()
    if case .completed = end, let made {
      if case .race = strategy.kind {} else { last.isInterruptionCompletion = true }
      return made
    }
    last.record(end)
    return nil
  }

  // MARK: Several values

  override var isClosing: Bool {
    guard let (flattener, _) = flattening else { return false }
    return flattener.isClosing || flattener.isFinished
  }

  override func frameToSplitAt(for part: AnyProducerCore, isLast: Bool) -> AnyChainFrame? {
    flattening != nil || isLast && part.sendsOneValue ? nil : self
  }

  override func partOfItsOwn(
    running core: AnyProducerCore, _ frames: [AnyChainFrame]
  ) -> AnyProducerCore {
    SplitCore<Value, Error> { sink, connection in
      let flattener = Flattener<Value, Error>(self.strategy)
      self.flattening = (flattener, OuterStream(flattener, self.transform))
      flattener.begin(sink, connection)
      let upstream = Connection()
      flattener.setOuter(upstream)
      guard !upstream.isDisposed else { return }
      Demand.with(flattener.outerDemand) { Chain(frames, upstream).run(core) }
    }
  }
}

/// The upper part of a chain that has been split. It is started once, at once.
private final class SplitCore<Value, Error: Swift.Error>: ProducerCore<Value, Error> {
  private let begin: (StreamObserver<Value, Error>, Connection) -> Void

  init(_ begin: @escaping (StreamObserver<Value, Error>, Connection) -> Void) {
    self.begin = begin
    super.init()
  }

  override func start(
    _ sink: StreamObserver<Value, Error>, _ connection: Connection
  ) -> AnyObject? {
    begin(sink, connection)
    return nil
  }
}

extension FlatMapFrame: ChainEnd {
  var output: AnyObject? { flattening?.0 }
}
