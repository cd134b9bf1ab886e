package import AppMachines
package import Essentials

/// The system that runs an app: a simulated phone in this process, or a manager of apps over a socket.
///
/// It feeds an `AppMachine` with the reports of the process, and gives the actions of the machine that are about the
/// process to ``AppSession/receive(_:)``. All methods may be called from any thread, but not inside `receive`.
package protocol AppSystem: AnyObject, Sendable {
  /// Handles a report of the process.
  func report(_ event: AppMachine.ProcessEvent)
  /// Answers a request of the process, which waits for it.
  func request(_ request: AppRequest) -> AppReply
  /// `UIApplication.backgroundTimeRemaining`; nil in the foreground.
  var backgroundTimeRemaining: TimeSpan? { get }
  /// Hands over a duplicate of a socket, or takes one back, which the caller owns then. Waits for the answer.
  func exchange(
    _ request: HeldSocketRequest, with descriptor: Int32?
  ) -> (reply: HeldSocketReply, descriptor: Int32?)
}

extension AppSystem {
  /// A system that holds no sockets.
  package func exchange(
    _ request: HeldSocketRequest, with descriptor: Int32?
  ) -> (reply: HeldSocketReply, descriptor: Int32?) { (.refused(.unavailable), nil) }
}

/// An action of an `AppMachine` that is about one process.
package enum AppInstruction: Hashable, Codable, Sendable {
  /// Finish launching, then report `launched`. The first instruction, once.
  case start(AppLaunch)
  /// Handle these, in this order, and acknowledge each one.
  case deliver([AppDelivery])
  /// Call `applicationWillTerminate`, then report `exited`.
  case terminate
  /// Call the expiration handler of a background task.
  case expire(AppTaskID)
  /// A background task gets no time.
  case refuseBackgroundTask(AppTaskID)
  /// Call the expiration handler of a `BGTask`.
  case expireTask(AppEventID)

  /// The process and the instruction of an action; nil if the action is about something else.
  package static func of(_ action: AppMachine.Action) -> (AppProcessID, AppInstruction)? {
    switch action {
    case .start(_, let process, let launch): (process, .start(launch))
    case .deliver(let process, let deliveries): (process, .deliver(deliveries))
    case .terminate(let process): (process, .terminate)
    case .expire(let process, let task): (process, .expire(task))
    case .refuseBackgroundTask(let process, let task): (process, .refuseBackgroundTask(task))
    case .expireTask(let process, let event): (process, .expireTask(event))
    case .freeze, .thaw, .kill, .alert, .refuse, .disconnect, .release, .reportRegionStates,
      .report:
      nil
    }
  }
}

/// A wish of a process, which outlives it.
package enum AppRequest: Hashable, Codable, Sendable {
  /// `BGTaskScheduler.submit(_:)`; the reply is `done` or `refused`. One with the same identifier is replaced.
  case submitTask(AppTaskRequest)
  case cancelTask(String)
  case cancelAllTasks
  /// The reply is `tasks`.
  case pendingTasks
  /// `setMinimumBackgroundFetchInterval(_:)`, in seconds; nil for never.
  case setFetchInterval(Double?)
  /// `setKeepAliveTimeout(_:handler:)`, in seconds: an event for the receiver `keepAlive` each time it has passed.
  /// Nil clears it.
  case setKeepAliveTimeout(Double?)
  /// The reply is `granted`.
  case authorizeNotifications
  /// Whether the person has granted them; nil if the app has not requested it. The reply is `authorization`.
  case notificationAuthorization
  /// Shows a local notification when it is due; the reply is `done` or `refused`. One with the same identifier is
  /// replaced.
  case addNotification(AppNotification)
  /// Shows a notification that came while the app is in the foreground.
  case presentNotification(AppNotification)
  /// The reply is `notifications`.
  case pendingNotifications, deliveredNotifications
  /// Nil for all of the app.
  case removePendingNotifications([String]?)
  case removeDeliveredNotifications([String]?)
  /// The reply is `deviceToken`, or `refused`.
  case registerForRemoteNotifications
  case unregisterForRemoteNotifications
  case setBadge(Int)
  /// The reply is `regions`; `refused` where regions are not kept for apps.
  case regions(AppRegionRequest)
}

extension AppRequest {
  /// The reply of a system that has no tasks and no notifications.
  package var replyWithoutSystem: AppReply {
    switch self {
    case .pendingTasks: .tasks([])
    case .pendingNotifications, .deliveredNotifications: .notifications([])
    case .authorizeNotifications: .granted(false)
    case .notificationAuthorization: .authorization(false)
    case .cancelTask, .cancelAllTasks, .setFetchInterval, .removePendingNotifications,
      .removeDeliveredNotifications, .unregisterForRemoteNotifications:
      .done
    case .submitTask, .setKeepAliveTimeout, .addNotification, .presentNotification,
      .registerForRemoteNotifications, .setBadge, .regions:
      .refused(.unavailable)
    }
  }
}

package enum AppReply: Hashable, Codable, Sendable {
  case done
  case refused(AppRefusal)
  case granted(Bool)
  case authorization(Bool?)
  case tasks([AppTaskRequest])
  case notifications([AppNotification])
  case deviceToken([UInt8])
  case regions(AppRegionReply)
}

/// Why a request had no effect.
package enum AppRefusal: Hashable, Codable, Sendable {
  /// No system runs the app, or it doesn't do that.
  case unavailable
  case tooManyPendingTasks
  case notPermitted
}

/// `BGTaskRequest`.
package struct AppTaskRequest: Hashable, Codable, Sendable {
  package enum Kind: Hashable, Codable, Sendable {
    case refresh
    case processing(needsNetwork: Bool, needsPower: Bool)
  }

  /// Apple's maximum number of pending requests of each kind.
  package static let refreshCountMax = 1
  package static let processingCountMax = 10

  package var identifier: String
  package var kind: Kind
  /// Not before this time of the wall's clock, in seconds since 1970; nil if at any time.
  package var earliestBegin: Double?

  package init(_ identifier: String, _ kind: Kind, earliestBegin: Double? = nil) {
    self.identifier = identifier
    self.kind = kind
    self.earliestBegin = earliestBegin
  }

  /// The event with which the process gets it: the payload is the identifier in UTF-8.
  package var event: AppEvent {
    let kind: AppEvent.Kind = if case .refresh = kind { .refresh } else { .processing }
    return AppEvent(kind, for: .tasks, payload: Array(identifier.utf8))
  }

  /// The event of a background fetch, `application(_:performFetchWithCompletionHandler:)`.
  package static let fetchEvent = AppEvent(.refresh, for: .tasks)
}
