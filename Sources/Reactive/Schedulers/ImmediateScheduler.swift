/// Performs work at once, on the caller's thread.
public final class ImmediateScheduler: Scheduler {
  /// Creates an immediate scheduler.
  public init() {}

  /// Performs the work before returning.
  ///
  /// - Returns: Nil, because the work is already done and can't be cancelled.
  @preconcurrency
  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> (any Disposable)? {
    action()
    return nil
  }
}
