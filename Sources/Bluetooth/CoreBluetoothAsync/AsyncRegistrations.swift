internal import RunLoopSupport
internal import Synchronization

/// Waits for the only result of a registration. Throws `.cancelled` at once when the task is
/// cancelled.
func result<Value: Sendable>(
  _ register: (@escaping @Sendable (Result<Value, BluetoothError>) -> Void) -> ListenerRegistration
) async throws(BluetoothError) -> Value {
  let pending = PendingResult<Value>()
  let registration = ListenerRegistration()
  let outcome = await withTaskCancellationHandler {
    await withCheckedContinuation { continuation in
      guard pending.wait(continuation) else { return }
      registration.add(register { pending.resume(with: $0) })
    }
  } onCancel: {
    registration.cancel()
    pending.resume(with: .failure(.cancelled))
  }
  registration.cancel()
  return try outcome.get()
}

/// A result that one task waits for. Only the first result counts.
private final class PendingResult<Value: Sendable>: Sendable {
  typealias Outcome = Result<Value, BluetoothError>

  private enum State {
    case new
    case waiting(CheckedContinuation<Outcome, Never>)
    case over(Outcome)
  }

  private let state = Mutex(State.new)

  /// Returns false, and resumes the task, if there is a result already.
  func wait(_ continuation: CheckedContinuation<Outcome, Never>) -> Bool {
    let outcome: Outcome? = state.withLock { state in
      if case .over(let outcome) = state { return outcome }
      state = .waiting(continuation)
      return nil
    }
    if let outcome { continuation.resume(returning: outcome) }
    return outcome == nil
  }

  func resume(with outcome: Outcome) {
    let continuation: CheckedContinuation<Outcome, Never>? = state.withLock { state in
      switch state {
      case .new:
        state = .over(outcome)
        return nil
      case .waiting(let continuation):
        state = .over(outcome)
        return continuation
      case .over: return nil
      }
    }
    continuation?.resume(returning: outcome)
  }
}

extension AsyncStream where Element: Sendable {
  /// Emits the values of a registration, which lasts until the stream is released or finished.
  ///
  /// - Parameter bufferMax: The number of values that wait for a slow reader; older ones are
  ///   dropped.
  init(
    bufferMax: Int,
    _ register: (@escaping @Sendable (ListenerEvent<Element, BluetoothError>) -> Void) ->
      ListenerRegistration
  ) {
    let (stream, continuation) = AsyncStream.makeStream(
      bufferingPolicy: .bufferingNewest(bufferMax))
    let registration = ListenerRegistration()
    continuation.onTermination = { _ in registration.cancel() }
    registration.add(
      register { event in
        switch event {
        case .value(let value): continuation.yield(value)
        case .completed, .failed: continuation.finish()
        }
      })
    self = stream
  }
}

extension AsyncThrowingStream where Element: Sendable, Failure == any Error {
  /// As for `AsyncStream`. Throws the error of the registration, and ``BluetoothError/disconnected``
  /// when it completes, as the local host then ended the connection.
  init(
    bufferMax: Int,
    _ register: (@escaping @Sendable (ListenerEvent<Element, BluetoothError>) -> Void) ->
      ListenerRegistration
  ) {
    let (stream, continuation) = AsyncThrowingStream.makeStream(
      of: Element.self, bufferingPolicy: .bufferingNewest(bufferMax))
    let registration = ListenerRegistration()
    continuation.onTermination = { _ in registration.cancel() }
    registration.add(
      register { event in
        switch event {
        case .value(let value): continuation.yield(value)
        case .completed: continuation.finish(throwing: BluetoothError.disconnected(nil))
        case .failed(let error): continuation.finish(throwing: error)
        }
      })
    self = stream
  }
}

/// The bounds of the streams.
enum Limits {
  /// Discoveries that wait for a slow reader; older ones are dropped: later scans report them again.
  static let discoveriesMax = 4_096
  /// Values that wait for a slow reader; older ones are dropped.
  static let valuesMax = 16_384
  /// States and modifications that wait; more than any radio's history.
  static let statesMax = 64
}
