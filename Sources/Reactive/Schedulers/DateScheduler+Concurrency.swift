public import Dispatch
public import FoundationEssentials

extension DateScheduler {
  /// Suspends the task for the given interval of the scheduler's time.
  ///
  /// To save power it may take up to `leeway` longer.
  ///
  /// - Throws: `CancellationError` as soon as the task is cancelled.
  public func sleep(
    for interval: DispatchTimeInterval, leeway: DispatchTimeInterval = .seconds(0)
  ) async throws {
    try await sleep(until: currentDate.addingTimeInterval(interval), leeway: leeway)
  }

  /// Suspends the task until the scheduler's clock shows the given date.
  ///
  /// To save power it may take up to `leeway` longer.
  ///
  /// - Throws: `CancellationError` as soon as the task is cancelled.
  public func sleep(
    until deadline: Date, leeway: DispatchTimeInterval = .seconds(0)
  ) async throws {
    try Task.checkCancellation()
    for await _ in ticks(after: deadline, interval: .seconds(3600), leeway: leeway) { break }
    try Task.checkCancellation()
  }

  /// Emits the date of the scheduler's clock every `interval`, for the first time after one
  /// interval. Ends when the task is cancelled.
  ///
  /// To save power a date may be up to `leeway` late.
  public func timer(
    interval: DispatchTimeInterval, leeway: DispatchTimeInterval = .seconds(0)
  ) -> AsyncStream<Date> {
    ticks(after: currentDate.addingTimeInterval(interval), interval: interval, leeway: leeway)
  }

  private func ticks(
    after date: Date, interval: DispatchTimeInterval, leeway: DispatchTimeInterval
  ) -> AsyncStream<Date> {
    AsyncStream { continuation in
      let repetition = schedule(after: date, interval: interval, leeway: leeway) {
        continuation.yield(self.currentDate)
      }
      continuation.onTermination = { _ in repetition?.dispose() }
    }
  }
}
