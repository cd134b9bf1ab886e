public import Dispatch
public import FoundationEssentials
internal import Synchronization

/// Performs work on a serial Dispatch queue.
///
/// Work that is scheduled while earlier work waits is handed to the queue in one batch: the queue
/// is entered once for many pieces of work. Their order is that of scheduling. Blocks that are put
/// on ``queue`` directly run before or after a batch, never inside it.
public final class QueueScheduler: DateScheduler {
  private struct Backlog {
    var work: [QueuedTurns] = []
    /// Whether the queue has been asked to call ``QueueScheduler/drain()``.
    var isDrainScheduled = false

    @inline(__always)
    mutating func add(_ newWork: any QueuedWork) {
      if let last = work.indices.last, work[last].work === newWork {
        work[last].count += 1
      } else {
        work.append(QueuedTurns(work: newWork))
      }
    }
  }

  /// Performs work on the main queue, always later, even if called there.
  ///
  /// ``UIScheduler`` is the one that performs work at once where it can.
  public static let main = QueueScheduler(internalQueue: .main)

  /// The queue on which the work is performed.
  public let queue: DispatchQueue

  private let backlog = Mutex(Backlog())

  /// The time of day.
  public var currentDate: Date { Date() }

  init(internalQueue: DispatchQueue) {
    queue = internalQueue
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
    enqueue(scheduled) {}
    return scheduled
  }

  /// Enqueues work.
  ///
  /// - Parameter prepare: Called under the lock, for what is to happen together with it.
  @inline(__always)
  func enqueue(_ work: any QueuedWork, prepare: () -> Void) {
    let needsDrain = backlog.withLock { backlog in
      prepare()
      backlog.add(work)
      guard !backlog.isDrainScheduled else { return false }
      backlog.isDrainScheduled = true
      return true
    }
    if needsDrain { queue.async { self.drain() } }
  }

  /// Reads or changes what ``enqueue(_:prepare:)`` prepares.
  func withLock(_ body: () -> Void) {
    backlog.withLock { _ in body() }
  }

  /// Performs what has been scheduled so far. What is scheduled meanwhile waits for the queue's
  /// next turn, so that one scheduler can't starve the others.
  private func drain() {
    let batch = backlog.withLock { backlog in
      let batch = backlog.work
      backlog.work = []
      return batch
    }
    for turns in batch { turns.work.run(times: turns.count) }
    let needsDrain = backlog.withLock { backlog in
      backlog.isDrainScheduled = !backlog.work.isEmpty
      return backlog.isDrainScheduled
    }
    if needsDrain { queue.async { self.drain() } }
  }

  /// Enqueues work to be performed at `date`, or as soon after as can be.
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
    schedule(after: date, interval: interval, leeway: interval.tenth, action: action)
  }

  /// Enqueues work to be performed at `date` and every `interval` after it.
  ///
  /// Neither `interval` nor `leeway` may be negative.
  ///
  /// - Parameter leeway: How much later than due the work may be performed, to save power.
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

/// Work that has a turn on a queue.
protocol QueuedWork: AnyObject, Sendable {
  /// Performs the work as often as it was enqueued in a row.
  func run(times: Int)
}

/// Several turns of the same work, one after the other.
private struct QueuedTurns {
  let work: any QueuedWork
  var count = 1
}

extension ScheduledAction: QueuedWork {
  func run(times: Int) { run() }
}

/// Cancels a timer.
private final class TimerDisposable: Disposable {
  private let hasBeenDisposed = Synchronization.Atomic(false)
  // Dispatch's sources may be cancelled from any thread; the type does not say so.
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
