internal import AppMachines
internal import AppSessions
public import Foundation
internal import Synchronization

/// A task that runs in the background. May be used on any thread.
open class BGTask: NSObject, @unchecked Sendable {
  // Unchecked: everything that changes is guarded by `state`.

  private struct State {
    var isCompleted = false
    // Called on the queue of the launch handler, which set it.
    nonisolated(unsafe) var expirationHandler: (() -> Void)?
  }

  /// The identifier of the request.
  public let identifier: String
  private let report: @Sendable () -> Void
  private let state = Mutex(State())

  init(identifier: String, report: @escaping @Sendable () -> Void) {
    self.identifier = identifier
    self.report = report
    super.init()
  }

  /// Called shortly before the time of the task ends, on the queue of the launch handler. Without one the task ends
  /// then, without success.
  open var expirationHandler: (() -> Void)? {
    get { state.withLock { $0.expirationHandler } }
    set { state.withLock { $0.expirationHandler = newValue } }
  }

  /// Ends the task. An app that doesn't call it in time is terminated.
  open func setTaskCompleted(success: Bool) {
    let isFirst = state.withLock { state in
      state.expirationHandler = nil
      defer { state.isCompleted = true }
      return !state.isCompleted
    }
    if isFirst { report() }
  }

  func expire() {
    guard let handler = expirationHandler else { return setTaskCompleted(success: false) }
    handler()
  }
}

/// A task that refreshes the app's content: 30 seconds.
open class BGAppRefreshTask: BGTask, @unchecked Sendable {}

/// A task that processes: minutes.
open class BGProcessingTask: BGTask, @unchecked Sendable {}
