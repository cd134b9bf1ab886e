internal import RunLoopSupport
internal import Synchronization

/// Hands values over one after the other, in the order in which they were put in, and with no lock
/// held: whoever gets one may do anything, also have more put in.
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

  /// Hands over what was put in, unless that is being done already: then the one who does it goes on.
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
