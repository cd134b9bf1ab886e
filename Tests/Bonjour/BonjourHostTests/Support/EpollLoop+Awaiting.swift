import EventLoop

extension EpollLoop {
  /// Does something on the loop and gives what comes of it.
  func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result
  {
    try await withCheckedThrowingContinuation { continuation in
      execute { continuation.resume(with: .init(catching: body)) }
    }
  }

  /// Makes something on the loop that is used there only.
  func make<Value>(_ body: @escaping @Sendable () throws -> Value) async throws -> OnLoop<Value> {
    try await run { OnLoop(value: try body()) }
  }
}

/// A value that is used on one loop only, and passed around elsewhere.
struct OnLoop<Value>: @unchecked Sendable {
  // Sendable because only work on the loop looks inside.
  let value: Value
}
