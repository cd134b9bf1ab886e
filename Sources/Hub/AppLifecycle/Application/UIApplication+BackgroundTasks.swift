public import Foundation
internal import AppMachines
internal import AppSessions
internal import Essentials
internal import Synchronization

/// A background task of an app.
public struct UIBackgroundTaskIdentifier: RawRepresentable, Hashable, Sendable {
  /// The number. 0 is ``invalid``.
  public let rawValue: Int

  /// Creates an identifier with a number.
  public init(rawValue: Int) { self.rawValue = rawValue }

  /// No background task.
  public static let invalid = UIBackgroundTaskIdentifier(rawValue: 0)
}

/// The older name of `UIBackgroundTaskIdentifier.invalid`.
public let UIBackgroundTaskInvalid = UIBackgroundTaskIdentifier.invalid

extension UIApplication {
  /// Begins a task that the app goes on with in the background: about 30 seconds since iOS 13, for all tasks of one
  /// time in the background together. May be called on any thread.
  ///
  /// - Parameter handler: Called on the main thread shortly before the time ends. An app that has not ended the task
  ///   by then is terminated.
  /// - Returns: The task, which is passed to ``endBackgroundTask(_:)``, or `.invalid` if there is no time.
  @discardableResult
  public nonisolated func beginBackgroundTask(
    expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil
  ) -> UIBackgroundTaskIdentifier {
    backgroundTasks.begin(handler)
  }

  /// The same with a name, which is for debuggers.
  @discardableResult
  public nonisolated func beginBackgroundTask(
    withName taskName: String?, expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil
  ) -> UIBackgroundTaskIdentifier {
    backgroundTasks.begin(handler)
  }

  /// Ends a background task. May be called on any thread; of no effect for a task that has ended.
  public nonisolated func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {
    backgroundTasks.end(identifier)
  }

  /// The time in seconds that the app may still run in the background; the largest number in the foreground.
  public var backgroundTimeRemaining: TimeInterval {
    session.backgroundTimeRemaining?.seconds ?? .greatestFiniteMagnitude
  }
}

/// The background tasks of a process, with their expiration handlers.
final class BackgroundTaskTable: Sendable {
  typealias Expiration = @MainActor @Sendable () -> Void

  private let session: AppSession
  /// Nil once the handler was called, or without one.
  private let handlers = Mutex<[AppTaskID: Expiration?]>([:])

  init(session: AppSession) { self.session = session }

  func begin(_ handler: Expiration?) -> UIBackgroundTaskIdentifier {
    var begun: AppTaskID?
    let task = session.beginBackgroundTask { task in
      begun = task
      handlers.withLock { $0[task] = .some(handler) }
    }
    guard let task else {
      if let begun { handlers.withLock { _ = $0.removeValue(forKey: begun) } }
      return .invalid
    }
    return UIBackgroundTaskIdentifier(rawValue: Int(task.rawValue))
  }

  func end(_ identifier: UIBackgroundTaskIdentifier) {
    guard identifier.rawValue > 0 else { return }
    let task = AppTaskID(rawValue: UInt64(identifier.rawValue))
    let wasBegun = handlers.withLock { $0.removeValue(forKey: task) != nil }
    if wasBegun { session.endBackgroundTask(task) }
  }

  /// Calls the expiration handler of a task, once.
  @MainActor func expire(_ task: AppTaskID) {
    let handler = handlers.withLock { handlers -> Expiration? in
      guard let handler = handlers[task] else { return nil }
      handlers[task] = .some(nil)
      return handler
    }
    handler?()
  }

  func forget() { handlers.withLock { $0 = [:] } }
}
