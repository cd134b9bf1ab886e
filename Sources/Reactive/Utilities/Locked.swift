internal import Synchronization

/// State that is touched only under its lock.
///
/// It may be taken to another thread if its state may be: state that isn't `Sendable` makes its owner
/// say why that is. Nothing needs to be promised by those who only put things in and take them out.
///
/// It is a `Mutex`, and says once more what that says: that what was done before unlocking is seen
/// after locking. The thread sanitizer doesn't see into the library's mutex on Linux, and would
/// report whatever it guards; an atomic that is stored before unlocking and loaded after locking it
/// understands. Both are done under the lock and cost no more than a store and a load.
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
    // A mutex asks for proof that what goes in and out isn't shared by threads. That is for those to
    // give who take a `Locked` of such state to another thread.
    try mutex.withLock { state throws(E) in
      _ = order.load(ordering: .acquiring)
      defer { order.store(false, ordering: .releasing) }
      return UncheckedTransfer(try body(&state.value))
    }.value
  }
}

extension Locked: Sendable where State: Sendable {}
