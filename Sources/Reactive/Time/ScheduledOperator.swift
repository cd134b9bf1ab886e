internal import Synchronization

/// An operator whose output is delivered on a scheduler: its input is kept or scheduled, and enters
/// a new stream when its time has come.
///
/// In a run it is the connection's entry: disposal drops waiting values, interrupts the upstream,
/// and delivers the interruption on the scheduler, even if the upstream has ended.
class ScheduledOperator<Input, Output, Error: Swift.Error>: StreamObserver<Input, Error>,
  Disposable, @unchecked Sendable
{
  // Sendable: its input is serial, its output takes events from any thread, the values kept in
  // between are guarded by the subclass's lock, and the operators require `Sendable` values.
  final let output = Root<Output, Error>()
  private let isCut = Synchronization.Atomic(false)
  private let scheduler: any Scheduler
  private let upstream = Connection()

  /// The demand that counts the values waiting here. Set before the first event.
  private final var demand: Demand? {
    didSet { hasDemand = demand != nil }
  }
  /// Looked at for every value.
  private final var hasDemand = false

  /// Notes that a value is kept here.
  @inline(__always)
  final func hold() {
    if hasDemand { demand?.hold() }
  }

  /// Values that were dropped after the cut and before the source was disposed of; nil from then on.
  private let heldBack = Locked<Int?>(0)

  /// Subtracts values that have been delivered or dropped from those kept here.
  @inline(__always)
  final func release(_ count: Int) {
    if hasDemand { makeRoom(count) }
  }

  /// After the cut, waits until the source is disposed of: it would use the room for more values.
  private func makeRoom(_ count: Int) {
    if isCut.load(ordering: .acquiring) {
      let isHeldBack = heldBack.withLock { heldBack in
        guard let others = heldBack else { return false }
        heldBack = others + count
        return true
      }
      if isHeldBack { return }
    }
    demand?.release(count)
  }

  init(on scheduler: any Scheduler) {
    self.scheduler = scheduler
  }

  /// Called once, when the output is wired and before the first event.
  func willStart() {}

  /// The demand that the values kept here count in, and the source is started for.
  ///
  /// - Parameter downstream: The demand for the output.
  func demand(below downstream: Demand?) -> Demand? { downstream }

  /// Called when what waits is not to be delivered any more. Values that it has kept are released.
  func drop() {}

  /// Ends with the output.
  final var lifetime: Lifetime { output.lifetime }

  /// The signal of the output, fed by `source`.
  final func signal(of source: Signal<Input, Error>) -> Signal<Output, Error> {
    let signal = Signal<Output, Error>(core: output)
    demand = Demand.current
    willStart()
    output.lifetime.hold(source.attach(self))
    return signal
  }

  /// Delivers the output of a run of `source` to `sink`.
  final func start(
    _ source: ProducerCore<Input, Error>, _ sink: StreamObserver<Output, Error>,
    _ connection: Connection
  ) -> AnyObject? {
    output.connect(to: sink, connection: connection)
    let demand = demand(below: Demand.current)
    self.demand = demand
    willStart()
    connection.add(upstream)
    // Last: from here on the run can be disposed of by another thread.
    connection.setEntry(self)
    guard !upstream.isDisposed else { return nil }
    return Demand.with(demand) { source.start(self, upstream) }
  }

  // MARK: Output

  /// Whether scheduled events are still to be delivered.
  @inline(__always)
  final var isActive: Bool { !isCut.load(ordering: .relaxed) && !output.isDisposed }

  /// Delivers a value. To be called on the scheduler.
  @inline(__always)
  final func emit(_ value: Output) {
    if isActive { output.receive(value) }
  }

  /// Delivers the end. To be called on the scheduler.
  final func finish(_ termination: Termination<Error>) {
    guard isActive else { return }
    output.terminate(termination)
    drop()
  }

  // Apart from what delivers values: the end is of a type that has to be looked up.
  @inline(never)
  final func complete() {
    finish(.completed)
  }

  /// Schedules the end, as soon as possible.
  override func terminate(_ termination: Termination<Error>) {
    scheduler.schedule { self.finish(termination) }
  }

  // MARK: Disposal

  final var isDisposed: Bool { isCut.load(ordering: .relaxed) || output.isDisposed }

  final func dispose() {
    let isFirst = !isCut.exchange(true, ordering: .acquiringAndReleasing)
    guard isFirst else { return }
    let isOver = output.isDisposed
    // First, because dropping values makes room, which the sources must not use any more.
    if !isOver { upstream.dispose() }
    if let count = heldBack.withLock({ $0.take() }), count > 0 { demand?.release(count) }
    guard !isOver else { return }
    drop()
    scheduler.schedule { self.output.terminate(.interrupted) }
  }
}

extension Signal {
  func through<U>(_ operation: ScheduledOperator<Value, U, Error>) -> Signal<U, Error> {
    operation.signal(of: self)
  }
}

extension SignalProducer {
  /// Applies an operator that has a scheduler, of which every start makes one.
  func through<U>(
    _ makeOperator: @escaping () -> ScheduledOperator<Value, U, Error>
  ) -> SignalProducer<U, Error> {
    SignalProducer<U, Error>(core: ScheduledCore(core, makeOperator))
  }
}

private final class ScheduledCore<Input, Output, Error: Swift.Error>: ProducerCore<Output, Error> {
  private let source: ProducerCore<Input, Error>
  private let makeOperator: () -> ScheduledOperator<Input, Output, Error>

  init(
    _ source: ProducerCore<Input, Error>,
    _ makeOperator: @escaping () -> ScheduledOperator<Input, Output, Error>
  ) {
    self.source = source
    self.makeOperator = makeOperator
  }

  override func start(
    _ sink: StreamObserver<Output, Error>, _ connection: Connection
  ) -> AnyObject? {
    makeOperator().start(source, sink, connection)
  }
}

extension ScheduledOperator: GraphNode {
  final var isGraphDetail: Bool { false }

  final func withGraphOutputs(_ body: ([AnyObject]) -> Void) -> Bool {
    body([output])
    return true
  }
}
