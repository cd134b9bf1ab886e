internal import BluetoothHost
internal import Glibc
internal import Synchronization

/// Carries items from any thread to a queue, in order, in batches, one handler call at a time.
final class Inbox<Item: Sendable>: Sendable {
  private struct State: Sendable {
    var items: [Item] = []
    /// Whether a batch is on the queue or being handled.
    var isScheduled = false
    /// Expendable items that were dropped since the last batch began.
    var droppedCount = 0
    var handle: (@Sendable (Item) -> Void)?
    /// The thread that handles a batch (pthread_self(3)).
    var drainer: pthread_t?
  }

  private let state = Mutex(State())
  /// Set under the lock of `state`; read without it for every item.
  private let isClosed = Atomic(false)
  private let queue: DispatchQueue
  private let onDrop: @Sendable (Int) -> Void
  /// Tells on which queue one is.
  private let key = DispatchSpecificKey<Void>()

  /// - Parameters:
  ///   - queue: Where items are handled.
  ///   - onDrop: Called on the queue before the next batch, with the number of expendable items that
  ///     were dropped because too many waited.
  init(queue: DispatchQueue, onDrop: @escaping @Sendable (Int) -> Void = { _ in }) {
    self.queue = queue
    self.onDrop = onDrop
    queue.setSpecific(key: key, value: ())
  }

  deinit { queue.setSpecific(key: key, value: nil) }

  /// Hands items to `handle` from now on.
  func start(handle: @escaping @Sendable (Item) -> Void) {
    state.withLock { $0.handle = handle }
  }

  /// Passes an item on; if `isExpendable` and too many wait already, drops and counts it.
  func post(_ item: Item, isExpendable: Bool = false) {
    let mustSchedule = state.withLock { state in
      if isClosed.load(ordering: .relaxed) { return false }
      if isExpendable, state.items.count >= Limits.waitingEventsMax {
        state.droppedCount += 1
        return false
      }
      state.items.append(item)
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if mustSchedule { schedule() }
  }

  /// Drops what waits and takes nothing more.
  func close() {
    let dropped = state.withLock { state in
      isClosed.store(true, ordering: .relaxed)
      defer { state.items = [] }
      return state.items
    }
    _ = dropped  // released outside the lock: items may hold the last reference to objects
  }

  /// Returns when everything that was posted before was handled; at once where the handler itself
  /// calls it. On the queue itself, which cannot be waited for there, handles it.
  func settle() {
    let caller = pthread_self()
    let isOnQueue = DispatchQueue.getSpecific(key: key) != nil
    while state.withLock({ $0.isScheduled && $0.drainer != caller }) {
      if isOnQueue { drain() } else { queue.sync {} }
    }
  }

  private func schedule() {
    queue.async { self.drain() }
  }

  private func drain() {
    let taken = state.withLock { state -> (batch: [Item], droppedCount: Int)? in
      // Another thread handles a batch, and will look again: `settle`, or one of a concurrent queue.
      guard state.drainer == nil else { return nil }
      state.drainer = pthread_self()
      defer { (state.items, state.droppedCount) = ([], 0) }
      return (state.items, state.droppedCount)
    }
    guard let taken else { return }
    if taken.droppedCount > 0 { onDrop(taken.droppedCount) }
    let handle = state.withLock { $0.handle }
    EventThread.run {
      for item in taken.batch {
        if isClosed.load(ordering: .relaxed) { break }
        handle?(item)
      }
    }
    let isDone = state.withLock { state in
      state.drainer = nil
      if state.items.isEmpty { state.isScheduled = false }
      return state.items.isEmpty
    }
    if !isDone { schedule() }
  }
}
