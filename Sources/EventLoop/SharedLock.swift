internal import Synchronization

/// A lock for what a `Mutex` can't have inside it: state of several objects that changes together,
/// and values that aren't sendable but are handed out, as Foundation's run loops.
///
/// The class that has one is `@unchecked Sendable`, and says what the lock guards. It must not be
/// taken again by the thread that holds it.
package final class SharedLock: Sendable {
  private let mutex = Mutex<Void>(())
  /// Changes with the lock held: the thread sanitizer knows atomics, but not the futex of `Mutex`.
  private let order = Atomic(false)

  package init() {}

  /// Calls `body` with the lock held, from any thread.
  @inline(__always)
  package func withLock<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // `Mutex.withLock` returns only what is sendable or disconnected.
    mutex._unsafeLock()
    _ = order.load(ordering: .acquiring)
    defer {
      order.store(false, ordering: .releasing)
      mutex._unsafeUnlock()
    }
    return try body()
  }
}
