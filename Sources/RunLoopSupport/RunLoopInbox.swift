internal import EventLoop
package import Foundation

/// Hands items over on the run loops on which its owner is scheduled, one after the other. What
/// comes while none of them runs waits.
package final class RunLoopInbox<Item: Sendable>: @unchecked Sendable {
  // Unchecked: what changes is guarded by `lock`.

  private let lock = SharedLock()
  private var items: ArraySlice<Item> = []
  private var sources: [RunLoopSource] = []
  private var onItem: (@Sendable (Item) -> Void)?
  private let add: @Sendable (Item, inout ArraySlice<Item>) -> Void

  /// - Parameter add: Puts a new item to those that wait, at best so that they never become too many.
  ///   Called with a lock held.
  package init(
    adding add: @escaping @Sendable (_ new: Item, _ waiting: inout ArraySlice<Item>) -> Void
  ) { self.add = add }

  deinit { for source in sources { source.invalidate() } }

  /// Sets the closure that is called with each item, on the run loop.
  package func onItem(_ call: @escaping @Sendable (Item) -> Void) {
    lock.withLock { onItem = call }
  }

  /// Puts an item to those that wait, from any thread.
  package func post(_ new: Item) {
    let sources = lock.withLock {
      add(new, &items)
      return self.sources
    }
    for source in sources { source.signal() }
  }

  /// Hands over on this run loop, too, while it runs in that mode.
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

  /// Whether it hands over anywhere.
  package var isScheduled: Bool { lock.withLock { !sources.isEmpty } }

  /// Hands over no more on this run loop in that mode.
  package func remove(from runLoop: RunLoop, forMode mode: RunLoop.Mode) {
    let removed = lock.withLock {
      let removed = sources.filter { $0.isIn(runLoop, mode) }
      sources.removeAll { $0.isIn(runLoop, mode) }
      return removed
    }
    for source in removed { source.invalidate() }
  }

  /// Hands over what waits, if this thread's run loop is one of its owner's.
  package func deliverOnCurrentLoop() {
    let current = RunLoop.current
    let source = lock.withLock { sources.first { $0.isIn(current) } }
    guard let source else { return }
    let reference = SourceReference()
    reference.source = source
    deliver(on: reference)
  }

  private func deliver(on reference: SourceReference) {
    while let (item, onItem) = next(on: reference) { onItem(item) }
  }

  /// The next item, unless the owner was taken off the run loop meanwhile.
  private func next(on reference: SourceReference) -> (Item, @Sendable (Item) -> Void)? {
    lock.withLock {
      guard let source = reference.source, sources.contains(where: { $0 === source }),
        let onItem, let item = items.takeFirst()
      else { return nil }
      return (item, onItem)
    }
  }

  /// What a source's own call knows it by.
  private final class SourceReference: @unchecked Sendable {
    // Unchecked: used under the inbox's lock.
    weak var source: RunLoopSource?
  }
}
