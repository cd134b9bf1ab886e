/// What becomes of a value for which a buffer has no room.
public enum BufferPolicy: Sendable, Hashable {
  /// It takes the place of the oldest value that waits, which is dropped.
  case dropOldest
  /// It is dropped.
  case dropNewest
  /// All values that wait are dropped: the next to be delivered is the latest.
  case latest
  /// It is kept, and sources that can wait do until there is room: those made of an `AsyncSequence`,
  /// or of a function that sends, see ``AsyncBuffering/backpressure(_:)``. Nothing is dropped.
  case suspend
}

extension Signal {
  /// Delivers all events on `scheduler`, in order, and keeps a limited number of values until then.
  ///
  /// As `observe(on:)`, whose queue has no limit. The end comes after the values that wait. Disposal
  /// drops them, and delivers the interruption on `scheduler`.
  ///
  /// - Parameters:
  ///   - limit: How many values wait at most; traps if it isn't positive.
  ///   - policy: What becomes of a value that comes when there are as many.
  ///   - scheduler: The scheduler that delivers events.
  ///   - dropped: Counts the values that `policy` drops: it is increased when that happens, on the
  ///     thread that sends.
  /// - Returns: A signal that sends values on `scheduler`.
  @preconcurrency
  public func buffer(
    _ limit: Int, whenFull policy: BufferPolicy, on scheduler: any Scheduler,
    dropped: MutableProperty<Int>? = nil
  ) -> Signal<Value, Error> where Value: Sendable {
    precondition(limit > 0, "a buffer can't be of \(limit) values")
    return through(Buffer(limit, whenFull: policy, on: scheduler, dropped: dropped))
  }
}

/// Keeps a limited number of values until their turn on the scheduler.
// Sendable as every scheduled operator is.
final class Buffer<Value, Error: Swift.Error>: ScheduledOperator<Value, Value, Error>,
  @unchecked Sendable
{
  private let limit: Int
  private let policy: BufferPolicy
  private let scheduler: any Scheduler
  private let droppedCount: MutableProperty<Int>?

  private let waiting = FIFO<Value>()
  /// Turns on the scheduler that are to come, at least one for each value that waits.
  private var turns = 0
  /// Guards both.
  private let lock = PlainLock()

  init(
    _ limit: Int, whenFull policy: BufferPolicy, on scheduler: any Scheduler,
    dropped: MutableProperty<Int>?
  ) {
    self.limit = limit
    self.policy = policy
    self.scheduler = scheduler
    droppedCount = dropped
    super.init(on: scheduler)
  }

  /// Sources wait for room here, too.
  override func demand(below downstream: Demand?) -> Demand? {
    guard policy == .suspend else { return downstream }
    let demand = Demand(limit: limit, downstream: downstream)
    lifetime.observeEnded { demand.close() }
    return demand
  }

  override func receive(_ value: Value) {
    hold()
    lock.lock()
    guard waiting.count >= limit, policy != .suspend else {
      waiting.append(value)
      // The turns of values that were dropped are left for others.
      let needsTurn = turns < waiting.count
      if needsTurn { turns += 1 }
      lock.unlock()
      if needsTurn { scheduler.schedule { self.deliverFirst() } }
      return
    }
    // A value that takes the place of others has their turn.
    // What is dropped is released when the lock is free: its deinitialiser may run anything.
    let dropped = FIFO<Value>()
    switch policy {
    case .dropOldest:
      dropped.append(waiting.takeFirst())
      waiting.append(value)
    case .latest:
      waiting.exchange(with: dropped)
      waiting.append(value)
    case .dropNewest, .suspend:
      dropped.append(value)
    }
    lock.unlock()
    release(dropped.count)
    droppedCount?.modify { $0 += dropped.count }
  }

  private func deliverFirst() {
    lock.lock()
    turns -= 1
    guard !waiting.isEmpty else { return lock.unlock() }
    let value = waiting.takeFirst()
    lock.unlock()
    emit(value)
    release(1)
  }

  override func drop() {
    let dropped = FIFO<Value>()
    lock.lock()
    waiting.exchange(with: dropped)
    lock.unlock()
    release(dropped.count)
  }
}
