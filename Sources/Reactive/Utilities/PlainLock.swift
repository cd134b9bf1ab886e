internal import Synchronization

/// A lock for state that can't be ``Locked``: generic state on a hot path, where each wrapper is
/// another type whose metadata has to be looked up at run time.
///
/// `Mutex` offers locking and unlocking by themselves under an underscored name only. By closures
/// `debounce` and `throttle` cost a third more, since what the closures return is a type, too.
struct PlainLock: ~Copyable, Sendable {
  private let mutex = Mutex<Void>(())

  /// What ``Locked`` has it for.
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
