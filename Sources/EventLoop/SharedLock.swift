internal import Synchronization

/// A lock for what a `Mutex` can't have inside it: state of several objects that changes together,
/// and values that aren't sendable but are handed out, as Foundation's run loops.
///
/// The class that has one is `@unchecked Sendable`, and says what the lock guards. It must not be
/// taken again by the thread that holds it.
public final class SharedLock: Sendable {
  // Public, though no product has this module: what has `package` access is not inlined elsewhere.

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
    // `Mutex.withLock` returns only what is sendable or disconnected.
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
