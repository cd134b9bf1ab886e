internal import Synchronization

/// What a run does when the producer that it began with has ended.
enum Continuation<Value, Error: Swift.Error> {
  case next(ProducerCore<Value, Error>)
  /// A stream that is flattened, whose interruption is completion.
  case flattened(ProducerCore<Value, Error>)
  case end(Termination<Error>)
}

/// A run of several producers, one after the other, into one root.
///
/// A producer that is the last part of another, as `b` is of `a.then(b)`, takes the place of that in
/// the run. So a recursion of such producers uses neither stack nor memory, however deep it is.
final class Chain<Value, Error: Swift.Error> {
  private enum Phase {
    static var starting: UInt8 { 0 }
    static var started: UInt8 { 1 }
    static var ended: UInt8 { 2 }
  }

  fileprivate let root: Root<Value, Error>
  private let demand = Demand.current
  /// The run of the present part.
  private let current = SerialDisposable()
  private let phase = Synchronization.Atomic<UInt8>(Phase.starting)

  // The rest is touched by one part after the other.

  /// What comes after the present part, when that has ended.
  private var next: ProducerCore<Value, Error>?
  /// What comes when the present part and what follows from it has ended; the last comes first.
  private var pending: [ProducerCore<Value, Error>] = []
  private var isInterruptionCompletion = false

  fileprivate init(into root: Root<Value, Error>, _ connection: Connection) {
    self.root = root
    connection.add(current)
  }

  fileprivate func run(_ first: ProducerCore<Value, Error>) {
    var part: ProducerCore<Value, Error>? = first
    while let core = part, !current.isDisposed {
      phase.store(Phase.starting, ordering: .releasing)
      let connection = Connection()
      current.inner = connection
      guard !connection.isDisposed else { return }
      connection.hold(Demand.with(demand) { start(firstPart(of: core), connection) })
      guard phase.exchange(Phase.started, ordering: .acquiringAndReleasing) == Phase.ended
      else { return }
      part = next.take()
    }
  }

  private func firstPart(of core: ProducerCore<Value, Error>) -> ProducerCore<Value, Error> {
    var first = core
    while let (left, right) = first.concatenated {
      isInterruptionCompletion = true
      pending.append(right)
      first = left
    }
    return first
  }

  private func start(_ core: ProducerCore<Value, Error>, _ connection: Connection) -> AnyObject? {
    if let followed = core.followed {
      return followed.begin(root, connection, followed.second) { self.goOn($0) }
    }
    let isLast = pending.isEmpty && !isInterruptionCompletion
    return core.start(isLast ? root : ChainedPart(self), connection)
  }

  /// To be called when the present part has ended.
  fileprivate func goOn(_ continuation: Continuation<Value, Error>) {
    guard !root.isClosing, let core = part(for: continuation) else { return }
    next = core
    // Otherwise the call that is starting the part continues.
    if phase.exchange(Phase.ended, ordering: .acquiringAndReleasing) == Phase.started,
      let core = next.take()
    {
      run(core)
    }
  }

  /// - Returns: The part to start. Nil at the end, which has been delivered.
  private func part(for continuation: Continuation<Value, Error>) -> ProducerCore<Value, Error>? {
    switch continuation {
    case .next(let core): return core
    case .flattened(let core):
      isInterruptionCompletion = true
      return core
    case .end(.failed(let error)): root.terminate(.failed(error))
    case .end(.completed):
      if let core = pending.popLast() { return core }
      root.terminate(.completed)
    case .end(.interrupted):
      if let core = pending.popLast() { return core }
      root.terminate(isInterruptionCompletion ? .completed : .interrupted)
    }
    return nil
  }
}

/// Takes the events of a part whose end needn't be that of the chain.
private final class ChainedPart<Value, Error: Swift.Error>: StreamObserver<Value, Error> {
  private let chain: Chain<Value, Error>

  init(_ chain: Chain<Value, Error>) {
    self.chain = chain
  }

  override func receive(_ value: Value) { chain.root.receive(value) }
  override func terminate(_ termination: Termination<Error>) { chain.goOn(.end(termination)) }
}

