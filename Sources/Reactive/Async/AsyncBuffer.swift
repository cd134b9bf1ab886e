/// Where the values of a stream wait for the one task that awaits them.
final class AsyncBuffer<Value: Sendable, Failure: Error>: StreamObserver<Value, Failure>, Demander,
  @unchecked Sendable
{
  typealias Consumer = CheckedContinuation<Result<Value?, Failure>, Never>
  typealias Source = CheckedContinuation<Void, Never>

  private struct State {
    var values = FIFO<Value>()
    /// Set by the end, and again to completion when a failure has been thrown.
    var end: Result<Value?, Failure>?
    /// Whether nothing is awaited any more.
    var isClosed = false
    var consumer: Consumer?
    var sources: [UInt64: Source] = [:]
    /// Values that have left their sources and haven't come here.
    var heldCount = 0
    var nextSource: UInt64 = 0

    mutating func next() -> Result<Value?, Failure>? {
      if let value = values.popFirst() { return .success(value) }
      guard let end else { return nil }
      self.end = .success(nil)
      return end
    }

    mutating func takeSources() -> [Source] {
      defer { sources = [:] }
      return Array(sources.values)
    }
  }

  private let buffering: AsyncBuffering
  // Sendable, as what it holds is, and it is touched only under its lock.
  private let state = Locked(State())

  init(_ buffering: AsyncBuffering) {
    self.buffering = buffering
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
      return consumer
    }
    consumer?.resume(returning: end)
  }

  // MARK: The task's side

  /// The next value or the end, if they have come.
  func take() -> Result<Value?, Failure>? {
    let (result, sources) = state.withLock { state in
      let result = state.next()
      return (result, hasRoom(state) ? state.takeSources() : [])
    }
    for source in sources { source.resume() }
    return result
  }

  /// Resumes `consumer` with the next value or the end.
  func take(_ consumer: Consumer) {
    let (result, sources) = state.withLock { state in
      let result = state.next()
      if result == nil {
        precondition(state.consumer == nil, "two tasks await values of one iterator")
        state.consumer = consumer
      }
      return (result, hasRoom(state) ? state.takeSources() : [])
    }
    for source in sources { source.resume() }
    if let result { consumer.resume(returning: result) }
  }

  /// Ends the iteration and drops pending events. The run must have been disposed of.
  func close() {
    let dropped = state.withLock { state in
      state.isClosed = true
      let values = state.values
      state.values = FIFO()
      // A failure that has not been thrown is dropped, too.
      if state.end != nil { state.end = .success(nil) }
      return values
    }
    withExtendedLifetime(dropped) {}
    terminate(.interrupted)
    let sources = state.withLock { $0.takeSources() }
    for source in sources { source.resume() }
  }

  // MARK: The sources' side

  private func hasRoom(_ state: borrowing State) -> Bool {
    guard case .backpressure(let limit) = buffering, !state.isClosed else { return true }
    // The end cancels the sources soon; until then they must not make values that would be dropped.
    guard state.end == nil else { return false }
    return state.values.count + state.heldCount < limit
  }

  func hold() {
    state.withLock { $0.heldCount += 1 }
  }

  func release(_ count: Int) {
    let sources = state.withLock { state in
      state.heldCount -= count
      return hasRoom(state) ? state.takeSources() : []
    }
    for source in sources { source.resume() }
  }

  func waitForRoom() async {
    let id = state.withLock { state -> UInt64? in
      if hasRoom(state) { return nil }
      state.nextSource += 1
      return state.nextSource
    }
    guard let id else { return }
    await withTaskCancellationHandler {
      await withCheckedContinuation { (source: Source) in
        let goesOn = state.withLock { state in
          if Task.isCancelled || hasRoom(state) { return true }
          state.sources[id] = source
          return false
        }
        if goesOn { source.resume() }
      }
    } onCancel: {
      state.withLock { $0.sources.removeValue(forKey: id) }?.resume()
    }
  }
}
