/// The output of a stream of streams.
///
/// Its state is guarded by its gate. Inner streams are started from outside of it, so that they
/// send their values straight through.
final class Flattener<Value, Error: Swift.Error>: Root<Value, Error>, @unchecked Sendable {
  typealias Inner = InnerStream<Value, Error>

  private let strategy: FlattenStrategy.Kind
  private let isRace: Bool
  /// The running ones, linked.
  private var newest: Inner?
  private var running = 0
  /// Those that wait for their turn. Made for the first of them.
  private var waiting: FIFO<ProducerCore<Value, Error>>?
  private var outerHasCompleted = false
  private var hasWinner = false

  /// What the inner streams in line are counted in, and the outer stream is started for: it waits
  /// while there is one. Those that run aren't counted, since they may end only when the outer
  /// stream has gone on. Nil if all run, or no source waits.
  private var room: Demand?

  /// What ends the outer stream.
  private let outer = SerialDisposable()

  init(_ strategy: FlattenStrategy) {
    self.strategy = strategy.kind
    isRace = if case .race = strategy.kind { true } else { false }
    super.init()
    demand = Demand.current
    if case .concurrent(let limit) = strategy.kind, limit < .max, let demand {
      room = Demand(limit: 1, downstream: demand)
    }
  }

  // MARK: The outer stream

  func setOuter(_ disposable: (any Disposable)?) {
    outer.inner = disposable
  }

  /// The demand that the outer stream of a run is started for.
  var outerDemand: Demand? { room ?? demand }

  /// Takes the next inner stream.
  func take(_ core: ProducerCore<Value, Error>) {
    if enter() {
      let inner = admit(core)
      leave()
      if let inner { run(inner) }
    } else {
      submitCounted { if let inner = self.admit(core) { self.run(inner) } }
    }
  }

  func outerDidEnd(_ termination: Termination<Error>) {
    inTurn(termination) { termination in
      guard case .completed = termination else { return self.finish(termination) }
      self.outerHasCompleted = true
      self.finishIfDone()
    }
  }

  /// - Returns: The inner stream to start, if any.
  private func admit(_ core: ProducerCore<Value, Error>) -> Inner? {
    guard !isFinished else { return nil }
    switch strategy {
    case .concurrent(let limit):
      guard running < limit, !isAnyWaiting else {
        wait(core)
        return nil
      }
    case .throttle:
      guard running == 0 else { return nil }
    case .race:
      guard !hasWinner else { return nil }
    case .latest:
      if let newest { remove(newest).dispose() }
    }
    if core.isSingle {
      passSingle(core)
      return nil
    }
    return add(core)
  }

  /// Passes a stream of one value: what it would do if it were started, in one step.
  @inline(__always)
  private func passSingle(_ core: ProducerCore<Value, Error>) {
    if isRace { claim(nil) }
    // From inside the gate: no other event comes in between, so it needn't be added as running.
    emit(valueOf: core)
    if isRace { finishIfDone() }
  }

  /// Starts an inner stream, and those whose turn comes while this runs.
  private func run(_ first: Inner) {
    var next: Inner? = first
    while let inner = next {
      inner.start()
      guard enter() else {
        return submit { if let next = self.nextAfterStart(of: inner) { self.run(next) } }
      }
      next = nextAfterStart(of: inner)
      leave()
    }
  }

  private func nextAfterStart(of inner: Inner) -> Inner? {
    inner.hasStarted = true
    guard !inner.isLive, isAnyWaiting else { return nil }
    let next = nextInLine()
    if next == nil { finishIfDone() }
    return next
  }

  private var isAnyWaiting: Bool {
    if let waiting { !waiting.isEmpty } else { false }
  }

  // Apart, as what takes from the queue is, since its type has to be looked up.
  @inline(never)
  private func wait(_ core: ProducerCore<Value, Error>) {
    room?.hold()
    let queue = waiting ?? FIFO()
    waiting = queue
    queue.append(core)
  }

  /// - Returns: The inner stream to start now, if any.
  @inline(never)
  private func nextInLine() -> Inner? {
    guard case .concurrent(let limit) = strategy else { return nil }
    while !isFinished, !isClosing, running < limit, let core = waiting?.popFirst() {
      guard core.isSingle else {
        room?.release(1)
        return add(core)
      }
      passSingle(core)
      // Afterwards: the value may be the last that is wanted.
      room?.release(1)
    }
    return nil
  }

  // MARK: Inner streams

  /// Passes a value. From inside.
  @inline(__always)
  fileprivate func pass(_ value: Value, from inner: Inner) {
    guard inner.isLive else { return }
    if isRace { claim(inner) }
    emit(value)
  }

  /// - Returns: The inner stream to start now, if any.
  fileprivate func end(_ termination: Termination<Error>, of inner: Inner) -> Inner? {
    guard inner.isLive else { return nil }
    if isRace { claim(inner) }
    switch termination {
    case .failed:
      finish(termination)
      return nil
    case .interrupted where isRace:
      finish(termination)
      return nil
    case .completed, .interrupted:
      _ = remove(inner)
      // Otherwise the call that is starting it continues with the next, so that the stack doesn't grow.
      let next = inner.hasStarted && isAnyWaiting ? nextInLine() : nil
      if next == nil { finishIfDone() }
      return next
    }
  }

