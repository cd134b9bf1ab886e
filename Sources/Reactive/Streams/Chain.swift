internal import Synchronization

/// A run of several producers, one after the other, into one root.
///
/// A producer that is made of others, as `a.then(b)` is, is taken apart before it is started: `a` is
/// started in the run, and what follows its end is put on a stack in memory. When `a` has ended, `b`
/// takes its place. So a recursion of such producers uses none of the thread's stack, however deep
/// and on which side it is, and no memory if it is the last part.
final class Chain {
  private enum Phase {
    static var starting: UInt8 { 0 }
    static var started: UInt8 { 1 }
    static var ended: UInt8 { 2 }
  }

  private let demand = Demand.current
  /// The run of the present part.
  private let current = SerialDisposable()
  private let phase = Synchronization.Atomic<UInt8>(Phase.starting)

  /// What knows whether the end of the chain has been submitted.
  let bottom: AnyChainFrame

  // The rest is touched by one part after the other.

  /// What follows the ends of the parts; that of the present part is the last.
  private var frames: [AnyChainFrame]
  /// What comes after the present part, when that has ended.
  private var next: AnyProducerCore?

  /// - Parameters:
  ///   - frames: What follows the parts to be run, the last first.
  ///   - connection: What ends the run.
  init(_ frames: [AnyChainFrame], _ connection: Connection) {
    self.frames = frames
    bottom = frames[0]
    connection.add(current)
  }

  func run(_ first: AnyProducerCore) {
    var part: AnyProducerCore? = first
    while let core = part, !current.isDisposed {
      let core = firstPart(of: core)
      phase.store(Phase.starting, ordering: .releasing)
      let connection = Connection()
      current.inner = connection
      guard !connection.isDisposed else { return }
      connection.hold(Demand.with(demand) { core.startPart(of: self, connection) })
      guard phase.exchange(Phase.started, ordering: .acquiringAndReleasing) == Phase.ended
      else { return }
      part = next.take()
    }
  }

  private func firstPart(of core: AnyProducerCore) -> AnyProducerCore {
    var first = core
    while let part = first.takeApart(in: self) { first = part }
    while let frame = lastFrame.frameToSplitAt(for: first) { first = split(at: frame, first) }
    return first
  }

  /// Takes out the frames from `frame` on, which are run as a chain of their own.
  private func split(at frame: AnyChainFrame, _ core: AnyProducerCore) -> AnyProducerCore {
    let index = frames.lastIndex { $0 === frame } ?? 0
    let upper = Array(frames[index...])
    frames.removeSubrange(index...)
    return frame.partOfItsOwn(running: core, upper)
  }

  // MARK: What follows

  private var lastFrame: AnyChainFrame { frames[frames.count - 1] }

  /// What follows the present part, whose events are of these types.
  func last<Value, Error>() -> ChainFrame<Value, Error> {
    unsafeDowncast(lastFrame, to: ChainFrame<Value, Error>.self)
  }

  /// Has `frame` decide what follows the part that is started next.
  func push(_ frame: AnyChainFrame) { frames.append(frame) }

  var isClosing: Bool { bottom.isClosing }

  /// To be called when the present part has ended, which has been noted in the last frame.
  fileprivate func goOn() {
    guard let core = followingPart() else { return }
    next = core
    // Otherwise the call that is starting the part continues.
    if phase.exchange(Phase.ended, ordering: .acquiringAndReleasing) == Phase.started,
      let core = next.take()
    {
      run(core)
    }
  }

  /// - Returns: The part to start. Nil at the end, which has been delivered.
  private func followingPart() -> AnyProducerCore? {
    // What follows isn't asked for in vain.
    while !isClosing, let frame = frames.popLast() {
      if let core = frame.proceed(in: self) { return core }
    }
    return nil
  }
}

// MARK: Frames

/// What follows the end of a part of a chain, regardless of its types.
class AnyChainFrame {
  /// Whether the part is a stream that is flattened, whose interruption is completion.
  final var isInterruptionCompletion = false

  /// Whether the end of the whole has been submitted. Only the first of a chain's frames is asked.
  var isClosing: Bool { false }

  /// To be called with the end of the part noted, when this has been taken from the stack.
  ///
  /// - Returns: The part to start. Without one, the next frame has the end; the first delivers it.
  func proceed(in chain: Chain) -> AnyProducerCore? {
    fatalError("a subclass of AnyChainFrame must override proceed(in:)")
  }

  /// Which frame, this or one before it, can't take the values of `part` inside the chain.
  func frameToSplitAt(for part: AnyProducerCore) -> AnyChainFrame? { nil }

