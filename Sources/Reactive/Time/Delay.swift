public import FoundationEssentials

extension Signal {
  /// Delivers values and completion `interval` seconds later; a failure or an interruption as
  /// soon as can be, which drops what waits.
  ///
  /// `interval` must not be negative.
  @preconcurrency
  public func delay(
    _ interval: TimeInterval, on scheduler: any DateScheduler
  ) -> Signal<Value, Error> where Value: Sendable {
    precondition(interval >= 0, "a stream can't be delayed by \(interval) seconds")
    return through(Delay(by: interval, on: scheduler))
  }
}

extension SignalProducer {
  /// Delivers values and completion `interval` seconds later; a failure or an interruption as
  /// soon as can be, which drops what waits.
  ///
  /// `interval` must not be negative.
  @preconcurrency
  public func delay(
    _ interval: TimeInterval, on scheduler: any DateScheduler
  ) -> SignalProducer<Value, Error> where Value: Sendable {
    precondition(interval >= 0, "a stream can't be delayed by \(interval) seconds")
    return through { Delay(by: interval, on: scheduler) }
  }
}

/// Delivers values in their order, each at a turn of its own on the scheduler.
// Sendable as every scheduled operator is.
class ScheduledValues<Value, Error: Swift.Error>: ScheduledOperator<Value, Value, Error>,
  @unchecked Sendable
{
  // Kept here rather than in what is scheduled: two timers that are due at once need not fire in
  // order, and what is dropped must be released though the scheduler keeps the work.
  private let waiting = Locked(UncheckedLine<Value>())

  /// Has `action` performed at the value's turn.
  func schedule(_ action: @escaping @Sendable () -> Void) {
    fatalError("an operator must say when it delivers")
  }

  final override func receive(_ value: Value) {
    let transfer = UncheckedTransfer(value)
    demand?.hold()
    waiting.withLock { $0.line.append(transfer.value) }
    schedule {
      guard let value = self.waiting.withLock({ UncheckedTransfer($0.line.popFirst()) }).value
      else { return }
      self.emit(value)
      self.demand?.release(1)
    }
  }

  final override func drop() {
    let dropped = waiting.withLock { waiting in
      defer { waiting.line = FIFO() }
      return UncheckedTransfer(waiting.line)
    }
    // Deinitialisers run user code: not under the lock.
    demand?.release(dropped.value.count)
  }
}

// Sendable as every scheduled operator is.
private final class Delay<Value, Error: Swift.Error>: ScheduledValues<Value, Error>,
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

// Entered and left only under the lock of what holds it.
private struct UncheckedLine<Value>: @unchecked Sendable {
  var line = FIFO<Value>()
}
