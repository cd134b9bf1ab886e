public import Dispatch
public import FoundationEssentials

/// A scheduler whose time is moved by hand: nothing happens between two calls of `advance`.
///
/// Work is performed on the thread that advances, in the order of its date, and for one date in
/// the order of scheduling. While a piece of work is performed, ``currentDate`` is the date it was
/// scheduled for.
public final class TestScheduler: DateScheduler {
  private struct State {
    var currentDate: Date
    var timers = TimerQueue()

    /// Takes the earliest work up to `end` and sets the time to its date; without any, sets it to
    /// `end`.
    mutating func takeNext(upTo end: Date) -> ScheduledAction? {
      let next = timers.takeFirst(upTo: end)
      // The work itself may have advanced further.
      currentDate = max(currentDate, next?.date ?? end)
      return next?.action
    }
  }

  private let state: Locked<State>

  /// The virtual time.
  public var currentDate: Date {
    state.withLock { $0.currentDate }
  }

  /// Creates a scheduler at the given date without work.
  public init(startDate: Date = Date(timeIntervalSinceReferenceDate: 0)) {
    state = Locked(State(currentDate: startDate))
  }

  /// Enqueues work for the current date. It is performed at the next advance.
  ///
  /// - Returns: A disposable that cancels the work if it has not begun.
  @preconcurrency
  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> (any Disposable)? {
    let scheduled = ScheduledAction(action)
    state.withLock { $0.timers.insert(scheduled, at: $0.currentDate) }
    return scheduled
  }

  /// Enqueues work for `delay`, which must not be negative, after the current date.
  ///
  /// - Returns: A disposable that cancels the work if it has not begun.
  @preconcurrency
  @discardableResult
  public func schedule(
    after delay: DispatchTimeInterval, action: @escaping @Sendable () -> Void
  ) -> (any Disposable)? {
    precondition(delay.timeInterval >= 0, "work can't be delayed by \(delay)")
    return schedule(after: currentDate.addingTimeInterval(delay), action: action)
  }

  /// Enqueues work for the given date.
  ///
  /// - Returns: A disposable that cancels the work if it has not begun.
  @preconcurrency
  @discardableResult
  public func schedule(
    after date: Date, action: @escaping @Sendable () -> Void
  ) -> (any Disposable)? {
    let scheduled = ScheduledAction(action)
    state.withLock { $0.timers.insert(scheduled, at: date) }
    return scheduled
  }

  /// Enqueues work for the given date and every `interval` after it.
  ///
  /// `interval` must not be negative. The leeway has no effect: virtual time is exact.
  ///
  /// - Returns: A disposable that ends the repetition.
  @preconcurrency
  @discardableResult
  public func schedule(
    after date: Date, interval: DispatchTimeInterval,
    leeway: DispatchTimeInterval = .seconds(0), action: @escaping @Sendable () -> Void
  ) -> (any Disposable)? {
    scheduleRepetition(after: date, interval: interval, action)
  }

  /// Advances by a nanosecond, which performs the work that is scheduled for the current date.
  public func advance() {
    advance(by: .nanoseconds(1))
  }

  /// Advances by the given interval, performing what falls due.
  public func advance(by interval: DispatchTimeInterval) {
    advance { $0.addingTimeInterval(interval) }
  }

  /// Advances by the given number of seconds, performing what falls due.
  public func advance(by interval: TimeInterval) {
    advance { $0.addingTimeInterval(interval) }
  }

  /// Advances to the given date, performing what falls due.
  ///
  /// The date must not be in the virtual past. Work that is scheduled meanwhile is performed, too,
  /// up to that date. Work that repeats without an interval never ends.
  public func advance(to newDate: Date) {
    advance { _ in newDate }
  }

  private func advance(to destination: (_ now: Date) -> Date) {
    var (end, action) = state.withLock { state in
      let (now, end) = (state.currentDate, destination(state.currentDate))
      precondition(now <= end, "can't advance to the past: it is \(now), not \(end)")
      return (end, state.takeNext(upTo: end))
    }
    while let due = action {
      due.run()
      action = takeNext(upTo: end)
    }
  }

  /// Performs all scheduled work and the work that it schedules, and stays in the distant future.
  public func run() {
    advance(to: .distantFuture)
  }

  /// Sets the virtual clock back. Scheduled work keeps its date.
  public func rewind(by interval: DispatchTimeInterval) {
    precondition(
      (0..<TimeInterval.infinity).contains(interval.timeInterval),
      "can't rewind by \(interval)")
    state.withLock { $0.currentDate = $0.currentDate.addingTimeInterval(-interval) }
  }

  private func takeNext(upTo end: Date) -> ScheduledAction? {
    state.withLock { $0.takeNext(upTo: end) }
  }
}

extension TestScheduler: PostponingScheduler {
  func postpone(_ work: ScheduledAction, to date: Date) -> Bool {
    state.withLock { $0.timers.postpone(work, to: date) }
  }
}

extension TestScheduler {
  /// Advances by a nanosecond, letting tasks run before and after.
  @MainActor
  public func advance() async {
    await advance(by: .nanoseconds(1))
  }

  /// Advances by the given interval, letting tasks run before, between and after what falls due.
  @MainActor
  public func advance(by interval: DispatchTimeInterval) async {
    await advance(to: currentDate.addingTimeInterval(interval))
  }

  /// Advances by the given number of seconds, letting tasks run before, between and after what
  /// falls due.
  @MainActor
  public func advance(by interval: TimeInterval) async {
    await advance(to: currentDate.addingTimeInterval(interval))
  }

  /// Advances to the given date, letting tasks run before, between and after what falls due, so
  /// that a task that waits for this scheduler can schedule its next wait in time.
  ///
  /// The date must not be in the virtual past.
  @MainActor
  public func advance(to newDate: Date) async {
    precondition(
      currentDate <= newDate, "can't advance to the past: it is \(currentDate), not \(newDate)")
    await letTasksRun()
    while let action = takeNext(upTo: newDate) {
      action.run()
      await letTasksRun()
    }
    await letTasksRun()
  }

  /// Performs all scheduled work and the work that it schedules, letting tasks run in between.
  @MainActor
  public func run() async {
    await advance(to: .distantFuture)
  }

  /// Gives other tasks their turn. A task of the lowest priority is begun after those that wait;
  /// several in a row let those run that the first ones woke.
  @MainActor
  private func letTasksRun() async {
    for _ in 0..<20 {
      await Task.detached(priority: .background) { await Task.yield() }.value
    }
  }
}
