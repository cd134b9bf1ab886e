/// A started producer and the values that wait to be awaited.
final class AsyncRun<Value: Sendable, Failure: Error>: Sendable {
  private let buffer: AsyncBuffer<Value, Failure>
  private let disposable: any Disposable

  init(of producer: SignalProducer<Value, Failure>, buffering: AsyncBuffering) {
    let buffer = AsyncBuffer<Value, Failure>(buffering)
    self.buffer = buffer
    disposable = Demand.$current.withValue(buffer.demand) { producer.core.start(buffer) }
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
