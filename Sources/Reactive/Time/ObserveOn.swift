internal import Synchronization

extension Signal {
  /// Delivers all events on `scheduler`, in order.
  public func observe(on scheduler: any Scheduler) -> Signal<Value, Error> {
    hop(to: scheduler, cutsWhenInterrupted: false)
  }

  fileprivate func hop(
    to scheduler: any Scheduler, cutsWhenInterrupted: Bool
  ) -> Signal<Value, Error> {
    if let queue = scheduler as? QueueScheduler {
      return QueueHop(to: queue, cutsWhenInterrupted: cutsWhenInterrupted).signal(of: self)
    }
    return Hop(on: scheduler, cutsWhenInterrupted: cutsWhenInterrupted).signal(of: self)
  }
}

extension SignalProducer {
  /// Delivers all events on `scheduler`, in order.
  public func observe(on scheduler: any Scheduler) -> SignalProducer<Value, Error> {
    lift { $0.hop(to: scheduler, cutsWhenInterrupted: true) }
  }

  /// Starts on `scheduler`. Disposing of the run before its turn prevents it.
  public func start(on scheduler: any Scheduler) -> SignalProducer<Value, Error> {
    SignalProducer { observer, lifetime in
      let input = UncheckedTransfer(observer)
      lifetime += scheduler.schedule {
        self.startWithSignal { signal, interruptHandle in
          lifetime += interruptHandle
          signal.observe(input.value)
        }
      }
    }
  }
}

/// Schedules every event by itself.
// Sendable as every scheduled operator is.
private final class Hop<Value, Error: Swift.Error>: ScheduledOperator<Value, Value, Error>,
  @unchecked Sendable
{
  private let scheduler: any Scheduler

  override init(on scheduler: any Scheduler, cutsWhenInterrupted: Bool) {
    self.scheduler = scheduler
    super.init(on: scheduler, cutsWhenInterrupted: cutsWhenInterrupted)
  }

  override func receive(_ value: Value) {
    let transfer = UncheckedTransfer(value)
    scheduler.schedule { self.emit(transfer.value) }
  }
}

/// Leaves values with a queue's scheduler, which calls for each in its turn. Nothing is allocated
/// for a value, and the queue is entered once for many.
// Sendable as every scheduled operator is.
private final class QueueHop<Value, Error: Swift.Error>: ScheduledOperator<Value, Value, Error>,
  QueuedWork, @unchecked Sendable
{
  private let queue: QueueScheduler

  // Filled under the scheduler's lock by `receive`, emptied under it by `run`.
  @exclusivity(unchecked)
  private var arriving: [Value] = []

  // Touched by `run` only, which the scheduler calls serially. In reverse order.
  @exclusivity(unchecked)
  private var departing: [Value] = []

  init(to queue: QueueScheduler, cutsWhenInterrupted: Bool) {
    self.queue = queue
    super.init(on: queue, cutsWhenInterrupted: cutsWhenInterrupted)
  }

  override func receive(_ value: Value) {
    queue.enqueue(self) { arriving.append(value) }
  }

  func run() {
    if departing.isEmpty {
      queue.withLock { swap(&arriving, &departing) }
      departing.reverse()
    }
    if let value = departing.popLast() { emit(value) }
  }
}
