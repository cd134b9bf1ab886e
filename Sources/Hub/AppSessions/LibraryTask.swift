internal import AppMachines
internal import Synchronization

/// A background task of a library, which lets the app run for something that is due soon. It ends at its expiration by
/// itself, so that the app is not ended for it.
package final class LibraryTask: Sendable {
  private enum State: Sendable {
    case beginning
    case begun(AppTaskID)
    case ended
  }

  private let session: AppSession
  private let state = Mutex(State.beginning)

  /// Begins the task. Without time for it, it has ended.
  package init(_ session: AppSession) {
    self.session = session
    let task = session.beginBackgroundTask(expiration: { [weak self] in self?.end() })
    let isBegun = state.withLock { state in
      // It may have expired while it began.
      guard case .beginning = state, let task else { return false }
      state = .begun(task)
      return true
    }
    if !isBegun, let task { session.endBackgroundTask(task) }
  }

  deinit { end() }

  /// Ends the task, once.
  package func end() {
    let old = state.withLock { state in
      defer { state = .ended }
      return state
    }
    if case .begun(let task) = old { session.endBackgroundTask(task) }
  }
}
