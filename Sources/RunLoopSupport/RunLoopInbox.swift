internal import EventLoop
package import Foundation

/// A queue that delivers items on the run loops on which its owner is scheduled, serially. Items
/// are kept while none of these run loops runs.
package final class RunLoopInbox<Item: Sendable>: @unchecked Sendable {
  // Unchecked: what changes is guarded by `lock`.

  private let lock = SharedLock()
  private var items: ArraySlice<Item> = []
  /// How many items are being delivered.
  private var deliveringCount = 0
  private var sources: [RunLoopSource] = []
  private var onItem: (@Sendable (Item) -> Void)?
  /// Whether a thread that waits for the owner's delegate waits for the main queue.
  private var isOnMainQueue = false
  private let add: @Sendable (Item, inout ArraySlice<Item>) -> Void

  /// - Parameter add: Appends a new item to the pending ones. It should limit their number. Called
  ///   with a lock held.
  package init(
    adding add: @escaping @Sendable (_ new: Item, _ waiting: inout ArraySlice<Item>) -> Void
  ) { self.add = add }

  deinit { for source in sources { source.invalidate() } }

  /// Sets the closure that is called with each item, on the run loop.
  package func onItem(_ call: @escaping @Sendable (Item) -> Void) {
    lock.withLock { onItem = call }
  }

  /// Enqueues an item, from any thread.
  package func post(_ new: Item) {
    let sources = lock.withLock {
      add(new, &items)
      return self.sources
    }
    for source in sources { source.signal() }
  }

  /// Adds a run loop on which items are delivered while it runs in the mode.
  package func schedule(in runLoop: RunLoop, forMode mode: RunLoop.Mode) {
    let isKnown = lock.withLock { sources.contains { $0.isIn(runLoop, mode) } }
    guard !isKnown else { return }
    let reference = SourceReference()
    let source = RunLoopSource(runLoop: runLoop, mode: mode) { [weak self] in
      self?.deliver(on: reference)
    }
    lock.withLock {
      reference.source = source
      sources.append(source)
    }
    source.signal()
  }

  /// Adds the run loop on which an object calls its delegate that is created here.
  package func scheduleForDelegate() {
    let isOfPool = RunLoop.isOfPool
    lock.withLock { isOnMainQueue = isOfPool }
    schedule(in: .ofDelegates, forMode: .default)
  }

  /// Whether it is scheduled on any run loop.
  package var isScheduled: Bool { lock.withLock { !sources.isEmpty } }

  /// Removes a run loop in a mode.
  package func remove(from runLoop: RunLoop, forMode mode: RunLoop.Mode) {
    let removed = lock.withLock {
      let removed = sources.filter { $0.isIn(runLoop, mode) }
      sources.removeAll { $0.isIn(runLoop, mode) }
      return removed
    }
    for source in removed { source.invalidate() }
  }

  /// Delivers the pending items, if the owner is scheduled on this thread's run loop. Waits for the
  /// main queue to deliver them, if the owner was created in a task. Returns at once otherwise: a
  /// thread with a run loop of its own can't be waited for.
  package func settle() {
    let loop = MainQueue.isCurrent ? RunLoop.main : .current
    let (source, mustWait) = lock.withLock {
      (sources.first { $0.isIn(loop) }, isOnMainQueue && (deliveringCount > 0 || !items.isEmpty))
    }
    if let source {
      let reference = SourceReference()
      reference.source = source
      deliver(on: reference)
    } else if mustWait {
      DispatchQueue.main.sync { settle() }
    }
  }

  private func deliver(on reference: SourceReference) {
    while let (item, onItem) = next(on: reference) {
      onItem(item)
      lock.withLock { deliveringCount -= 1 }
    }
  }

  /// The next item, unless the owner was taken off the run loop meanwhile.
  private func next(on reference: SourceReference) -> (Item, @Sendable (Item) -> Void)? {
    lock.withLock {
      guard let source = reference.source, sources.contains(where: { $0 === source }),
        let onItem, let item = items.takeFirst()
      else { return nil }
      deliveringCount += 1
      return (item, onItem)
    }
  }

  /// What a source's own call knows it by.
  private final class SourceReference: @unchecked Sendable {
    // Unchecked: used under the inbox's lock.
    weak var source: RunLoopSource?
  }
}
