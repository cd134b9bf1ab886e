import Synchronization

/// A value that an owner changes and others observe, such as the problem of a radio. May be used from any thread.
package final class CurrentValue<Value: Equatable & Sendable>: Sendable {
  private struct State {
    var value: Value
    var listeners: [UInt64: AsyncStream<Value>.Continuation] = [:]
    var lastListener: UInt64 = 0
    var isFinal = false
  }

  private let state: Mutex<State>

  /// Creates a value without observers.
  package init(_ value: Value) { state = Mutex(State(value: value)) }

  // Nothing else would end the streams.
  deinit { finish() }

  /// The current value.
  package var value: Value { state.withLock(\.value) }

  /// The current value and each change, until ``finish()``. A slow consumer gets only the latest one.
  package func values() -> AsyncStream<Value> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      // Under the lock, so that the values arrive in their order.
      let (number, isFinal) = state.withLock { state in
        state.lastListener += 1
        if !state.isFinal { state.listeners[state.lastListener] = continuation }
        continuation.yield(state.value)
        return (state.lastListener, state.isFinal)
      }
      guard !isFinal else { return continuation.finish() }
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { _ = $0.listeners.removeValue(forKey: number) }
      }
    }
  }

  /// Changes the value; returns false if it was the same.
  @discardableResult
  package func set(_ value: Value) -> Bool {
    state.withLock { state in
      guard state.value != value else { return false }
      state.value = value
      for listener in state.listeners.values { listener.yield(value) }
      return true
    }
  }

  /// Ends the streams of all observers, also of later ones, which get the last value.
  package func finish() {
    let listeners = state.withLock { state in
      state.isFinal = true
      defer { state.listeners = [:] }
      return state.listeners
    }
    // Not under the lock, which the end of a stream takes.
    for listener in listeners.values { listener.finish() }
  }
}
