import AppSessions
import Essentials

/// What an app has requested of its phone besides Core Bluetooth. It outlives the app's processes.
struct AppWishes {
  /// The maximum number of notifications, each pending and delivered.
  static let notificationCountMax = 64

  struct Pending {
    var notification: AppNotification
    var timer: any LoopTimer
  }

  var tasks: [AppTaskRequest] = []
  /// By their identifiers.
  var pending: [String: Pending] = [:]
  var delivered: [AppNotification] = []
  var keepAlive: (any LoopTimer)?
  var mayNotify: Bool?
  var badge = 0

  /// `BGTaskScheduler.submit(_:)`.
  mutating func submit(_ task: AppTaskRequest, permitted: [String]) -> AppReply {
    guard permitted.contains(task.identifier) else { return .refused(.notPermitted) }
    tasks.removeAll { $0.identifier == task.identifier }
    let count = tasks.count { $0.isRefresh == task.isRefresh }
    let limit =
      task.isRefresh ? AppTaskRequest.refreshCountMax : AppTaskRequest.processingCountMax
    guard count < limit else { return .refused(.tooManyPendingTasks) }
    tasks.append(task)
    return .done
  }

  /// A task that is launched.
  mutating func takeTask(_ identifier: String) -> AppTaskRequest? {
    guard let index = tasks.firstIndex(where: { $0.identifier == identifier }) else { return nil }
    return tasks.remove(at: index)
  }

  mutating func shown(_ notification: AppNotification) {
    delivered.removeAll { $0.identifier == notification.identifier }
    delivered.append(notification)
    if delivered.count > Self.notificationCountMax { delivered.removeFirst() }
  }

  mutating func removePending(_ identifiers: [String]?) {
    for identifier in identifiers ?? Array(pending.keys) {
      pending.removeValue(forKey: identifier)?.timer.cancel()
    }
  }

  /// The app was removed.
  mutating func cancelAll() {
    removePending(nil)
    keepAlive?.cancel()
    self = AppWishes()
  }
}

extension AppTaskRequest {
  fileprivate var isRefresh: Bool { if case .refresh = kind { true } else { false } }
}
