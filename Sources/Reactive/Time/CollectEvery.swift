public import Dispatch
internal import FoundationEssentials

extension Signal {
  /// Delivers, every `interval`, the values of the interval as an array.
  ///
  /// The first interval begins now; that of a run, at its start. Disposal drops collected values,
  /// and delivers the interruption on `scheduler`.
  ///
  /// - Parameters:
  ///   - interval: How long values are collected; not negative.
  ///   - scheduler: Where the time is waited for and all events are delivered.
  ///   - skipEmpty: Whether to deliver nothing for an interval without values, instead of an empty
  ///     array.
  ///   - discardWhenCompleted: Whether completion is passed on at once and drops the collected
  ///     values. Otherwise it waits for the end of the interval. A failure or an interruption
  ///     always drops them.
  /// - Returns: A signal that sends arrays on `scheduler`.
  @preconcurrency
  public func collect(
    every interval: DispatchTimeInterval, on scheduler: any DateScheduler,
    skipEmpty: Bool = false, discardWhenCompleted: Bool = true
  ) -> Signal<[Value], Error> where Value: Sendable {
    through(
      CollectEvery(
        every: interval, on: scheduler, skipEmpty: skipEmpty,
        discardWhenCompleted: discardWhenCompleted))
  }
}

// Sendable as every scheduled operator is.
final class CollectEvery<Value, Error: Swift.Error>:
  ScheduledOperator<Value, [Value], Error>, @unchecked Sendable
{
  private struct State {
    var values: [Value] = []
    var hasCompleted = false
  }

  private let interval: DispatchTimeInterval
  private let scheduler: any DateScheduler
  private let skipEmpty: Bool
  private let discardWhenCompleted: Bool
  private let state = Locked(State())
  private let timer = SerialDisposable()

  init(
    every interval: DispatchTimeInterval, on scheduler: any DateScheduler, skipEmpty: Bool,
    discardWhenCompleted: Bool
  ) {
    self.interval = interval
    self.scheduler = scheduler
    self.skipEmpty = skipEmpty
    self.discardWhenCompleted = discardWhenCompleted
    super.init(on: scheduler)
  }

  override func willStart() {
    timer.inner = scheduler.schedule(
      after: scheduler.currentDate.addingTimeInterval(interval), interval: interval,
      leeway: interval * 0.1
    ) {
      // Held: a completion that waits comes after the source has let go. The end stops the timer.
      self.fire()
    }
    lifetime += timer
  }

  override func receive(_ value: Value) {
    hold()
    state.withLock { $0.values.append(value) }
  }

  private func fire() {
    let state = state.withLock { state in
      let collected = state
      state.values = []
      return collected
    }
    if !state.values.isEmpty || !skipEmpty { emit(state.values) }
    release(state.values.count)
    if state.hasCompleted { finish(.completed) }
  }

  override func terminate(_ termination: Termination<Error>) {
    if case .completed = termination, !discardWhenCompleted {
      state.withLock { $0.hasCompleted = true }
    } else {
      timer.dispose()
      super.terminate(termination)
    }
  }

  override func drop() {
    timer.dispose()
    let dropped = state.withLock { state in
      defer { state.values = [] }
      return state
    }
    release(dropped.values.count)
  }
}
