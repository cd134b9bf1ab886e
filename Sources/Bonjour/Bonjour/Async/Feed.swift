internal import Synchronization

/// Something that is told of again and again, for as long as what `start` returned is held.
package struct Feed<Value: Sendable, Failure: Error>: Sendable {
  /// Begins to tell, from any thread, one after the other; after a failure nothing more.
  package let start:
    @Sendable (_ tell: @escaping @Sendable (Result<Value, Failure>) -> Void) -> any Sendable
      & AnyObject

  init(
    start:
      @escaping @Sendable (
        _ tell: @escaping @Sendable (Result<Value, Failure>) -> Void
      ) -> any Sendable & AnyObject
  ) { self.start = start }

  /// What is told, as a sequence: of what was not taken yet only the latest, unless all is to be
  /// kept. The sequence ends the feed when it is let go of or its task is cancelled.
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

  /// The first value that will do.
  ///
  /// - Parameters:
  ///   - seconds: For how long to wait.
  ///   - timeout: What is thrown after that.
  func first(
    within seconds: Double, _ discovery: any Discovery, orThrow timeout: Failure,
    where isEnough: @escaping @Sendable (Value) -> Bool
  ) async throws -> Value {
    let limited = Feed { tell in
      let source = start { result in
        switch result {
        case .success(let value): if isEnough(value) { tell(.success(value)) }
        case .failure: tell(result)
        }
      }
      return Pair(source, discovery.after(seconds: seconds) { tell(.failure(timeout)) })
    }
    for try await value in limited.values() { return value }
    throw CancellationError()
  }
}

/// Holds something until it is told to let go.
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