  fileprivate func start(_ inner: Inner) { run(inner) }

  /// Makes `inner` the winner of the race, unless the race has a winner already.
  private func claim(_ inner: Inner?) {
    guard !hasWinner else { return }
    hasWinner = true
    var other = newest
    while let candidate = other {
      other = candidate.older
      if candidate !== inner { remove(candidate).dispose() }
    }
  }

  private func finishIfDone() {
    if outerHasCompleted, running == 0, !isAnyWaiting { complete() }
  }

  private func add(_ core: ProducerCore<Value, Error>) -> Inner {
    let inner = Inner(self, core)
    inner.older = newest
    newest?.newer = inner
    newest = inner
    running += 1
    return inner
  }

  /// - Returns: Its connection.
  private func remove(_ inner: Inner) -> Connection {
    inner.isLive = false
    running -= 1
    if let newer = inner.newer { newer.older = inner.older } else { newest = inner.older }
    inner.older?.newer = inner.newer
    inner.older = nil
    inner.newer = nil
    return inner.connection
  }

  override var graphInputs: [(any Disposable)?] { super.graphInputs + [outer.inner] }

  override func stageDidEnd() {
    // The sources of the outer stream make nothing more, as it would be lost.
    room?.end()
    let upstream = room == nil ? nil : outer.inner as? Connection
    outer.dispose()
    waiting = nil
    while let newest { remove(newest).dispose() }
    guard let room else { return }
    // If one of the sources is delivering now, all are disposed of afterwards. One that waits for room
    // has to be cancelled first: otherwise it goes on.
    if let upstream { upstream.lifetime.observeEnded { room.close() } } else { room.close() }
  }
}

/// One of the streams that are flattened. Its state is guarded by the gate of the output.
final class InnerStream<Value, Error: Swift.Error>: StreamObserver<Value, Error> {
  private let flattener: Flattener<Value, Error>
  private let core: ProducerCore<Value, Error>
  let connection = Connection()
  fileprivate(set) var isLive = true
  fileprivate(set) var hasStarted = false
  fileprivate var older: InnerStream?
  fileprivate unowned(unsafe) var newer: InnerStream?

  fileprivate init(_ flattener: Flattener<Value, Error>, _ core: ProducerCore<Value, Error>) {
    self.flattener = flattener
    self.core = core
  }

  /// From outside of the gate.
  fileprivate func start() {
    guard !connection.isDisposed else { return }
    connection.hold(Demand.with(flattener.demand) { core.start(self, connection) })
  }

  override func receive(_ value: Value) {
    if flattener.enter() {
      flattener.pass(value, from: self)
      flattener.leave()
    } else {
      flattener.submitCounted { self.flattener.pass(value, from: self) }
    }
  }

  override func terminate(_ termination: Termination<Error>) {
    if flattener.enter() {
      let next = flattener.end(termination, of: self)
      flattener.leave()
      if let next { flattener.start(next) }
    } else {
      flattener.submit {
        if let next = self.flattener.end(termination, of: self) { self.flattener.start(next) }
      }
    }
  }
}

/// The observer of a stream of streams.
final class OuterStream<Input, Value, Error: Swift.Error>: StreamObserver<Input, Error> {
  private let flattener: Flattener<Value, Error>
  private let transform: (Input) -> SignalProducer<Value, Error>

  init(
    _ flattener: Flattener<Value, Error>,
    _ transform: @escaping (Input) -> SignalProducer<Value, Error>
  ) {
    self.flattener = flattener
    self.transform = transform
  }

  override func receive(_ value: Input) {
    flattener.take(transform(value).core)
  }

  override func terminate(_ termination: Termination<Error>) {
    flattener.outerDidEnd(termination)
  }
}

/// Flattens the producers made of the values of another.
final class FlatMapCore<Input, Value, Error: Swift.Error>: ProducerCore<Value, Error> {
  private let source: ProducerCore<Input, Error>
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

  override func start(
    _ sink: StreamObserver<Value, Error>, _ connection: Connection
  ) -> AnyObject? {
    let flattener = Flattener<Value, Error>(strategy)
    flattener.begin(sink, connection)
    let upstream = Connection()
    flattener.setOuter(upstream)
    guard !upstream.isDisposed else { return nil }
    return Demand.with(flattener.outerDemand) {
      source.start(OuterStream(flattener, transform), upstream)
    }
  }
}

extension InnerStream: GraphNode {
  func withGraphOutputs(_ body: ([AnyObject]) -> Void) -> Bool {
    body([flattener])
    return true
  }
}

extension OuterStream: GraphNode {
  func withGraphOutputs(_ body: ([AnyObject]) -> Void) -> Bool {
    body([flattener])
    return true
  }
}
