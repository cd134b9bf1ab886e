internal import Dispatch
internal import Synchronization

/// Performs work on the main queue, at once where that keeps the order.
///
/// Called on the main queue while none of its work is waiting, it performs the work before it
/// returns. Otherwise the work waits its turn, so that the order is always that of scheduling. Use
/// ``QueueScheduler/main`` to perform all work asynchronously. A block that is put on the main queue
/// directly may run before work that was scheduled earlier, see ``QueueScheduler``.
public final class UIScheduler: Scheduler {
  private static let mainQueueMark: DispatchSpecificKey<Void> = {
    let key = DispatchSpecificKey<Void>()
    DispatchQueue.main.setSpecific(key: key, value: ())
    return key
  }()

  /// Pieces of work that wait or are being performed.
  private let unfinishedCount = Synchronization.Atomic(0)

  /// A scheduler that keeps order among its own work.
  public init() {
    _ = Self.mainQueueMark
  }

  /// Performs the work at once if that is possible and keeps order, else enqueues it on the main
  /// queue.
  ///
  /// - Returns: A disposable that cancels the work if it has not begun; nil if it has been
  ///   performed.
  @preconcurrency
  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> (any Disposable)? {
    let isFirst = unfinishedCount.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue == 0
    if isFirst, DispatchQueue.getSpecific(key: Self.mainQueueMark) != nil {
      action()
      unfinishedCount.wrappingSubtract(1, ordering: .acquiringAndReleasing)
      return nil
    }
    let scheduled = ScheduledAction(action)
    // In its batches, between which others get their turn.
    QueueScheduler.main.schedule {
      scheduled.run()
      self.unfinishedCount.wrappingSubtract(1, ordering: .acquiringAndReleasing)
    }
    return scheduled
  }
}
