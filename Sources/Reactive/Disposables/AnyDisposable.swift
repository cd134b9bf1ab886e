import Synchronization

/// A disposable that runs a closure, forwards to another disposable, or only remembers its
/// disposal.
public final class AnyDisposable: Disposable {
  private let hasBeenDisposed = Synchronization.Atomic(false)

  // Touched by the initialiser and then only by the one caller of `dispose()` that turned
  // `hasBeenDisposed` from false to true.
  nonisolated(unsafe) private var action: (@Sendable () -> Void)?

  /// The disposable that this one forwards to; nil if it has a state of its own.
  private let base: (any Disposable)?

  /// Whether ``dispose()`` has been called, or, if this forwards to another disposable, whether
  /// that one is disposed.
  public var isDisposed: Bool {
    base?.isDisposed ?? hasBeenDisposed.load(ordering: .acquiring)
  }

  /// A disposable that runs `action` when it is disposed, and then forgets it.
  ///
  /// The action runs on the thread that disposes.
  @available(swift 6)
  public init(_ action: @escaping @Sendable () -> Void) {
    self.action = action
    self.base = nil
  }

  /// A disposable without an action, which only records whether it was disposed.
  public init() {
    self.action = nil
    self.base = nil
  }

  /// A disposable that forwards to `disposable`.
  public init(_ disposable: any Disposable) {
    self.action = nil
    self.base = disposable
  }

  /// Runs the action, or disposes of the disposable that this one forwards to.
  public func dispose() {
    if let base {
      base.dispose()
    } else if !hasBeenDisposed.exchange(true, ordering: .acquiringAndReleasing) {
      // What the action captured must not outlive its run.
      let action = self.action.take()
      action?()
    }
  }
}
