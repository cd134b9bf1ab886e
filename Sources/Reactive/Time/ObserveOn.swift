extension Signal {
  /// Delivers all events on `scheduler`, in order.
  ///
  /// Sending returns at once: values wait for their turn on the scheduler, and memory grows with
  /// how many do. The end comes after them. Disposal drops what waits, and delivers the
  /// interruption on `scheduler`.
  ///
  /// - Parameter scheduler: Where events are delivered.
  /// - Returns: A signal that sends the same events on `scheduler`.
  @preconcurrency
  public func observe(on scheduler: any Scheduler) -> Signal<Value, Error> where Value: Sendable {
    through(hop(to: scheduler))
  }
}

extension SignalProducer {
  /// Starts runs on `scheduler`.
  ///
  /// Disposing of a run before its turn prevents it. Where events are delivered doesn't change: see
  /// `observe(on:)`.
  ///
  /// - Parameter scheduler: Where runs are started.
  /// - Returns: A producer whose start schedules the run and returns.
  @preconcurrency
  public func start(on scheduler: any Scheduler) -> SignalProducer<Value, Error>
  where Value: Sendable {
    SignalProducer(
      core: JoinedCore { [self] root, connection in
        connection.add(
          scheduler.schedule { connection.hold(core.start(into: root, connection)) })
        return nil
      })
  }
}

func hop<Value, Error>(
  to scheduler: any Scheduler
) -> ScheduledOperator<Value, Value, Error> {
  if let queue = scheduler as? QueueScheduler { return QueueHop(to: queue) }
  return Hop(on: scheduler)
}

// Sendable as every scheduled operator is.
private final class Hop<Value, Error: Swift.Error>: ScheduledValues<Value, Error>,
  @unchecked Sendable
{
  private let scheduler: any Scheduler

  override init(on scheduler: any Scheduler) {
    self.scheduler = scheduler
    super.init(on: scheduler)
  }

  override func schedule(_ action: @escaping @Sendable () -> Void) {
    scheduler.schedule(action)
  }
}

/// Leaves values with a queue's scheduler, which gives each its turn. Nothing is allocated for a
/// value, the queue is entered once for many, and so is the gate of the output.
// Sendable as every scheduled operator is.
private final class QueueHop<Value, Error: Swift.Error>: ScheduledOperator<Value, Value, Error>,
  QueuedWork, @unchecked Sendable
{
  private let queue: QueueScheduler

  /// Filled by `receive`, taken by `run`, both under the scheduler's lock.
  @exclusivity(unchecked)
  private var arriving = Cells<Value>()

  /// Only for `run`, which the scheduler calls serially.
  @exclusivity(unchecked)
  private var departing = Cells<Value>()

  /// How many values are delivered before those are let in who wait at the output's gate.
  private static var chunkMax: Int { 64 }

  init(to queue: QueueScheduler) {
    self.queue = queue
    super.init(on: queue)
  }

  deinit {
    arriving.destroy()
    departing.destroy()
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
        swap(&arriving, &departing)
        queue.unlock()
      }
      let count = min(remaining, departing.count, Self.chunkMax)
      guard count > 0 else { return }
      if demand == nil { deliver(count) } else { withDemand { self.deliver(count) } }
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

/// Values in memory of their own, taken out in the order they came in. An array of a type that is
/// only known at run time costs several times as much.
struct Cells<Value> {
  private var start = UnsafeMutablePointer<Value>.allocate(capacity: minimalCapacity)
  private var capacity = minimalCapacity
  private var head = 0
  private var end = 0

  private static var minimalCapacity: Int { 16 }
  /// More than this is given back when it has been used once.
  private static var keptCapacityMax: Int { 4096 }

  var count: Int { end - head }
  var isEmpty: Bool { head == end }

  @inline(__always)
  mutating func append(_ value: Value) {
    if end == capacity { makeRoom() }
    (start + end).initialize(to: value)
    end += 1
  }

  /// The oldest value. There must be one.
  var first: UnsafeMutablePointer<Value> { start + head }

  // Called, it would look up the type for every value.
  @inline(__always)
  mutating func removeFirst() {
    (start + head).deinitialize(count: 1)
    head += 1
  }

  /// Takes the oldest value out. There must be one.
  @inline(__always)
  mutating func takeFirst() -> Value {
    let value = (start + head).move()
    head += 1
    return value
  }

  /// To be called when empty, before the next value is put in.
  mutating func reset() {
    head = 0
    end = 0
    guard capacity > Self.keptCapacityMax else { return }
    start.deallocate()
    capacity = Self.minimalCapacity
    start = .allocate(capacity: capacity)
  }

  func destroy() {
    (start + head).deinitialize(count: count)
    start.deallocate()
  }

  /// Moves the values to the front; to more memory, if they fill half of this or more.
  @inline(never)
  private mutating func makeRoom() {
    let count = count
    if count * 2 < capacity {
      start.moveInitialize(from: start + head, count: count)
    } else {
      let larger = UnsafeMutablePointer<Value>.allocate(capacity: capacity * 2)
      larger.moveInitialize(from: start + head, count: count)
      start.deallocate()
      start = larger
      capacity *= 2
    }
    head = 0
    end = count
  }
}
