public import Dispatch
public import FoundationEssentials
internal import Synchronization

/// Performs work on a serial Dispatch queue.
///
/// Work that is scheduled while earlier work waits is handed to the queue in one batch: the queue
/// is entered once for many pieces of work. Their order is that of scheduling. A batch that takes
/// more than a millisecond lets other blocks on the queue in between: one that is put on ``queue``
/// directly may run before work that was scheduled earlier. To wait for that, schedule the block.
public final class QueueScheduler: DateScheduler {
  /// Performs work on the main queue, always asynchronously, even if called there.
  ///
  /// Use ``UIScheduler`` to perform work at once where possible.
  public static let main = QueueScheduler(internalQueue: .main)

  /// The queue on which the work is performed.
  public let queue: DispatchQueue

  private let mutex = PlainLock()

  // The rest of the state is guarded by the lock.

  /// Turns that come before the latest ones.
  nonisolated(unsafe) private var earlier: [Turns] = []
  /// What the latest turns are for; nil if there are none.
  nonisolated(unsafe) private var latest: (any QueuedWork)?
  /// Identifies ``latest``, without the cost of holding it to look.
  nonisolated(unsafe) private var latestID: ObjectIdentifier?
  nonisolated(unsafe) private var latestCount = 0
  /// Whether the queue has been asked to call ``drain()``.
  nonisolated(unsafe) private var isDrainScheduled = false

  /// The turns that are being taken; the first is the last element. Only for ``drain()``, which the
  /// queue calls serially.
  nonisolated(unsafe) private var batch: [Turns] = []

  /// The time of day.
  public var currentDate: Date { Date() }

  init(internalQueue: DispatchQueue) {
    queue = internalQueue
    queue.setSpecific(key: Self.key, value: Mark(scheduler: self))
  }

  // MARK: The present one

  /// The scheduler of the current queue: ``main`` on the main queue; nil on a queue or thread
  /// without a scheduler.
  public static var current: QueueScheduler? {
    _ = main
    return DispatchQueue.getSpecific(key: key)?.scheduler
  }

  private static let key = DispatchSpecificKey<Mark>()

  /// How a queue names its scheduler, which holds it.
  private struct Mark: Sendable {
    weak let scheduler: QueueScheduler?
  }

  /// A scheduler on a new serial queue.
  ///
  /// - Parameters:
  ///   - qos: The quality of service of the queue.
  ///   - name: The label of the queue, seen in debuggers.
  ///   - targetQueue: The queue that the new one's work is performed on, if it has no own thread.
  public convenience init(
    qos: DispatchQoS = .unspecified,
    name: String = "org.reactivecocoa.ReactiveSwift.QueueScheduler",
    targeting targetQueue: DispatchQueue? = nil
  ) {
    self.init(internalQueue: DispatchQueue(label: name, qos: qos, target: targetQueue))
  }

  /// Enqueues work on the queue.
  ///
  /// - Returns: A disposable that cancels the work if it has not begun.
  @preconcurrency
  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> (any Disposable)? {
    let scheduled = ScheduledAction(action)
    lock()
    let needsDrain = addTurn(for: scheduled)
    unlock()
    if needsDrain { scheduleDrain() }
    return scheduled
  }

  // MARK: Turns

  /// Takes the lock for ``addTurn(for:)``. It guards also what queued work keeps for its turns.
  @inline(__always)
  func lock() { mutex.lock() }

  @inline(__always)
  func unlock() { mutex.unlock() }

  /// Gives work a turn after all others. Call with the lock held.
  ///
  /// - Returns: Whether ``scheduleDrain()`` must be called once the lock is free.
  @inline(__always)
  func addTurn(for work: any QueuedWork) -> Bool {
    if latestID == ObjectIdentifier(work) {
      latestCount += 1
    } else {
      addFirstTurn(for: work)
    }
    guard !isDrainScheduled else { return false }
    isDrainScheduled = true
    return true
  }

  @inline(never)
  private func addFirstTurn(for work: any QueuedWork) {
    if let latest { earlier.append(Turns(work: latest, count: latestCount)) }
    latest = work
    latestID = ObjectIdentifier(work)
    latestCount = 1
  }

  @inline(never)
  func scheduleDrain() {
    queue.async { self.drain() }
  }

  /// For how long, in nanoseconds, work is performed before other blocks on the queue get a turn:
  /// an eighth of what a screen at 120 Hz has for a frame.
  private static var drainMax: UInt64 { 1_000_000 }
  /// How many turns are taken, at most, between two looks at the clock, which cost as much as a turn.
  private static var turnsMax: Int { 64 }

