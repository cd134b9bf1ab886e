internal import EventLoop
internal import RunLoopSupport

/// Hands notices over to a manager, on its thread's run loop or on a queue, one after the other.
///
/// What waits is bounded by `DelegateCall.add(to:)`, also where the run loop never runs.
final class DelegateQueue: @unchecked Sendable {
  // Unchecked: what changes is guarded by `lock`.

  typealias Handler = @Sendable (DelegateCall) -> Void

  private enum Target {
    case runLoop(RunLoopInbox<DelegateCall>)
    case queue(DispatchQueue)
  }

  private let lock = SharedLock()
  private let target: Target
  // Of a queue only.
  private var waiting: ArraySlice<DelegateCall> = []
  private var isScheduled = false
  private var isClosed = false
  private var isServed = false
  private var handler: Handler?
  private let key = DispatchSpecificKey<Void>()

  /// - Parameter queue: The queue; nil for the run loop of the calling thread, or for the main queue
  ///   in a task.
  init(queue: DispatchQueue?) {
    if let queue {
      target = .queue(queue)
      queue.setSpecific(key: key, value: ())
    } else {
      let inbox = RunLoopInbox<DelegateCall> { $0.add(to: &$1) }
      target = .runLoop(inbox)
      inbox.scheduleForDelegate()
    }
  }

  deinit {
    if case .queue(let queue) = target { queue.setSpecific(key: key, value: nil) }
  }

  /// Sets the handler, which is called on the run loop or queue.
  func onNotice(_ handler: @escaping Handler) {
    let handler: Handler = { [weak self] notice in
      self?.served()
      handler(notice)
    }
    switch target {
    case .runLoop(let inbox): inbox.onItem { notice in EventThread.run { handler(notice) } }
    case .queue: lock.withLock { self.handler = handler }
    }
  }

  private func served() { lock.withLock { isServed = true } }

  /// Whether nothing has been handled yet: the run loop doesn't run, or the queue is blocked.
  var isUnserved: Bool { lock.withLock { !isServed && !isClosed } }

  /// Puts a notice to those that wait, from any thread.
  func post(_ notice: DelegateCall) {
    switch target {
    case .runLoop(let inbox): inbox.post(notice)
    case .queue(let queue):
      let isFirst = lock.withLock {
        guard !isClosed else { return false }
        notice.add(to: &waiting)
        defer { isScheduled = true }
        return !isScheduled
      }
      if isFirst { queue.async { self.drain() } }
    }
  }

  /// Drops what waits and takes nothing more.
  func close() {
    let dropped = lock.withLock {
      isClosed = true
      defer { waiting = [] }
      return waiting
    }
    _ = dropped  // Released outside the lock: notices hold objects of the app.
  }

  /// Returns after the notices that were posted before were handled; at once if the run loop belongs
  /// to another thread, which can't be waited for.
  func settle() {
    switch target {
    case .runLoop(let inbox): inbox.settle()
    case .queue(let queue):
      guard lock.withLock({ isScheduled }) else { return }
      if DispatchQueue.getSpecific(key: key) != nil { drain() } else { queue.sync { drain() } }
    }
  }

  private func drain() {
    EventThread.run { while let (notice, handler) = next() { handler(notice) } }
  }

  private func next() -> (DelegateCall, Handler)? {
    lock.withLock {
      guard !isClosed, let handler, let notice = waiting.takeFirst() else {
        isScheduled = false
        return nil
      }
      return (notice, handler)
    }
  }
}
