public import FoundationEssentials

extension Signal {
  /// Delivers values and completion `interval` seconds later, in their order.
  ///
  /// A failure or an interruption is delivered as soon as possible, and drops pending events.
  /// Disposal drops pending events, and delivers the interruption on `scheduler`.
  ///
  /// - Parameters:
  ///   - interval: The time in seconds; traps if it is negative.
  ///   - scheduler: Where the time is waited for and all events are delivered.
  /// - Returns: A signal that sends the values on `scheduler`.
  @preconcurrency
  public func delay(
    _ interval: TimeInterval, on scheduler: any DateScheduler
  ) -> Signal<Value, Error> where Value: Sendable {
    precondition(interval >= 0, "a stream can't be delayed by \(interval) seconds")
    return through(
      ScheduledValues("delay", on: scheduler) { action in
        scheduler.schedule(
          after: scheduler.currentDate.addingTimeInterval(interval), action: action)
      })
  }
}

/// Delivers values and completion in their order, each at a turn of its own on the scheduler.
// Sendable as every scheduled operator is.
final class ScheduledValues<Value, Error: Swift.Error>: ScheduledOperator<Value, Value, Error>,
  GraphLabelled, @unchecked Sendable
{
  typealias Schedule = (@escaping @Sendable () -> Void) -> (any Disposable)?

  let graphLabel: String
  private let schedule: Schedule
  // Kept here rather than in the scheduled work: two timers that are due at once need not fire in
  // order, and dropped values must be released even while the scheduler keeps the work.
  private let waiting = FIFO<Value>()
  /// Guards them.
  private let lock = PlainLock()

  /// - Parameters:
  ///   - label: What the operator is called while debugging.
  ///   - scheduler: Where the end of the stream is delivered if it is as soon as possible.
  ///   - schedule: Gives work its turn.
  init(_ label: String, on scheduler: any Scheduler, schedule: @escaping Schedule) {
    graphLabel = label
    self.schedule = schedule
    super.init(on: scheduler)
  }

  override func receive(_ value: Value) {
    hold()
    lock.lock()
    waiting.append(value)
    lock.unlock()
    _ = schedule { self.deliverFirst() }
  }

  private func deliverFirst() {
    lock.lock()
    guard !waiting.isEmpty else { return lock.unlock() }
    let value = waiting.takeFirst()
    lock.unlock()
    emit(value)
    release(1)
  }

  override func terminate(_ termination: Termination<Error>) {
    if case .completed = termination {
      _ = schedule { self.finish(.completed) }
    } else {
      super.terminate(termination)
    }
  }

  override func drop() {
    // Deinitialisers run user code: not under the lock.
    let dropped = FIFO<Value>()
    lock.lock()
    waiting.exchange(with: dropped)
    lock.unlock()
    release(dropped.count)
  }
}