  /// Performs the work scheduled so far, or some of it. The rest, and work that is scheduled
  /// meanwhile, waits for the queue's next turn, so that one scheduler can't starve the others.
  private func drain() {
    if batch.isEmpty { takeBatch() }
    perform()
    lock()
    isDrainScheduled = latest != nil || !batch.isEmpty
    let needsDrain = isDrainScheduled
    unlock()
    if needsDrain { scheduleDrain() }
  }

  private func takeBatch() {
    lock()
    swap(&batch, &earlier)
    let last = latest.map { Turns(work: $0, count: latestCount) }
    latest = nil
    latestID = nil
    unlock()
    if let last { batch.append(last) }
    batch.reverse()
  }

  /// Performs the batch until the time is over.
  private func perform() {
    let end = DispatchTime.now().uptimeNanoseconds + Self.drainMax
    // Few turns at first, which may take long.
    var (step, taken) = (1, 0)
    while let present = batch.last {
      if taken >= step {
        if DispatchTime.now().uptimeNanoseconds >= end { return }
        step = min(step * 2, Self.turnsMax)
        taken = 0
      }
      let count = min(present.count, step - taken)
      if count == present.count {
        batch.removeLast()
      } else {
        batch[batch.count - 1].count -= count
      }
      present.work.run(turns: count)
      taken += count
    }
    batch = []
  }

  /// Enqueues work to be performed at `date`, or as soon as possible after.
  ///
  /// - Returns: A disposable that cancels the work if it has not begun.
  @preconcurrency
  @discardableResult
  public func schedule(
    after date: Date, action: @escaping @Sendable () -> Void
  ) -> (any Disposable)? {
    let scheduled = ScheduledAction(action)
    queue.asyncAfter(wallDeadline: Self.wallTime(of: date)) { scheduled.run() }
    return scheduled
  }

  /// Enqueues work to be performed at `date` and every `interval` after it, with a leeway of a
  /// tenth of the interval.
  ///
  /// - Returns: A disposable that ends the repetition.
  @preconcurrency
  @discardableResult
  public func schedule(
    after date: Date, interval: DispatchTimeInterval, action: @escaping @Sendable () -> Void
  ) -> (any Disposable)? {
    schedule(after: date, interval: interval, leeway: interval * 0.1, action: action)
  }

  /// Enqueues work to be performed at `date` and every `interval` after it.
  ///
  /// To save power the work may be performed up to `leeway` later than due. Neither `interval` nor
  /// `leeway` may be negative.
  ///
  /// - Returns: A disposable that ends the repetition.
  @preconcurrency
  @discardableResult
  public func schedule(
    after date: Date, interval: DispatchTimeInterval, leeway: DispatchTimeInterval,
    action: @escaping @Sendable () -> Void
  ) -> (any Disposable)? {
    precondition(interval.timeInterval >= 0, "a timer can't repeat every \(interval)")
    precondition(leeway.timeInterval >= 0, "a timer can't have a leeway of \(leeway)")
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(wallDeadline: Self.wallTime(of: date), repeating: interval, leeway: leeway)
    let repetition = TimerDisposable(timer)
    timer.setEventHandler {
      // A firing that was on its way when the timer was cancelled must not be seen.
      if !repetition.isDisposed { action() }
    }
    timer.activate()
    return repetition
  }

  private static func wallTime(of date: Date) -> DispatchWallTime {
    // Dispatch counts nanoseconds in 64 bits.
    let secondsMax = TimeInterval(Int64.max) / 1e9
    let seconds = date.timeIntervalSinceNow
    return seconds < secondsMax ? .now() + max(0, seconds) : .distantFuture
  }
}

/// Work that has turns on a queue.
protocol QueuedWork: AnyObject, Sendable {
  /// Performs `turns` consecutive turns.
  func run(turns: Int)
}

/// Work, and how many turns it has one after the other.
private struct Turns {
  let work: any QueuedWork
  var count: Int
}

extension ScheduledAction: QueuedWork {
  func run(turns: Int) { run() }
}

/// Cancels a timer.
private final class TimerDisposable: Disposable {
  private let hasBeenDisposed = Synchronization.Atomic(false)
  // Dispatch's sources may be cancelled from any thread; their type isn't `Sendable`.
  nonisolated(unsafe) private let timer: any DispatchSourceTimer

  var isDisposed: Bool { hasBeenDisposed.load(ordering: .acquiring) }

  init(_ timer: any DispatchSourceTimer) {
    self.timer = timer
  }

  func dispose() {
    guard !hasBeenDisposed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    timer.cancel()
  }
}
