public import FoundationEssentials
internal import Synchronization

extension Signal {
  /// Delivers a value when `interval` seconds have gone by without another.
  ///
  /// - Parameters:
  ///   - interval: Not negative.
  ///   - discardWhenCompleted: Whether completion drops the value that waits. Otherwise completion
  ///     waits for it. A failure or an interruption always drops it.
  public func debounce(
    _ interval: TimeInterval, on scheduler: any DateScheduler,
    discardWhenCompleted: Bool = true
  ) -> Signal<Value, Error> {
    precondition(interval >= 0, "a stream can't be debounced by \(interval) seconds")
    return Debounce(
      by: interval, on: scheduler, discardWhenCompleted: discardWhenCompleted
    ).signal(of: self)
  }
}

extension SignalProducer {
  /// Delivers a value when `interval` seconds have gone by without another.
  ///
  /// - Parameters:
  ///   - interval: Not negative.
  ///   - discardWhenCompleted: Whether completion drops the value that waits. Otherwise completion
  ///     waits for it. A failure or an interruption always drops it.
  public func debounce(
    _ interval: TimeInterval, on scheduler: any DateScheduler,
    discardWhenCompleted: Bool = true
  ) -> SignalProducer<Value, Error> {
    precondition(interval >= 0, "a stream can't be debounced by \(interval) seconds")
    return lift {
      $0.debounce(interval, on: scheduler, discardWhenCompleted: discardWhenCompleted)
    }
  }
}

/// One timer is out at most. When it fires early, because a newer value has come, it is set
/// again: many values in an interval cost two timers.
// Sendable as every scheduled operator is.
private final class Debounce<Value, Error: Swift.Error>: ScheduledOperator<Value, Value, Error>,
  @unchecked Sendable
{
  // Entered and left only under the lock.
  private struct State: @unchecked Sendable {
    var pending: Value?
    var deadline = Date.distantPast
    var isTimerSet = false
    var isCompleting = false
  }

  private enum Firing {
    case nothing
    case again(Date)
    case value(Value, completing: Bool)
  }

  private let interval: TimeInterval
  private let scheduler: any DateScheduler
  private let discardWhenCompleted: Bool
  private let state = Mutex(State())
  private let timer = SerialDisposable()

  init(by interval: TimeInterval, on scheduler: any DateScheduler, discardWhenCompleted: Bool) {
    self.interval = interval
    self.scheduler = scheduler
    self.discardWhenCompleted = discardWhenCompleted
    super.init(on: scheduler)
    lifetime += timer
  }

  override func receive(_ value: Value) {
    let deadline = scheduler.currentDate.addingTimeInterval(interval)
    var replaced = UncheckedTransfer(Value?.some(value))
    let needsTimer = state.withLock { state in
      let newer = replaced.value
      replaced = UncheckedTransfer(state.pending)
      state.pending = newer
      state.deadline = deadline
      defer { state.isTimerSet = true }
      return !state.isTimerSet
    }
    if needsTimer { setTimer(for: deadline) }
  }

  private func setTimer(for date: Date) {
    timer.inner = scheduler.schedule(after: date) { self.fire(at: date) }
  }

  private func fire(at date: Date) {
    let firing = state.withLock { state -> UncheckedTransfer<Firing> in
      if state.pending != nil, state.deadline > date {
        return UncheckedTransfer(.again(state.deadline))
      }
      state.isTimerSet = false
      guard let value = state.pending.take() else { return UncheckedTransfer(.nothing) }
      return UncheckedTransfer(.value(value, completing: state.isCompleting))
    }.value
    switch firing {
    case .nothing: break
    case .again(let date): setTimer(for: date)
    case .value(let value, let isCompleting):
      emit(value)
      if isCompleting { finish(.completed) }
    }
  }

  override func terminate(_ termination: Termination<Error>) {
    if case .completed = termination, !discardWhenCompleted {
      let isWaiting = state.withLock { state in
        state.isCompleting = true
        return state.pending != nil
      }
      if isWaiting { return }
    }
    timer.dispose()
    super.terminate(termination)
  }
}
