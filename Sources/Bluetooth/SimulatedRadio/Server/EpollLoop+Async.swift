import EventLoop

extension EpollLoop {
  /// Runs something on the loop, after work that was handed over before, and returns its result.
  func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      execute { continuation.resume(returning: body()) }
    }
  }
}
