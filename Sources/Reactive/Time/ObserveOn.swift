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

  // Values arrive in one under the scheduler's lock, and depart from the other in `run`, which the
  // scheduler calls serially. They change places under the lock when nothing is left to depart.
  private let buffers = (ValueBuffer<Value>(), ValueBuffer<Value>())
  @exclusivity(unchecked)
  private var arrivesInSecond = false

  init(to queue: QueueScheduler, cutsWhenInterrupted: Bool) {
    self.queue = queue
    super.init(on: queue, cutsWhenInterrupted: cutsWhenInterrupted)
  }

  override func receive(_ value: Value) {
    queue.enqueue(self) {
      if arrivesInSecond { buffers.1.append(value) } else { buffers.0.append(value) }
    }
  }

  func run(times: Int) {
    // Changed only here.
    var departing = arrivesInSecond ? buffers.0 : buffers.1
    for _ in 0..<times {
      if departing.isEmpty {
        queue.withLock { arrivesInSecond.toggle() }
        departing = arrivesInSecond ? buffers.0 : buffers.1
      }
      departing.takeFirst { emit($0) }
    }
  }
}

/// Values in the order in which they came. Not an array, whose type would have to be looked up
/// for every value where the type of that isn't known.
private final class ValueBuffer<Value> {
  @exclusivity(unchecked)
  private var values: UnsafeMutablePointer<Value>
  @exclusivity(unchecked)
  private var (head, end, capacity) = (0, 0, 16)

  init() {
    values = .allocate(capacity: capacity)
  }

  deinit {
    (values + head).deinitialize(count: end - head)
    values.deallocate()
  }

  var isEmpty: Bool { head == end }

  /// Not to be called once values have been taken, until it is empty.
  func append(_ value: Value) {
    if end == capacity { grow() }
    (values + end).initialize(to: value)
    end += 1
  }

  private func grow() {
    let larger = UnsafeMutablePointer<Value>.allocate(capacity: capacity * 2)
    (larger + head).moveInitialize(from: values + head, count: end - head)
    values.deallocate()
    values = larger
    capacity *= 2
  }

  @inline(__always)
  func takeFirst(_ body: (Value) -> Void) {
    guard head < end else { return }
    let value = (values + head).move()
    head += 1
    if head == end { (head, end) = (0, 0) }
    body(value)
  }
}
