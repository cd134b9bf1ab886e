internal import Synchronization

/// A source of values that runs until the object that `start` returned is released.
package struct Feed<Value: Sendable, Failure: Error>: Sendable {
  /// Starts the feed. The callback is called on any thread, serially; a failure is the last call.
  package let start:
    @Sendable (_ notify: @escaping @Sendable (Result<Value, Failure>) -> Void) -> any Sendable
      & AnyObject

  init(
    start:
      @escaping @Sendable (
        _ notify: @escaping @Sendable (Result<Value, Failure>) -> Void
      ) -> any Sendable & AnyObject
  ) { self.start = start }

  /// The values as a sequence. Of values that were not consumed yet only the latest is kept, unless
  /// `keepingAll` is true. The feed ends when the sequence is released or its task is cancelled.
  func values(keepingAll: Bool = false) -> AsyncThrowingStream<Value, any Error> {
    AsyncThrowingStream(bufferingPolicy: keepingAll ? .unbounded : .bufferingNewest(1)) {
      continuation in
      let held = Holder(
        start { result in
          switch result {
          case .success(let value): continuation.yield(value)
          case .failure(let error): continuation.finish(throwing: error)
          }
        })
      continuation.onTermination = { _ in held.release() }
    }
  }

  /// Awaits the first value for which `isEnough` returns true.
  ///
  /// - Parameters:
  ///   - seconds: How long to wait.
  ///   - timeout: The error that is thrown after that time.
  func first(
    within seconds: Double, _ discovery: any DiscoveryProvider, orThrow timeout: Failure,
    where isEnough: @escaping @Sendable (Value) -> Bool
  ) async throws -> Value {
    let limited = Feed { notify in
      let source = start { result in
        switch result {
        case .success(let value): if isEnough(value) { notify(.success(value)) }
        case .failure: notify(result)
        }
      }
      return Pair(source, discovery.after(seconds: seconds) { notify(.failure(timeout)) })
    }
    for try await value in limited.values() { return value }
    throw CancellationError()
  }
}

/// Holds an object until `release` is called.
private final class Holder: Sendable {
  private let value: Mutex<(any Sendable & AnyObject)?>

  init(_ value: any Sendable & AnyObject) { self.value = Mutex(value) }

  func release() {
    let old = value.withLock { value in
      defer { value = nil }
      return value
    }
    withExtendedLifetime(old) {}
  }
}

/// Two things that are held together.
private final class Pair: Sendable {
  private let both: (any Sendable & AnyObject, any Sendable & AnyObject)

  init(_ one: any Sendable & AnyObject, _ other: any Sendable & AnyObject) { both = (one, other) }
}
