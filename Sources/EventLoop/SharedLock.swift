internal import Synchronization

/// A lock for state that a `Mutex` can't contain: state of several objects that changes together,
/// and values that aren't sendable but are handed out, such as Foundation's run loops.
///
/// A class with such a lock is `@unchecked Sendable`, and documents the guarded state. The lock
/// isn't recursive.
public final class SharedLock: Sendable {
  // Public, though no product has this module. Functions of a `package` type are inlined in other modules only
  // where the type is `@usableFromInline` (docs/decisions/0303).

  private let mutex = Mutex<Void>(())
  /// Changes with the lock held: the thread sanitizer knows atomics, but not the futex of `Mutex`.
  private let order = Atomic(false)

  package init() {}

  /// Calls `body` with the lock held, from any thread.
  // Inlined, because apps read and write through it for each value that they send or get.
  @inlinable @inline(__always)
  package func withLock<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // `Mutex.withLock` returns only sendable or disconnected values.
    lock()
    defer { unlock() }
    return try body()
  }

  @usableFromInline
  func lock() {
    mutex._unsafeLock()
    _ = order.load(ordering: .acquiring)
  }

  @usableFromInline
  func unlock() {
    order.store(false, ordering: .releasing)
    mutex._unsafeUnlock()
  }
}
