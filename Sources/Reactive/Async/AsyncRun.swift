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

/// The consumer's demand: sources wait for it, and operators that keep values count them in it.
protocol Demander: Sendable {
  /// Suspends until more values are wanted, or never again will be.
  func waitForRoom() async

  /// Notes that a value is on its way that has left its source and will be delivered later.
  func hold()

  /// Subtracts values that have been delivered or dropped from those on their way.
  func release(_ count: Int)
}

/// The demander of the start that is under way on this task. Read by sources when they are started,
/// and by operators that keep values or start streams later.
enum Demand {
  @TaskLocal static var current: (any Demander)?

  /// Starts part of a run later than the run, on any thread.
  ///
  /// - Parameter demander: The value of ``current`` when the run was started.
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
