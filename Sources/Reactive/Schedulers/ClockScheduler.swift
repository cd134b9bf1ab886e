public import Dispatch
public import FoundationEssentials
internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// Performs work in a task, one piece after the other, at the times of any `Clock`.
///
/// Work is performed in the order of its date, and for one date in the order of scheduling, however
/// late the clock wakes it. To the work, ``currentDate`` is the date it was scheduled for: what it
/// schedules relative to that is exact, and lateness doesn't add up. So time operators do the very
/// same under the clock of a test as under a ``TestScheduler``.
public final class ClockScheduler<C: Clock>: DateScheduler where C.Duration == Duration {
  private struct State {
    var timers = TimerQueue()
    var alarm: Alarm?
    /// The date to the work that is being performed, or was last.
    var workDate = Date.distantPast
    /// The thread that performs work.
    var performer: UInt?
  }

  /// Waits for a date.
  private struct Alarm {
    var id: UInt64
    var date: Date
    var task: Task<Void, Never>
  }

  private let clock: C
  private let startInstant: C.Instant
  private let startDate: Date
  private let priority: TaskPriority?
  private let state = Locked(State())
  private let nextAlarm = Synchronization.Atomic<UInt64>(0)

  /// A scheduler that follows `clock`.
  ///
  /// - Parameters:
  ///   - clock: What the work is timed by.
  ///   - startDate: What ``currentDate`` is now.
  ///   - priority: Of the tasks that perform the work.
  public init(
    _ clock: C, startDate: Date = Date(timeIntervalSinceReferenceDate: 0),
    priority: TaskPriority? = nil
  ) {
    self.clock = clock
    self.startDate = startDate
    self.priority = priority
    startInstant = clock.now
  }

  /// The time on the clock; to work that is being performed, the date it was scheduled for.
  public var currentDate: Date {
    state.withLock { currentDate(in: $0) }
  }

  private func currentDate(in state: borrowing State) -> Date {
    if state.performer == Self.currentThread { return state.workDate }
    let (seconds, attoseconds) = startInstant.duration(to: clock.now).components
    return startDate.addingTimeInterval(TimeInterval(seconds) + TimeInterval(attoseconds) / 1e18)
  }

  private static var currentThread: UInt { UInt(pthread_self()) }

  /// Enqueues work to be performed as soon as possible.
  ///
  /// - Returns: A disposable that cancels the work if it has not begun.
  @preconcurrency
  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> (any Disposable)? {
    let scheduled = ScheduledAction(action)
    state.withLock { insert(scheduled, at: currentDate(in: $0), in: &$0) }
    return scheduled
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
    state.withLock { insert(scheduled, at: date, in: &$0) }
    return scheduled
  }

  /// Enqueues work to be performed at `date` and every `interval` after it.
  ///
  /// Neither `interval` nor `leeway` may be negative. The leeway has no effect.
  ///
  /// - Returns: A disposable that ends the repetition.
  @preconcurrency
  @discardableResult
  public func schedule(
    after date: Date, interval: DispatchTimeInterval,
    leeway: DispatchTimeInterval = .seconds(0), action: @escaping @Sendable () -> Void
  ) -> (any Disposable)? {
    precondition(leeway.timeInterval >= 0, "work can't have a leeway of \(leeway)")
    return scheduleRepetition(after: date, interval: interval, action)
  }

  // MARK: Waiting

  private func insert(_ action: ScheduledAction, at date: Date, in state: inout State) {
    state.timers.insert(action, at: date)
    // The thread that performs work looks at the queue again when that is done.
    if state.performer == nil { setAlarm(in: &state) }
  }

  /// Makes sure that a task waits for the earliest work.
  private func setAlarm(in state: inout State) {
    guard let date = state.timers.firstDate else { return }
    if let alarm = state.alarm {
      if alarm.date <= date { return }
      alarm.task.cancel()
    }
    let id = nextAlarm.wrappingAdd(1, ordering: .relaxed).newValue
    let now = currentDate(in: state)
    // A clock need not be able to count to the distant future: it is waited for in steps.
    let step = now.addingTimeInterval(1e9)
    let offset = min(max(date, now), step).timeIntervalSince(startDate)
    let instant = startInstant.advanced(by: .nanoseconds(Int64((offset * 1e9).rounded())))
    let task = Task(priority: priority) {
      if instant > clock.now {
        do { try await clock.sleep(until: instant, tolerance: nil) } catch { return }
      }
      // Counted in seconds, the clock's time may be a rounding error short of the date.
      perform(alarm: id, upTo: min(date, step))
    }
    state.alarm = Alarm(id: id, date: date, task: task)
  }

  /// Performs the work that is due.
  private func perform(alarm id: UInt64, upTo date: Date) {
    let isMine = state.withLock { state in
      guard state.alarm?.id == id else { return false }
      state.alarm = nil
      state.performer = Self.currentThread
      return true
    }
    guard isMine else { return }
    var remaining = Self.turnMax
    while let action = takeNext(upTo: date, unless: remaining == 0) {
      action.run()
      remaining -= 1
    }
  }

  /// How much work a task performs before another one goes on: other tasks share its thread.
  private static var turnMax: Int { 256 }

  /// The next work that is due; otherwise, or if the task's turn is over, sets the alarm and is done.
  private func takeNext(upTo date: Date, unless isOver: Bool) -> ScheduledAction? {
    state.withLock { state in
      state.performer = nil
      let now = currentDate(in: state)
      guard !isOver, let next = state.timers.takeFirst(upTo: max(now, date)) else {
        setAlarm(in: &state)
        return nil
      }
      state.performer = Self.currentThread
      state.workDate = max(state.workDate, next.date)
      return next.action
    }
  }
}

extension ClockScheduler: PostponingScheduler {
  func postpone(_ work: ScheduledAction, to date: Date) -> Bool {
    state.withLock { $0.timers.postpone(work, to: date) }
  }
}
