/// A started producer and the values that wait to be awaited.
final class AsyncRun<Value: Sendable, Failure: Error>: Sendable {
  private let buffer: AsyncBuffer<Value, Failure>
  private let disposable: any Disposable

  init(of producer: SignalProducer<Value, Failure>, buffering: AsyncBuffering) {
    let buffer = AsyncBuffer<Value, Failure>(buffering)
    self.buffer = buffer
    let demand: AsyncBuffer<Value, Failure>? =
      if case .backpressure = buffering { buffer } else { nil }
    disposable = Demand.$current.withValue(demand) { producer.core.start(buffer) }
  }

  deinit {
    cancel()
  }

  func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Value? {
    if Task.isCancelled { cancel() }
    let result =
      if let waiting = buffer.take() {
        waiting
      } else {
        await withTaskCancellationHandler {
          await withCheckedContinuation(isolation: actor) { buffer.take($0) }
        } onCancel: {
          cancel()
        }
      }
    // Frees sources that wait for room although the run is over.
    if case .success(.some) = result {} else { cancel() }
    return try result.get()
  }

  private func cancel() {
    // First: a source that waits for room is to be cancelled, not to find that there is plenty.
    disposable.dispose()
    buffer.close()
  }
}

/// Where a source that can wait learns whether to, and what keeps values for later says so.
protocol Demander: Sendable {
  /// Suspends until more values are wanted, or never again will be.
  func waitForRoom() async

  /// Notes that a value is on its way that has left its source and will be delivered later.
  func hold()

  /// Notes that so many of those have been delivered, or dropped.
  func release(_ count: Int)
}

/// Whose start it is. A source that is started asks, and so do operators that keep values, or start
/// something later.
enum Demand {
  @TaskLocal static var current: (any Demander)?

  /// Starts part of a run later than the run, on whatever thread.
  ///
  /// - Parameter demander: Whom the run is for: ``current`` when that was started.
  @inline(__always)
  static func with<Result>(_ demander: (any Demander)?, start: () -> Result) -> Result {
    guard let demander else { return start() }
    return $current.withValue(demander, operation: start)
  }

  /// Starts a run that several share: it waits for none of them, as then it would for the slowest.
  static func withNone<Result>(start: () -> Result) -> Result {
    if current == nil { return start() }
    return $current.withValue(nil, operation: start)
  }
}
