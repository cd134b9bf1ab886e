internal import Synchronization

/// Work that runs at most once, unless it is disposed of before it begins.
final class ScheduledAction: Disposable {
  private enum Phase {
    static let waiting: UInt8 = 0
    static let begun: UInt8 = 1
    static let disposed: UInt8 = 2
  }

  private let phase = Synchronization.Atomic<UInt8>(Phase.waiting)

  // Touched by the initialiser and then only by the one thread that took `phase` out of waiting.
  nonisolated(unsafe) private var action: (@Sendable () -> Void)?

  /// Nil but in a ``TimerQueue``, guarded by what guards that.
  nonisolated(unsafe) var turn: TimerQueue.Turn?

  var isDisposed: Bool { phase.load(ordering: .acquiring) == Phase.disposed }

  init(_ action: @escaping @Sendable () -> Void) {
    self.action = action
  }

  /// Performs the work, unless it has begun or has been disposed of.
  func run() {
    let (isMine, _) = phase.compareExchange(
      expected: Phase.waiting, desired: Phase.begun, ordering: .acquiringAndReleasing)
    guard isMine else { return }
    let action = self.action.take()
    action?()
  }

  func dispose() {
    if phase.exchange(Phase.disposed, ordering: .acquiringAndReleasing) == Phase.waiting {
      action = nil
    }
  }
}
