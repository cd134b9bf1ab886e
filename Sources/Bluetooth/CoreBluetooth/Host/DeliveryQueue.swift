internal import EventLoop
internal import Glibc
internal import Synchronization

/// Carries items from any thread to a queue, in order, one batch at a time.
final class DeliveryQueue<Item: Sendable>: Sendable {
  /// Handles a batch, but nothing more once the inbox is closed.
  typealias Handler = @Sendable ([Item]) -> Void

  /// How many batches are handled before other work of the queue gets its turn.
  private static var batchesInSuccessionMax: Int { 16 }
  /// How often the queue's thread looks for new items before other work of the queue gets its turn.
  private static var pollsInSuccessionMax: Int { 4 }

  private struct State: Sendable {
    var items: [Item] = []
    /// Whether there are items, or a batch is being handled.
    var isScheduled = false
    /// Whether a thread of the queue looks for new items, so that the queue need not be woken.
    var isPolling = false
    var busyWaitPolicy = BusyWaitPolicy()
    var handle: Handler?
    /// The thread that handles a batch (pthread_self(3)).
    var drainer: pthread_t?
  }

  private let state = Mutex(State())
  /// Set under the lock of `state`; read without it for every item.
  private let closed = Atomic(false)
  /// Set and cleared under the lock of `state`; read without it while a thread polls.
  private let hasItems = Atomic(false)
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

  /// Adds an item. The host bounds the queue: it holds back the peers that cause too many events.
  func post(_ item: Item) {
    let mustSchedule = state.withLock { state in
      if isClosed { return false }
      state.items.append(item)
      guard !state.isScheduled else { return false }
      state.isScheduled = true
      scheduled.enter()
      hasItems.store(true, ordering: .relaxed)
      return !state.isPolling
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
      // On a concurrent queue another thread may be draining.
      if !isOnQueue || !drain() { scheduled.wait() }
    }
  }

  private func schedule() {
    queue.async { self.drain() }
  }

  /// Drains the queue, including new items. Returns false if another thread is draining.
  @discardableResult
  private func drain() -> Bool {
    var pollsLeft = Self.pollsInSuccessionMax
    for _ in 0..<Self.batchesInSuccessionMax {
      guard handleBatch() else { return false }
      switch state.withLock({ handled(&$0, mayPoll: pollsLeft > 0) }) {
      case .handle: break
      case .poll:
        pollsLeft -= 1
        if !poll() { return true }
      case .sleep: return true
      case .requeue:
        schedule()
        return true
      }
    }
    schedule()
    return true
  }

  /// Handles one batch and releases it. Returns false if another thread is handling a batch, and
  /// will check for new items: `settle`, or another thread of a concurrent queue.
  private func handleBatch() -> Bool {
    let next = state.withLock { state -> (batch: [Item], handle: Handler?)? in
      guard state.drainer == nil else { return nil }
      state.drainer = pthread_self()
      hasItems.store(false, ordering: .relaxed)
      defer { state.items = [] }
      return (state.items, state.handle)
    }
    guard let next else { return false }
    EventThread.run { next.handle?(next.batch) }
    return true
  }

  private enum Continuation {
    case handle, poll, sleep
    /// Go on after other work of the queue.
    case requeue
  }

  /// A batch was handled. Call with the lock.
  private func handled(_ state: inout State, mayPoll: Bool) -> Continuation {
    state.drainer = nil
    guard state.items.isEmpty else { return .handle }
    if state.isScheduled { scheduled.leave() }
    state.isScheduled = false
    guard mayPoll else { return .requeue }
    guard !state.isPolling, state.busyWaitPolicy.shouldPoll() else { return .sleep }
    state.isPolling = true
    return .poll
  }

  /// Gives the next items a moment to come: waking the queue's thread takes longer than handling most
  /// of them does. False if none came.
  private func poll() -> Bool {
    BusyWaitPolicy.poll { hasItems.load(ordering: .relaxed) || isClosed }
    return state.withLock { state in
      state.isPolling = false
      state.busyWaitPolicy.polled(foundEvents: state.isScheduled)
      // Also if the inbox was closed since: threads that wait for the items must be released.
      return state.isScheduled
    }
  }
}
