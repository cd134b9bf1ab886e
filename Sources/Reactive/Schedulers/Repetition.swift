package import Dispatch
package import FoundationEssentials

extension DateScheduler {
  /// Schedules work repeatedly, each time at an exact multiple of `interval` after `date`. Does not
  /// retain the scheduler.
  package func scheduleRepetition(
    after date: Date, interval: DispatchTimeInterval, _ action: @escaping @Sendable () -> Void
  ) -> any Disposable {
    precondition(interval.timeInterval >= 0, "work can't repeat every \(interval)")
    let repetition = SerialDisposable()
    scheduleTurn(of: repetition, at: date, interval: interval, action: action)
    return repetition
  }

  private func scheduleTurn(
    of repetition: SerialDisposable, at date: Date, interval: DispatchTimeInterval,
    action: @escaping @Sendable () -> Void
  ) {
    repetition.setInner {
      schedule(after: date) { [weak self] in
        action()
        guard let self, !repetition.isDisposed else { return }
        let next = date.addingTimeInterval(interval)
        scheduleTurn(of: repetition, at: next, interval: interval, action: action)
      }
    }
  }
}
