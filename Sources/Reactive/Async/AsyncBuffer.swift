/// Where the values of a stream wait for the one task that awaits them.
final class AsyncBuffer<Value: Sendable, Failure: Error>: StreamObserver<Value, Failure>,
  @unchecked Sendable
{
  typealias Consumer = CheckedContinuation<Result<Value?, Failure>, Never>

  private struct State {
    var values = FIFO<Value>()
    /// Set by the end, and again to completion when a failure has been thrown.
    var end: Result<Value?, Failure>?
    var consumer: Consumer?

    mutating func next() -> Result<Value?, Failure>? {
      if let value = values.popFirst() { return .success(value) }
      guard let end else { return nil }
      self.end = .success(nil)
      return end
    }
  }

  private let buffering: AsyncBuffering
  /// What sources wait for. Nil if they don't.
  let demand: Demand?
  // Sendable, as what it holds is, and it is touched only under its lock.
  private let state = Locked(State())

  init(_ buffering: AsyncBuffering) {
    self.buffering = buffering
    demand = if case .backpressure(let limit) = buffering { Demand(limit: limit) } else { nil }
  }

  // MARK: The stream's side

  override func receive(_ value: Value) {
    let (consumer, dropped) = state.withLock { state -> (Consumer?, Value?) in
      guard state.end == nil else { return (nil, nil) }
      if let consumer = state.consumer.take() { return (consumer, nil) }
      return (nil, keep(value, in: state.values))
    }
    // Its deinitialiser is user code: not under the lock.
    withExtendedLifetime(dropped) {}
    consumer?.resume(returning: .success(value))
  }

  /// - Returns: The value that is dropped, if the buffer is full.
  private func keep(_ value: Value, in values: FIFO<Value>) -> Value? {
    switch buffering {
    case .unbounded, .backpressure:
      demand?.hold()
      values.append(value)
      return nil
    case .newest(let limit):
      values.append(value)
      return values.count > limit ? values.popFirst() : nil
    case .oldest(let limit):
      guard values.count < limit else { return value }
      values.append(value)
      return nil
    }
  }

  override func terminate(_ termination: Termination<Failure>) {
    let end: Result<Value?, Failure> =
      if case .failed(let error) = termination { .failure(error) } else { .success(nil) }
    // Sources that wait aren't resumed: the end of the run cancels them. They would make more before.
    let consumer = state.withLock { state -> Consumer? in
      guard state.end == nil else { return nil }
      let consumer = state.consumer.take()
      state.end = consumer == nil ? end : .success(nil)
      demand?.end()
      return consumer
    }
    consumer?.resume(returning: end)
  }

  // MARK: The task's side

  /// The next value or the end, if they have come.
  func take() -> Result<Value?, Failure>? {
    let result = state.withLock { $0.next() }
    if case .success(.some) = result { demand?.release(1) }
    return result
  }

  /// Resumes `consumer` with the next value or the end.
  func take(_ consumer: Consumer) {
    let result = state.withLock { state in
      let result = state.next()
      if result == nil {
        precondition(state.consumer == nil, "two tasks await values of one iterator")
        state.consumer = consumer
      }
      return result
    }
    guard let result else { return }
    if case .success(.some) = result { demand?.release(1) }
    consumer.resume(returning: result)
  }

  /// Ends the iteration and drops pending events. The run must have been disposed of.
  func close() {
    let dropped = state.withLock { state in
      let values = state.values
      state.values = FIFO()
      // A failure that has not been thrown is dropped, too.
      if state.end != nil { state.end = .success(nil) }
      return values
    }
    withExtendedLifetime(dropped) {}
    terminate(.interrupted)
    demand?.close()
  }
}
