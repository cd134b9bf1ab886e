internal import Synchronization

/// State that is touched only under its lock.
///
/// It is a `Mutex`, and says once more what that says: that what was done before unlocking is seen
/// after locking. The thread sanitizer doesn't see into the library's mutex on Linux, and would
/// report whatever it guards; an atomic that is stored before unlocking and loaded after locking it
/// understands. Both are done under the lock and cost no more than a store and a load.
struct Locked<State: ~Copyable>: ~Copyable, Sendable {
  private let mutex: Mutex<State>
  private let order = Synchronization.Atomic(false)

  init(_ state: consuming sending State) {
    mutex = Mutex(state)
  }

  /// Calls `body` with the state, under the lock: it must not call out to unknown code.
  @inline(__always)
  borrowing func withLock<Result: ~Copyable, E: Error>(
    _ body: (inout sending State) throws(E) -> sending Result
  ) throws(E) -> sending Result {
    try mutex.withLock { state throws(E) in
      _ = order.load(ordering: .acquiring)
      defer { order.store(false, ordering: .releasing) }
      return try body(&state)
    }
  }
}
