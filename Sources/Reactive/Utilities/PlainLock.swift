internal import Synchronization

/// A lock for state that can't be wrapped in a `Mutex`: generic state on a hot path, where each
/// wrapper is another type whose metadata has to be looked up at run time.
struct PlainLock: ~Copyable, Sendable {
  private let mutex = Mutex<Void>(())

  @inline(__always)
  func lock() { mutex._unsafeLock() }

  @inline(__always)
  func unlock() { mutex._unsafeUnlock() }
}
