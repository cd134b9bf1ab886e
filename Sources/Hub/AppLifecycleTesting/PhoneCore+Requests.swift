import AppHubMachines
import AppMachines
import AppSessions
import BluetoothInterface
import Essentials
import InfoPlists

// Requests of apps that are about time, tasks and notifications. Under the radio's lock.

extension PhoneCore {
  /// Answers a request of a process.
  func answer(_ request: AppRequest, of app: SimulatedApp) -> AppReply {
    let id = app.id
    switch request {
    case .submitTask(let task):
      let permitted = app.infoPlist.permittedTaskIdentifiers
      return wishes[id, default: AppWishes()].submit(task, permitted: permitted)
    case .cancelTask(let identifier): _ = wishes[id]?.takeTask(identifier)
    case .cancelAllTasks: wishes[id]?.tasks = []
    case .pendingTasks: return .tasks(wishes[id]?.tasks ?? [])
    // The test decides when a fetch is performed.
    case .setFetchInterval: break
    case .setKeepAliveTimeout(let seconds): setKeepAlive(seconds.map(Self.span), of: id)
    case .authorizeNotifications:
      let isGranted = wishes[id]?.mayNotify ?? true
      wishes[id, default: AppWishes()].mayNotify = isGranted
      return .granted(isGranted)
    case .notificationAuthorization: return .authorization(wishes[id]?.mayNotify)
    case .addNotification(let notification): return add(notification, of: id)
    case .presentNotification(let notification):
      wishes[id, default: AppWishes()].shown(notification)
    case .pendingNotifications:
      let pending = wishes[id]?.pending.values.map(\.notification) ?? []
      return .notifications(pending.sorted { $0.identifier < $1.identifier })
    case .deliveredNotifications: return .notifications(wishes[id]?.delivered ?? [])
    case .removePendingNotifications(let identifiers): wishes[id]?.removePending(identifiers)
    case .removeDeliveredNotifications(let identifiers):
      wishes[id]?.delivered.removeAll { identifiers?.contains($0.identifier) ?? true }
    // The same for each run, and another one for each app.
    case .registerForRemoteNotifications:
      let name = Array(id.rawValue.utf8.prefix(32))
      return .deviceToken(name + Array(repeating: 0, count: 32 - name.count))
    case .unregisterForRemoteNotifications: break
    case .setBadge(let badge): wishes[id, default: AppWishes()].badge = badge
    case .regions(let request): return .regions(answer(request, of: id))
    }
    return .done
  }

  private func setKeepAlive(_ span: TimeSpan?, of id: AppID) {
    wishes[id]?.keepAlive?.cancel()
    wishes[id, default: AppWishes()].keepAlive = nil
    guard let span, span > .zero else { return }
    let timer = loop.makeTimer { [weak self] in
      guard let self else { return }
      wishes[id]?.keepAlive?.set(loop.now + span)
      handle(.life(.arrived(id, AppEvent(.keepAlive, for: .keepAlive))))
    }
    wishes[id, default: AppWishes()].keepAlive = timer
    timer.set(loop.now + span)
  }

  /// A time from now; an endless one is thirty years.
  private static func span(_ seconds: Double) -> TimeSpan {
    guard seconds > 0 else { return .zero }
    return .milliseconds(Int64(min(seconds, 1e9) * 1_000))
  }

  private func add(_ notification: AppNotification, of id: AppID) -> AppReply {
    guard wishes[id]?.mayNotify == true else { return .refused(.notPermitted) }
    wishes[id]?.removePending([notification.identifier])
    guard (wishes[id]?.pending.count ?? 0) < AppWishes.notificationCountMax else {
      return .refused(.unavailable)
    }
    guard case .local(let seconds, let repeats) = notification.origin else {
      return .refused(.unavailable)
    }
    let span = Self.span(seconds)
    let isRepeated = repeats && span >= .seconds(60)
    let timer = loop.makeTimer { [weak self] in
      guard let self, let pending = wishes[id]?.pending[notification.identifier] else { return }
      if isRepeated {
        pending.timer.set(loop.now + span)
      } else {
        wishes[id]?.pending[notification.identifier] = nil
      }
      show(notification, of: id)
    }
    wishes[id]?.pending[notification.identifier] = AppWishes.Pending(
      notification: notification, timer: timer)
    timer.set(loop.now + span)
    return .done
  }

  /// The beginning of 2001, from which calendar times count, in seconds since 1970.
  private static let referenceDate = 978_307_200.0

  /// A notification is due, or came from afar.
  func show(_ notification: AppNotification, of id: AppID) {
    var notification = notification
    notification.date = loop.calendarTime + Self.referenceDate
    // In the foreground the app decides whether it is shown.
    let isInForeground = state(of: id) == .active || state(of: id) == .inactive
    if !isInForeground, notification.hasAlert {
      wishes[id, default: AppWishes()].shown(notification)
    }
    handle(.life(.arrived(id, notification.event())))
  }

  /// Launches a task that an app has requested. Returns false if it has not.
  func runTask(_ identifier: String, of id: AppID) -> Bool {
    guard let task = wishes[id]?.takeTask(identifier) else { return false }
    handle(.life(.arrived(id, task.event)))
    return true
  }
}
