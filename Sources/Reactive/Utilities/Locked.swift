internal import Synchronization

/// State that is accessed only under its lock.
///
/// `Sendable` if the state is: an owner with other state must justify why it may be taken to
/// another thread. Code that only puts values in and takes them out needs no justification.
///
/// It is a `Mutex` with an additional atomic, because the thread sanitizer doesn't see into the
/// library's mutex on Linux, and would report races on the guarded state. It does understand an
/// atomic that is stored before unlocking and loaded after locking. Both are done under the lock
/// and cost no more than a store and a load.
struct Locked<State>: ~Copyable {
  private let mutex: Mutex<UncheckedTransfer<State>>
  private let order = Synchronization.Atomic(false)

  init(_ state: State) {
    mutex = Mutex(UncheckedTransfer(state))
  }

  /// Calls `body` with the state, under the lock: it must not call out to unknown code.
  @inline(__always)
  borrowing func withLock<Result, E: Error>(
    _ body: (inout State) throws(E) -> Result
  ) throws(E) -> Result {
    // A mutex requires proof that values going in and out aren't shared by threads. Here that is up
    // to the code that takes a `Locked` of such state to another thread.
    try mutex.withLock { state throws(E) in
      _ = order.load(ordering: .acquiring)
      defer { order.store(false, ordering: .releasing) }
      return UncheckedTransfer(try body(&state.value))
    }.value
  }
}

extension Locked: Sendable where State: Sendable {}
