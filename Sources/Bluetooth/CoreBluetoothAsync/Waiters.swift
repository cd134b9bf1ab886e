internal import Synchronization

/// Tasks that wait for a delegate's call, first come first served per key.
final class Waiters<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  typealias Outcome = Result<Value, BluetoothError>

  private struct Waiter: Sendable {
    let number: UInt64
    /// Nil once cancelled; the place in the queue stays, to take the answer that still comes.
    var continuation: CheckedContinuation<Outcome, Never>?
  }

  private struct State: Sendable {
    var waiters: [Key: [Waiter]] = [:]
    var lastNumber: UInt64 = 0
    var end: BluetoothError?
  }

  private let state = Mutex(State())

  /// Waits until the key is resumed. `start` is called once waiting has begun.
  func wait(
    for key: Key, start: @Sendable () -> Void
  ) async throws(BluetoothError) -> Value {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    let outcome = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let refusal: BluetoothError? = state.withLock { state in
          if Task.isCancelled { return .cancelled }
          if let end = state.end { return end }
          state.waiters[key, default: []].append(
            Waiter(number: number, continuation: continuation))
          return nil
        }
        if let refusal { continuation.resume(returning: .failure(refusal)) } else { start() }
      }
    } onCancel: {
      cancel(key, number)
    }
    return try outcome.get()
  }

  /// Drops the key's next outcome that no waiter awaits.
  func expect(_ key: Key) {
    state.withLock { state in
      guard state.end == nil else { return }
      state.waiters[key, default: []].append(Waiter(number: 0, continuation: nil))
    }
  }

  /// Gives the first waiter of a key its outcome; false if there was no waiter.
  @discardableResult
  func resume(_ key: Key, with outcome: Outcome) -> Bool {
    let waiter: Waiter? = state.withLock { state in
      guard var list = state.waiters[key] else { return nil }
      let first = list.removeFirst()
      state.waiters[key] = list.isEmpty ? nil : list
      return first
    }
    waiter?.continuation?.resume(returning: outcome)
    return waiter != nil
  }

  /// Gives every waiter of a key this outcome.
  func resumeAll(_ key: Key, with outcome: Outcome) {
    let list = state.withLock { $0.waiters.removeValue(forKey: key) } ?? []
    for waiter in list { waiter.continuation?.resume(returning: outcome) }
  }

  /// Whether the key has a waiter that has not given up.
  func isAwaited(_ key: Key) -> Bool {
    state.withLock { $0.waiters[key]?.contains { $0.continuation != nil } ?? false }
  }

  /// Resumes every waiter with the error; with `isEnd`, also all later ones.
  func failAll(_ error: BluetoothError, isEnd: Bool) {
    let all = state.withLock { state in
      if isEnd { state.end = error }
      defer { state.waiters = [:] }
      return state.waiters.values.joined().map(\.continuation)
    }
    for continuation in all { continuation?.resume(returning: .failure(error)) }
  }

  private func cancel(_ key: Key, _ number: UInt64) {
    let continuation = state.withLock { state in
      guard let index = state.waiters[key]?.firstIndex(where: { $0.number == number }) else {
        return nil as CheckedContinuation<Outcome, Never>?
      }
      defer { state.waiters[key]?[index].continuation = nil }
      return state.waiters[key]?[index].continuation
    }
    continuation?.resume(returning: .failure(.cancelled))
  }
}

/// Values for any number of streams.
final class Broadcast<Value: Sendable>: Sendable {
  private struct State: Sendable {
    /// What a new stream begins with, if anything.
    var first: Value?
    var continuations: [UInt64: AsyncStream<Value>.Continuation] = [:]
    var lastNumber: UInt64 = 0
    var isFinished = false
  }

  private let state: Mutex<State>
  private let repeatsLast: Bool

  /// Streams begin with the first value that is sent after their creation.
  init() {
    state = Mutex(State())
    repeatsLast = false
  }

  /// Streams begin with the value that was sent last, or with `first`.
  init(startingWith first: Value) {
    state = Mutex(State(first: first))
    repeatsLast = true
  }

  /// A stream of all values sent from now on.
  func stream(bufferMax: Int) -> AsyncStream<Value> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Value.self, bufferingPolicy: .bufferingNewest(bufferMax))
    let number: UInt64? = state.withLock { state in
      if let first = state.first { continuation.yield(first) }
      if state.isFinished { return nil }
      state.lastNumber += 1
      state.continuations[state.lastNumber] = continuation
      return state.lastNumber
    }
    guard let number else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      _ = self?.state.withLock { $0.continuations.removeValue(forKey: number) }
    }
    return stream
  }

  func send(_ value: Value) {
    let all = state.withLock { state in
      if repeatsLast { state.first = value }
      return Array(state.continuations.values)
    }
    for continuation in all { continuation.yield(value) }
  }

  func finish() {
    let all = state.withLock { state in
      state.isFinished = true
      defer { state.continuations = [:] }
      return Array(state.continuations.values)
    }
    for continuation in all { continuation.finish() }
  }
}

/// The bounds of the streams.
enum Limits {
  /// Discoveries that wait for a slow reader; older ones are dropped, the next will tell again.
  static let discoveriesMax = 4_096
  /// Values that wait for a slow reader; older ones are dropped.
  static let valuesMax = 16_384
  /// Values of a restored subscription that wait for its first reader: more than a hub keeps. Older ones are dropped.
  static let heldValuesMax = 1_024
  /// States and modifications that wait; more than any radio's history.
  static let statesMax = 64
}