  /// A part that is itself the run of a chain: of `core`, followed by `frames`, of which this is the first.
  func partOfItsOwn(running core: AnyProducerCore, _ frames: [AnyChainFrame]) -> AnyProducerCore {
    fatalError("a frame at which chains are split must override partOfItsOwn(running:_:)")
  }
}

/// Takes the values of the parts of a chain.
class ChainTarget<Value>: AnyChainFrame {
  func receive(_ value: Value) {}

  /// Whether a value of `part` may be followed by others.
  ///
  /// - Parameter isLast: Whether the completion of the part is followed by no other part.
  /// - Returns: This, if it can't take several values inside the chain.
  func frameToSplitAt(for part: AnyProducerCore, isLast: Bool) -> AnyChainFrame? { nil }
}

/// What follows the end of a part with these types.
class ChainFrame<Value, Error: Swift.Error>: ChainTarget<Value> {
  private var end: Termination<Error>?

  /// What takes the values of the part. Not by way of other frames: there may be many.
  var target: ChainTarget<Value> { self }

  /// Whether nothing follows a part that completes before the target has that end.
  var isLast: Bool { true }

  final override func frameToSplitAt(for part: AnyProducerCore) -> AnyChainFrame? {
    target.frameToSplitAt(for: part, isLast: isLast)
  }

  final func record(_ termination: Termination<Error>) {
    if isInterruptionCompletion, case .interrupted = termination {
      end = .completed
    } else {
      end = termination
    }
  }

  final override func proceed(in chain: Chain) -> AnyProducerCore? {
    guard let end else { return nil }
    return proceed(in: chain, after: end)
  }

  func proceed(in chain: Chain, after end: Termination<Error>) -> AnyProducerCore? {
    fatalError("a subclass of ChainFrame must override proceed(in:after:)")
  }

  /// What the events of the part are sent to.
  func observer(in chain: Chain) -> StreamObserver<Value, Error> { ChainedPart(chain, self) }
}

/// The end of a chain.
private final class RootFrame<Value, Error: Swift.Error>: ChainFrame<Value, Error> {
  private let root: Root<Value, Error>

  init(_ root: Root<Value, Error>) {
    self.root = root
  }

  override var isClosing: Bool { root.isClosing }
  override func receive(_ value: Value) { root.receive(value) }

  override func proceed(
    in chain: Chain, after end: Termination<Error>
  ) -> AnyProducerCore? {
    root.terminate(end)
    return nil
  }

  override func observer(in chain: Chain) -> StreamObserver<Value, Error> {
    isInterruptionCompletion ? super.observer(in: chain) : root
  }
}

/// Takes the events of a part whose end needn't be that of the chain.
private final class ChainedPart<Value, Error: Swift.Error>: StreamObserver<Value, Error> {
  private let chain: Chain
  private let frame: ChainFrame<Value, Error>
  private let target: ChainTarget<Value>

  init(_ chain: Chain, _ frame: ChainFrame<Value, Error>) {
    self.chain = chain
    self.frame = frame
    target = frame.target
  }

  override func receive(_ value: Value) { target.receive(value) }

  override func terminate(_ termination: Termination<Error>) {
    frame.record(termination)
    chain.goOn()
  }
}

// MARK: Debugging

extension Chain {
  fileprivate var graphOutputs: [AnyObject] { bottom.graphOutput.map { [$0] } ?? [] }
}

extension AnyChainFrame {
  fileprivate var graphOutput: AnyObject? { (self as? any ChainEnd)?.output }
}

/// The first frame of a chain.
protocol ChainEnd {
  /// What the values of the chain are sent to.
  var output: AnyObject? { get }
}

extension RootFrame: ChainEnd {
  var output: AnyObject? { root }
}

extension ChainedPart: GraphNode {
  func withGraphOutputs(_ body: ([AnyObject]) -> Void) -> Bool {
    body(chain.graphOutputs)
    return true
  }
}

// MARK: Producers

/// A producer whose runs are chains.
class ChainCore<Value, Error: Swift.Error>: ProducerCore<Value, Error> {
  init() {
    super.init(isChain: true)
  }

  final override func start(
    _ sink: StreamObserver<Value, Error>, _ connection: Connection
  ) -> AnyObject? {
    let root = Root<Value, Error>()
    root.begin(sink, connection)
    Chain([RootFrame(root)], connection).run(self)
    return nil
  }

  override func takeApart(in chain: Chain) -> AnyProducerCore? {
    fatalError("a subclass of ChainCore must override takeApart(in:)")
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
