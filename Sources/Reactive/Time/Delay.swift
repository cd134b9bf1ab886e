public import FoundationEssentials

extension Signal {
  /// Delivers values and completion `interval` seconds later, in their order.
  ///
  /// A failure or an interruption is delivered as soon as can be, and drops what waits. Disposal
  /// drops what waits, and delivers the interruption on `scheduler`.
  ///
  /// - Parameters:
  ///   - interval: Seconds; not negative, or the call traps.
  ///   - scheduler: Where the time is waited for and all events are delivered.
  /// - Returns: A signal that sends the values on `scheduler`.
  @preconcurrency
  public func delay(
    _ interval: TimeInterval, on scheduler: any DateScheduler
  ) -> Signal<Value, Error> where Value: Sendable {
    precondition(interval >= 0, "a stream can't be delayed by \(interval) seconds")
    return through(Delay(by: interval, on: scheduler))
  }
}

/// Delivers values in their order, each at a turn of its own on the scheduler.
// Sendable as every scheduled operator is.
class ScheduledValues<Value, Error: Swift.Error>: ScheduledOperator<Value, Value, Error>,
  @unchecked Sendable
{
  // Kept here rather than in what is scheduled: two timers that are due at once need not fire in
  // order, and what is dropped must be released though the scheduler keeps the work.
  private let waiting = FIFO<Value>()
  /// Guards them.
  private let lock = PlainLock()

  /// Has `action` performed at the value's turn.
  func schedule(_ action: @escaping @Sendable () -> Void) {
    fatalError("an operator must say when it delivers")
  }

  final override func receive(_ value: Value) {
    hold()
    lock.lock()
    waiting.append(value)
    lock.unlock()
    schedule { self.deliverFirst() }
  }

  private func deliverFirst() {
    lock.lock()
    guard !waiting.isEmpty else { return lock.unlock() }
    let value = waiting.takeFirst()
    lock.unlock()
    emit(value)
    release(1)
  }

  final override func drop() {
    // Deinitialisers run user code: not under the lock.
    let dropped = FIFO<Value>()
    lock.lock()
    waiting.exchange(with: dropped)
    lock.unlock()
    release(dropped.count)
  }
}

// Sendable as every scheduled operator is.
final class Delay<Value, Error: Swift.Error>: ScheduledValues<Value, Error>,
  @unchecked Sendable
{
  private let interval: TimeInterval
  private let scheduler: any DateScheduler

  init(by interval: TimeInterval, on scheduler: any DateScheduler) {
    self.interval = interval
    self.scheduler = scheduler
    super.init(on: scheduler)
  }

  override func terminate(_ termination: Termination<Error>) {
    if case .completed = termination {
      schedule { self.finish(.completed) }
    } else {
      super.terminate(termination)
    }
  }

  override func schedule(_ action: @escaping @Sendable () -> Void) {
    scheduler.schedule(
      after: scheduler.currentDate.addingTimeInterval(interval), action: action)
  }
}
