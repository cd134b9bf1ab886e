internal import Synchronization

/// An operator whose output happens on a scheduler: what comes in is kept or scheduled, and
/// enters a new stream when its time has come.
class ScheduledOperator<Input, Output, Error: Swift.Error>: StreamObserver<Input, Error>,
  @unchecked Sendable
{
  // Sendable: its input is serial, its output takes events from any thread, what it keeps in
  // between is locked by the subclass, and the operators ask for values that are Sendable.
  final let output = Root<Output, Error>()
  private let isCut = Synchronization.Atomic(false)
  private let scheduler: any Scheduler
  private let cutsWhenInterrupted: Bool

  /// - Parameter cutsWhenInterrupted: Whether an interruption also drops what waits.
  init(on scheduler: any Scheduler, cutsWhenInterrupted: Bool = true) {
    self.scheduler = scheduler
    self.cutsWhenInterrupted = cutsWhenInterrupted
  }

  /// Ends with the output.
  final var lifetime: Lifetime { output.lifetime }

  /// The signal of the output, fed by `source`.
  final func signal(of source: Signal<Input, Error>) -> Signal<Output, Error> {
    let signal = Signal<Output, Error>(core: output)
    output.lifetime.hold(source.attach(ObserverSubscription(of: self, to: source.core)))
    return signal
  }

  /// Whether what is scheduled is still wanted.
  @inline(__always)
  final var isActive: Bool { !isCut.load(ordering: .relaxed) && !output.isDisposed }

  /// Delivers a value. To be called on the scheduler.
  @inline(__always)
  final func emit(_ value: Output) {
    if isActive { output.receive(value) }
  }

  /// Delivers the end. To be called on the scheduler.
  final func finish(_ termination: Termination<Error>) {
    output.terminate(termination)
  }

  // Apart from what delivers values: the end is of a type that has to be looked up.
  @inline(never)
  final func complete() {
    finish(.completed)
  }

  /// Schedules the end, as soon as can be.
  override func terminate(_ termination: Termination<Error>) {
    if case .interrupted = termination, cutsWhenInterrupted {
      isCut.store(true, ordering: .relaxed)
    }
    scheduler.schedule { self.finish(termination) }
  }
}

extension ScheduledOperator: GraphNode {
  final var isGraphDetail: Bool { false }

  final func withGraphOutputs(_ body: ([AnyObject]) -> Void) -> Bool {
    body([output])
    return true
  }
}
