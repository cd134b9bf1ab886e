internal import RunLoopSupport
internal import Synchronization

/// Delivers values serially, in the order in which they were put in, with no lock held: the
/// receiver may put in more.
final class Outbox<Value: Sendable>: Sendable {
  private struct State {
    var values: ArraySlice<Value> = []
    var isSending = false
  }

  private let state = Mutex(State())
  private let onValue: @Sendable (Value) -> Void

  init(onValue: @escaping @Sendable (Value) -> Void) { self.onValue = onValue }

  /// Puts a value at the end; ``send()`` hands it over.
  func put(_ value: Value) { state.withLock { $0.values.append(value) } }

  /// Delivers all values. Returns at once if another thread is delivering: that one continues.
  func send() {
    let isFirst = state.withLock { state in
      defer { state.isSending = true }
      return !state.isSending
    }
    guard isFirst else { return }
    while let value = next() { onValue(value) }
  }

  private func next() -> Value? {
    state.withLock { state in
      let value = state.values.takeFirst()
      if value == nil { state.isSending = false }
      return value
    }
  }
}
