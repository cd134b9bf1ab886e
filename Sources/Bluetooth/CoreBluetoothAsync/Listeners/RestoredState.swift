package import RunLoopSupport
internal import Synchronization

/// The state that a manager has of an earlier process of the app, reported to each observer once,
/// also to those that begin after the manager has got it.
package final class RestoredState<State: Sendable>: Sendable {
  private let state = Mutex<State?>(nil)
  private let observers = EventObservers<State>()

  /// Creates an object without a state.
  package init() {}

  /// Reports the state to the observers, on this thread.
  package func send(_ state: State) {
    self.state.withLock { $0 = state }
    observers.send(state)
  }

  /// Adds an observer, until the registration is cancelled.
  package func observe(_ observer: @escaping @Sendable (State) -> Void) -> ListenerRegistration {
    let isReported = Mutex(false)
    let report: @Sendable (State) -> Void = { state in
      let isFirst = isReported.withLock { isReported in
        defer { isReported = true }
        return !isReported
      }
      if isFirst { observer(state) }
    }
    let registration = observers.add(report)
    if let state = state.withLock({ $0 }) { report(state) }
    return registration
  }
}
