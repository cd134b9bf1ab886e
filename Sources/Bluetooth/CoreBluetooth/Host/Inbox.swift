internal import BluetoothHost
internal import Glibc
internal import Synchronization

/// Carries items from any thread to a queue, in order, one batch at a time.
final class Inbox<Item: Sendable>: Sendable {
  /// Handles a batch, but nothing more once the inbox is closed.
  typealias Handler = @Sendable ([Item]) -> Void

  private struct State: Sendable {
    var items: [Item] = []
    /// Whether a batch is on the queue or being handled.
    var isScheduled = false
    var handle: Handler?
    /// The thread that handles a batch (pthread_self(3)).
    var drainer: pthread_t?
  }

  private let state = Mutex(State())
  /// Set under the lock of `state`; read without it for every item.
  private let closed = Atomic(false)
  private let queue: DispatchQueue
  /// Entered while `isScheduled`.
  private let scheduled = DispatchGroup()
  /// Marks the queue, to see whether code runs on it.
  private let key = DispatchSpecificKey<Void>()

  /// An inbox whose items are handled on this queue.
  init(queue: DispatchQueue) {
    self.queue = queue
    queue.setSpecific(key: key, value: ())
  }

  deinit { queue.setSpecific(key: key, value: nil) }

  /// Whether the inbox was closed, perhaps by the handler itself.
  var isClosed: Bool { closed.load(ordering: .relaxed) }

  /// Hands items to `handle` from now on.
  func start(handle: @escaping Handler) {
    state.withLock { $0.handle = handle }
  }

  /// Passes an item on. What waits is bounded by the host, which holds back those who cause too much.
  func post(_ item: Item) {
    let mustSchedule = state.withLock { state in
      if isClosed { return false }
      state.items.append(item)
      guard !state.isScheduled else { return false }
      state.isScheduled = true
      scheduled.enter()
      return true
    }
    if mustSchedule { schedule() }
  }

  /// Drops what waits and takes nothing more.
  func close() {
    let dropped = state.withLock { state in
      closed.store(true, ordering: .relaxed)
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
      // On a concurrent queue another thread may be at it.
      if !isOnQueue || !drain() { scheduled.wait() }
    }
  }

  private func schedule() {
    queue.async { self.drain() }
  }

  /// Handles what there is; false if another thread does.
  @discardableResult
  private func drain() -> Bool {
    let batch = state.withLock { state -> [Item]? in
      // Another thread handles a batch, and will look again: `settle`, or one of a concurrent queue.
      guard state.drainer == nil else { return nil }
      state.drainer = pthread_self()
      defer { state.items = [] }
      return state.items
    }
    guard let batch else { return false }
    let handle = state.withLock { $0.handle }
    EventThread.run { handle?(batch) }
    let isDone = state.withLock { state in
      state.drainer = nil
      guard state.items.isEmpty else { return false }
      if state.isScheduled { scheduled.leave() }
      state.isScheduled = false
      return true
    }
    if !isDone { schedule() }
    return true
  }
}
