internal import Synchronization

/// What a ``Signal`` is a handle of: the list of its observers.
@usableFromInline
protocol SignalCore<Value, Error>: AnyObject {
  associatedtype Value
  associatedtype Error: Swift.Error

  /// The serialisation of the stream, which the core holds.
  var heldGate: Unmanaged<Gate>? { get }
  /// Whether the termination has been delivered.
  var isFinished: Bool { get }
  /// Adds an observer after those that are there; one that comes too late is interrupted.
  func attach(_ observer: StreamObserver<Value, Error>)
  /// Removes an observer. Nothing is delivered to it any more; it releases its downstream.
  func detach(_ observer: StreamObserver<Value, Error>)
  /// The last handle is gone: without observers no event can be seen any more.
  func handleDidDeinitialize()
}

/// One operator at work: takes the events of one stream and emits those of another.
///
/// Subclasses override ``receive(_:)``, and ``terminate(_:)`` if they handle the end differently,
/// and call ``emit(_:)`` and ``finish(_:)``. The same class serves both kinds of stream:
///
/// - started by a producer, it has one fixed output, and the ``Connection`` of the start;
/// - for a signal it is the signal's core: its output is its observers, and it is itself an
///   observer of the signal it derives from, whose gate it shares. Events of a derived signal are
///   always delivered inside the gate, so nothing here locks.
@usableFromInline
class Stage<Input, InputError: Swift.Error, Output, OutputError: Swift.Error>:
  StreamObserver<Input, InputError>, SignalCore
{
  @usableFromInline typealias Value = Output
  @usableFromInline typealias Error = OutputError

  /// Nil without observers, and after the end; a ``Fanout`` with several.
  // Loaded and stored, never changed in place. Other modules inline that, so the compiler can't see
  // it of all accesses; checking them would double what a value costs at each operator.
  @exclusivity(unchecked)
  @usableFromInline final var output: Unmanaged<StreamObserver<Output, OutputError>>?
  private var isFanout = false
  private var handleIsGone = false
  private let hasFinished = Synchronization.Atomic(false)

  /// Disposed of at the end, besides the upstream subscription.
  private(set) var connection: Connection?

  /// Set once and retained, so that callers needn't retain the gate for a call.
  private var ownedGate: Unmanaged<Gate>?
  private var upstream: (any SignalCore<Input, InputError>)?

  @usableFromInline
  override init() {}

  deinit {
    output?.release()
    ownedGate?.release()
  }

  // Behind a function, since accesses to what other modules see are checked for being exclusive.
  @usableFromInline final var heldGate: Unmanaged<Gate>? { ownedGate }
  final var gate: Gate? { ownedGate?.takeUnretainedValue() }

  /// The gate of a stage that is behind a signal, which its own life keeps alive.
  @inline(__always)
  private func withGate(_ body: (Gate) -> Void) {
    guard let ownedGate else {
      preconditionFailure("a stage that isn't behind a signal is observed")
    }
    ownedGate._withUnsafeGuaranteedRef(body)
  }

  @usableFromInline final var isFinished: Bool { hasFinished.load(ordering: .acquiring) }

  /// The lifetime of this stage: disposables added to it are disposed of after its end.
  final var lifetime: Lifetime {
    if let connection { return connection.lifetime }
    let connection = Connection()
    self.connection = connection
    return connection.lifetime
  }

  /// Uses the given connection for the disposables to be disposed of at the end.
  final func own(_ connection: Connection) {
    self.connection = connection
  }

  // MARK: Wiring

  /// Puts the stage into the chain of a producer's start.
  final func connect(
    to output: StreamObserver<Output, OutputError>, connection: Connection
  ) {
    self.output = .passRetained(output)
    self.connection = connection
    stageWillStart()
  }

  /// Puts the stage behind a signal, of which it becomes an observer.
  @usableFromInline
  final func derive(from upstream: any SignalCore<Input, InputError>) {
    self.upstream = upstream
    ownedGate = upstream.heldGate?.retain()
    stageWillStart()
    if !isFinished { upstream.attach(self) }
  }

  /// Puts the stage behind a gate, inside of which it gets its events.
  final func attach(to gate: Gate) {
    ownedGate = .passRetained(gate)
  }

  /// Called once, when the stage is wired and before the first event.
  func stageWillStart() {}

  /// Called once, after the end, delivered or silent.
  func stageDidEnd() {}

  /// What ends the flow of events from elsewhere to here, to be looked at while debugging.
  var graphInputs: [(any Disposable)?] { connection?.content ?? [] }

  // MARK: Events

  /// Delivers a value to the observers.
  @inlinable
  @inline(__always)
  final func emit(_ value: Output) {
    // Not retained for the call: an output that is taken out while it runs is kept by the gate.
    output?._withUnsafeGuaranteedRef { $0.receive(value) }
  }

  /// Delivers the value of a producer that is single. It is asked to do so itself: to read the
  /// value, its type would have to be looked up.
  @inline(__always)
  final func emit(valueOf core: ProducerCore<Output, OutputError>) {
    output?._withUnsafeGuaranteedRef { core.deliverSingle(to: $0) }
  }

  /// Delivers the end, once, and lets go of everything.
  final func finish(_ termination: Termination<OutputError>) {
    guard !hasFinished.load(ordering: .relaxed) else { return }
    hasFinished.store(true, ordering: .releasing)
    let last = takeOutput()
    last?.terminate(termination)
    dismantle()
  }

  // Apart from what delivers values: the end is of a type that has to be looked up.
  @inline(never)
  final func complete() {
    finish(.completed)
  }

  @inline(never)
  final func fail(_ error: OutputError) {
    finish(.failed(error))
  }

  private func takeOutput() -> StreamObserver<Output, OutputError>? {
    defer { output = nil }
    return output?.takeRetainedValue()
  }

  private func dismantle() {
    // Not `take()`, which has to look up the type of the optional.
    let upstream = self.upstream
    self.upstream = nil
    upstream?.detach(self)
    stageDidEnd()
    guard let connection else { return }
    self.connection = nil
    release(connection)
  }

  /// Called at the end with the connection, whose entry is further up or nowhere.
  func release(_ connection: Connection) { connection.dispose() }

  // MARK: Observers

  @usableFromInline
  final func attach(_ observer: StreamObserver<Output, OutputError>) {
    withGate { gate in
      if let admission = gate.open() {
        add(observer)
        gate.close(admission)
      } else {
        gate.submit { self.add(observer) }
      }
    }
  }

  @inline(__always)
  private func add(_ observer: StreamObserver<Output, OutputError>) {
    if output == nil, !isFinished {
      output = .passRetained(observer)
    } else {
      addAnother(observer)
    }
  }

  // Apart, since it mentions a type that has to be looked up.
  @inline(never)
  private func addAnother(_ observer: StreamObserver<Output, OutputError>) {
    guard !isFinished, let current = output else { return observer.terminate(.interrupted) }
    if isFanout {
      unsafeDowncast(current.takeUnretainedValue(), to: Fanout<Output, OutputError>.self)
        .add(observer)
    } else {
      let fanout = Fanout<Output, OutputError>()
      fanout.add(current.takeRetainedValue())
      fanout.add(observer)
      output = .passRetained(fanout)
      isFanout = true
    }
  }

  @usableFromInline
  final func detach(_ observer: StreamObserver<Output, OutputError>) {
    guard ownedGate != nil else { return }
    withGate { gate in
      if let admission = gate.open() {
        remove(observer, gate)
        gate.close(admission)
      } else {
        gate.submit { self.remove(observer, gate) }
      }
    }
  }

  @inline(__always)
  private func remove(_ observer: StreamObserver<Output, OutputError>, _ gate: Gate) {
    // Also if it isn't here any more, because the end is being delivered.
    if let inner = observer.didDetach() { gate.retire(inner) }
    guard let current = output else { return }
    if current.toOpaque() == Unmanaged.passUnretained(observer).toOpaque() {
      output = nil
      gate.retire(current.takeRetainedValue())
      disposeIfUnreachable()
    } else if isFanout {
      removeOneOfSeveral(observer, gate)
    }
  }

  @inline(never)
  private func removeOneOfSeveral(
    _ observer: StreamObserver<Output, OutputError>, _ gate: Gate
  ) {
    guard let current = output else { return }
    let fanout = unsafeDowncast(
      current.takeUnretainedValue(), to: Fanout<Output, OutputError>.self)
    guard let removed = fanout.remove(observer) else { return }
    gate.retire(removed)
    guard fanout.isEmpty else { return }
    isFanout = false
    if let last = takeOutput() { gate.retire(last) }
    disposeIfUnreachable()
  }

  @usableFromInline
  final func handleDidDeinitialize() {
    guard ownedGate != nil else { return }
    withGate { gate in
      if let admission = gate.open() {
        disposeIfUnreachable(handleIsGone: true)
        gate.close(admission)
      } else {
        gate.submit { self.disposeIfUnreachable(handleIsGone: true) }
      }
    }
  }

  /// Ends silently when there is no observer and never will be.
  private func disposeIfUnreachable(handleIsGone isGone: Bool = false) {
    handleIsGone = handleIsGone || isGone
    guard handleIsGone, output == nil, !isFinished else { return }
    hasFinished.store(true, ordering: .releasing)
    dismantle()
  }
}

// MARK: Debugging

extension Stage: GraphNode {
  final var graphUpstreams: [AnyObject] {
    let admission = gate?.open()
    guard gate == nil || admission != nil else { return [] }
    let upstreams =
      upstream.map { [$0] } ?? graphInputs.compactMap { ($0 as? any GraphLink)?.graphSource }
    if let gate, let admission { gate.close(admission) }
    return upstreams
  }
  final var isGraphDetail: Bool { false }

  final func withGraphOutputs(_ body: ([AnyObject]) -> Void) -> Bool {
    // One without a gate is in the chain of a start, behind a root whose gate is held.
    let admission = gate?.open()
    guard gate == nil || admission != nil else { return false }
    if let output {
      let object = output.takeUnretainedValue()
      if isFanout {
        _ = unsafeDowncast(object, to: Fanout<Output, OutputError>.self).withGraphOutputs(body)
      } else {
        body([object])
      }
    }
    if let gate, let admission { gate.close(admission) }
    return true
  }
}