extension ChainedPart: GraphNode {
  func withGraphOutputs(_ body: ([AnyObject]) -> Void) -> Bool {
    body([chain.root])
    return true
  }
}

/// A producer whose runs are chains.
class ChainCore<Value, Error: Swift.Error>: ProducerCore<Value, Error> {
  final override func start(
    _ sink: StreamObserver<Value, Error>, _ connection: Connection
  ) -> AnyObject? {
    let root = Root<Value, Error>()
    root.begin(sink, connection)
    Chain(into: root, connection).run(self)
    return nil
  }

  /// Lets go of the parts that may be chains, too. To be called at the end of the core's life.
  final func letPartsGo() {
    // Not one inside the other, which would use the stack for each.
    var parts = takeParts()
    while var part = parts.popLast() {
      if isKnownUniquelyReferenced(&part) { parts += part.takeParts() }
    }
  }
}

/// The values of one producer, and then of another.
final class ConcatCore<Value, Error: Swift.Error>: ChainCore<Value, Error> {
  // Set until the end.
  private var parts: (ProducerCore<Value, Error>, ProducerCore<Value, Error>)?

  init(_ first: ProducerCore<Value, Error>, _ second: ProducerCore<Value, Error>) {
    parts = (first, second)
  }

  deinit { letPartsGo() }

  override var concatenated: (ProducerCore<Value, Error>, ProducerCore<Value, Error>)? { parts }

  override func takeParts() -> [ProducerCore<Value, Error>] {
    defer { parts = nil }
    return parts.map { [$0.0, $0.1] } ?? []
  }
}

/// One producer, and then what follows from its end.
final class FollowedCore<Value, Error: Swift.Error>: ChainCore<Value, Error> {
  /// Starts the first producer.
  typealias Begin = (
    _ root: Root<Value, Error>, _ connection: Connection, _ second: ProducerCore<Value, Error>?,
    _ goOn: @escaping (Continuation<Value, Error>) -> Void
  ) -> AnyObject?

  fileprivate let begin: Begin
  /// What follows, if that is known. Set until the end.
  fileprivate private(set) var second: ProducerCore<Value, Error>?

  init(second: ProducerCore<Value, Error>? = nil, _ begin: @escaping Begin) {
    self.second = second
    self.begin = begin
  }

  deinit { letPartsGo() }

  override var followed: FollowedCore<Value, Error>? { self }

  override func takeParts() -> [ProducerCore<Value, Error>] {
    defer { second = nil }
    return second.map { [$0] } ?? []
  }
}

extension ProducerCore {
  /// A run of this, and then of another producer, or the end.
  ///
  /// - Parameters:
  ///   - second: The argument for `follow`.
  ///   - pass: What becomes of a value of this.
  ///   - follow: What comes after its end.
  func followed<U, F>(
    second: ProducerCore<U, F>? = nil, passing pass: @escaping (Root<U, F>, Value) -> Void,
    by follow: @escaping (Termination<Error>, ProducerCore<U, F>?) -> Continuation<U, F>
  ) -> ProducerCore<U, F> {
    FollowedCore(second: second) { root, connection, second, goOn in
      let first = ClosureObserver<Value, Error>(
        value: { pass(root, $0) },
        termination: { termination in
          // What follows isn't asked for in vain.
          if !root.isClosing { goOn(follow(termination, second)) }
        })
      return self.start(first, connection)
    }
  }

  /// A run of this, which sends one value at most, and then of the producer made of that.
  func followed<U>(
    byMaking transform: @escaping (Value) -> Continuation<U, Error>
  ) -> ProducerCore<U, Error> {
    FollowedCore { root, connection, _, goOn in
      var continuation: Continuation<U, Error>?
      let first = ClosureObserver<Value, Error>(
        value: { if !root.isClosing { continuation = transform($0) } },
        termination: { termination in
          if case .completed = termination, let continuation { return goOn(continuation) }
          goOn(.end(termination))
        })
      return self.start(first, connection)
    }
  }
}
