extension Signal {
  /// Delivers all events on `scheduler`, in order.
  ///
  /// Sending returns at once: events are queued for the scheduler, without a limit. Disposal drops
  /// pending events, and delivers the interruption on `scheduler`.
  ///
  /// - Parameter scheduler: The scheduler that delivers events.
  /// - Returns: A signal that sends the same events on `scheduler`.
  @preconcurrency
  public func observe(on scheduler: any Scheduler) -> Signal<Value, Error> where Value: Sendable {
    through(hop(to: scheduler))
  }
}

extension SignalProducer {
  /// Starts runs on `scheduler`.
  ///
  /// Disposing of a run before its turn prevents it. Events are delivered on the same threads as
  /// without this operator: see `observe(on:)`.
  ///
  /// - Parameter scheduler: The scheduler that starts runs.
  /// - Returns: A producer whose start schedules the run and returns.
  @preconcurrency
  public func start(on scheduler: any Scheduler) -> SignalProducer<Value, Error>
  where Value: Sendable {
    SignalProducer(
      core: RootedCore { [self] root, connection in
        let demand = Demand.current
        connection.add(
          scheduler.schedule {
            connection.hold(Demand.with(demand) { core.start(into: root, connection) })
          })
        return nil
      })
  }
}

func hop<Value, Error>(
  to scheduler: any Scheduler
) -> ScheduledOperator<Value, Value, Error> {
  if let queue = scheduler as? QueueScheduler { return QueueHop(to: queue) }
  return ScheduledValues("hop", on: scheduler) { scheduler.schedule($0) }
}

/// Leaves values with a queue's scheduler, which gives each its turn. Nothing is allocated for a
/// value, the queue is entered once for many, and so is the gate of the output.
// Sendable as every scheduled operator is.
private final class QueueHop<Value, Error: Swift.Error>: ScheduledOperator<Value, Value, Error>,
  QueuedWork, @unchecked Sendable
{
  private let queue: QueueScheduler

  /// Filled by `receive`, taken by `run`, both under the scheduler's lock.
  private let arriving = FIFO<Value>()

  /// Only for `run`, which the scheduler calls serially.
  private let departing = FIFO<Value>()

  /// How many values are delivered before threads that wait at the output's gate are let in.
  private static var chunkMax: Int { 64 }

  init(to queue: QueueScheduler) {
    self.queue = queue
    super.init(on: queue)
  }

  override func receive(_ value: Value) {
    hold()
    queue.lock()
    arriving.append(value)
    let needsDrain = queue.addTurn(for: self)
    queue.unlock()
    if needsDrain { queue.scheduleDrain() }
  }

  func run(turns: Int) {
    var remaining = turns
    while remaining > 0 {
      if departing.isEmpty {
        departing.reset()
        queue.lock()
        arriving.exchange(with: departing)
        queue.unlock()
      }
      let count = min(remaining, departing.count, Self.chunkMax)
      guard count > 0 else { return }
      deliver(count)
      release(count)
      remaining -= count
    }
  }

  private func deliver(_ count: Int) {
    let isInside = output.enter()
    for _ in 0..<count {
      let cell = departing.first
      if isActive {
        if isInside { output.emit(cell.pointee) } else { output.receive(cell.pointee) }
      }
      departing.removeFirst()
    }
    if isInside { output.leave() }
  }
}
