public import FoundationEssentials
internal import Synchronization

extension Signal {
  /// Delivers values at least `interval` seconds apart: the first at once, then the latest of
  /// those that came meanwhile. What waits when the stream ends is dropped.
  ///
  /// - Parameter interval: Not negative.
  public func throttle(
    _ interval: TimeInterval, on scheduler: any DateScheduler
  ) -> Signal<Value, Error> {
    precondition(interval >= 0, "a stream can't be throttled to \(interval) seconds")
    return Throttle(by: interval, on: scheduler).signal(of: self)
  }
}

extension SignalProducer {
  /// Delivers values at least `interval` seconds apart: the first at once, then the latest of
  /// those that came meanwhile. What waits when the stream ends is dropped.
  ///
  /// - Parameter interval: Not negative.
  public func throttle(
    _ interval: TimeInterval, on scheduler: any DateScheduler
  ) -> SignalProducer<Value, Error> {
    precondition(interval >= 0, "a stream can't be throttled to \(interval) seconds")
    return lift { $0.throttle(interval, on: scheduler) }
  }
}

// Sendable as every scheduled operator is.
private final class Throttle<Value, Error: Swift.Error>: ScheduledOperator<Value, Value, Error>,
  @unchecked Sendable
{
  // Entered and left only under the lock.
  private struct State: @unchecked Sendable {
    var pending: Value?
    var previousDate: Date?
    /// The date of the timer that is out.
    var nextDate: Date?
  }

  private let interval: TimeInterval
  private let scheduler: any DateScheduler
  private let state = Mutex(State())
  private let timer = SerialDisposable()

  init(by interval: TimeInterval, on scheduler: any DateScheduler) {
    self.interval = interval
    self.scheduler = scheduler
    super.init(on: scheduler)
    lifetime += timer
  }

  override func receive(_ value: Value) {
    let now = scheduler.currentDate
    var replaced = UncheckedTransfer(Value?.some(value))
    let date = state.withLock { state -> Date? in
      let newer = replaced.value
      replaced = UncheckedTransfer(state.pending)
      state.pending = newer
      guard state.nextDate == nil else { return nil }
      var date = now
      if let previous = state.previousDate, previous <= now {
        date = max(now, previous.addingTimeInterval(interval))
      }
      state.nextDate = date
      return date
    }
    guard let date else { return }
    timer.inner = scheduler.schedule(after: date) { self.fire(at: date) }
  }

  private func fire(at date: Date) {
    let value = state.withLock { state in
      state.nextDate = nil
      state.previousDate = date
      return UncheckedTransfer(state.pending.take())
    }.value
    if let value { emit(value) }
  }
}
