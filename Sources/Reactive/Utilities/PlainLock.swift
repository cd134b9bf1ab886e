internal import Synchronization

/// A lock for state that can't be wrapped in a `Mutex`: generic state on a hot path, where each
/// wrapper is another type whose metadata has to be looked up at run time.
struct PlainLock: ~Copyable, Sendable {
  private let mutex = Mutex<Void>(())

  /// Says once more what the mutex says: that what was done before unlocking is seen after locking.
  /// The thread sanitizer doesn't see into the library's mutex, and would report what it guards.
  private let order = Synchronization.Atomic(false)

  @inline(__always)
  func lock() {
    mutex._unsafeLock()
    _ = order.load(ordering: .acquiring)
  }

  @inline(__always)
  func unlock() {
    order.store(false, ordering: .releasing)
    mutex._unsafeUnlock()
  }
}
