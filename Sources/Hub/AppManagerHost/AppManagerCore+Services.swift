import AppHubMachines
import AppMachines
import AppSessions
import Essentials
import EventLoop
import Glibc
import InfoPlists

// Background tasks and notifications of apps: requests of processes, and remote notifications of gateways.

extension AppManagerCore {
  /// Answers a request of a process.
  func reply(to request: AppRequest, of program: AppProgram) -> AppReply {
    let app = AppID(program.bundle.identifier)
    switch request {
    case .regions(let request): return .regions(answer(request, of: app))
    case .pendingTasks: return .tasks(record(of: app).tasks.map(AppTaskRequest.init))
    case .notificationAuthorization: return .authorization(record(of: app).isAuthorized)
    case .pendingNotifications:
      return .notifications(record(of: app).pending.compactMap { AppNotification($0.notice) })
    case .deliveredNotifications:
      return .notifications(record(of: app).delivered.compactMap { AppNotification($0) })
    case .setKeepAliveTimeout: return request.replyWithoutSystem
    case .presentNotification(let notification): return present(notification, of: app)
    default:
      let permitted = program.bundle.infoPlist.permittedTaskIdentifiers
      guard let request = AppServiceRequest(request, permitted: permitted) else {
        return .refused(.unavailable)
      }
      return AppReply(answer(request, of: app))
    }
  }

  private func record(of app: AppID) -> AppServiceRecord {
    machine.serviceRecord(of: app) ?? AppServiceRecord()
  }

  private func answer(_ request: AppServiceRequest, of app: AppID) -> AppServiceReply {
    change { machine, now, actions in
      machine.answer(request, of: app, now: now, into: &actions)
    } ?? .refused(.unavailable)
  }

  private func present(_ notification: AppNotification, of app: AppID) -> AppReply {
    let reply = answer(.present(AppNotice(notification)), of: app)
    if reply == .done { alerts.show(notification.alertText, of: app, nil) }
    return AppReply(reply)
  }

  // MARK: Alerts

  /// Something happened for an app while it isn't in the foreground.
  func alert(_ app: AppID, _ event: AppEventID) {
    let notice = machine.notice(ofAlert: event, of: app)
    let text = notice.flatMap { AppNotification($0) }?.alertText
    alerts.show(
      text
        ?? AppAlertText(title: "", body: "A device has connected, disconnected or sent a value."),
      of: app, event)
  }

  /// The person opens an app from an alert, the last one without a number.
  func openAlert(_ name: String, _ number: UInt64?) throws(CommandRefusal) {
    let app = try installed(name)
    let alerts = machine.alerts(of: app)
    let event = number.map { AppEventID(rawValue: $0) } ?? alerts.last
    guard let event, alerts.contains(event) else {
      throw CommandRefusal(.wrongState, "\(name) has no such alert")
    }
    handle(.life(.person(app, .openedAlert(event))))
  }

  /// The alerts of an app that the person has not opened.
  func shownAlerts(of app: AppID) -> [AppManagerStatus.Alert] {
    machine.alerts(of: app).compactMap { event in
      guard let notice = machine.notice(ofAlert: event, of: app),
        let text = AppNotification(notice)?.alertText
      else { return nil }
      return AppManagerStatus.Alert(number: event.rawValue, text: text.shortened)
    }
  }

  /// Adds an app's regions, tasks and notifications to its status.
  func show(_ app: AppID, in shown: inout AppManagerStatus.App) {
    let record = record(of: app)
    shown.regionCount = machine.regionCount(of: app)
    shown.tasks = record.tasks.map(AppTaskRequest.init)
    shown.pendingNotificationCount = record.pending.count
    shown.waitingPushCount = record.waitingPushes.count
    shown.badge = record.badge
    shown.deviceToken = record.isRegistered ? record.token.map(Self.text(ofToken:)) : nil
    shown.alerts = shownAlerts(of: app)
  }

  private static func text(ofToken token: [UInt8]) -> String {
    token.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  // MARK: Remote notifications

  func push(_ push: AppPush) throws(CommandRefusal) -> AppCommandReply {
    let notification: AppNotification
    do throws(AppPushError) { notification = try push.notification() } catch {
      throw CommandRefusal(.invalid, error.sentence)
    }
    let app: AppID
    switch push.target {
    case .app(let name): app = try installed(name)
    case .token(let token):
      guard let bytes = Self.bytes(ofToken: token) else {
        throw CommandRefusal(
          .invalid, "the device token isn't 64 hexadecimal digits (BadDeviceToken)")
      }
      guard let found = machine.app(withToken: bytes) else {
        throw CommandRefusal(
          .notInstalled, "no app is registered with the device token (Unregistered)")
      }
      app = found
    }
    var dated = notification
    dated.date = CalendarTime.sinceUNIXEpoch
    let note = AppPushNote(
      AppNotice(dated), collapseIdentifier: push.collapseIdentifier, expiration: push.expiration)
    let outcome = change { machine, now, actions in
      machine.push(note, to: app, now: now, into: &actions)
    }
    guard let outcome = outcome ?? nil else {
      throw CommandRefusal(.notInstalled, "no app \(app.rawValue) is installed")
    }
    return .pushed(app.rawValue, AppPushResult(outcome))
  }

  /// Nil for text that is no token.
  private static func bytes(ofToken text: String) -> [UInt8]? {
    let digits = text.utf8.compactMap { UInt8(String(UnicodeScalar($0)), radix: 16) }
    guard digits.count == 64, text.utf8.count == 64 else { return nil }
    return stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  /// Chance for a device token.
  static func random(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
  }

  // MARK: Surroundings

  /// Reports the calendar, and, while a task waits for them, the network and the power supply.
  func updateSurroundings(_ machine: inout AppHubMachine, now: Instant) {
    machine.setCalendar(CalendarTime.sinceUNIXEpoch, now: now)
    guard machine.waitsForSurroundings, lookedAround.map({ now - $0 > Self.lookInterval }) ?? true
    else { return }
    lookedAround = now
    machine.setSurroundings(isOnline: Surroundings.isOnline, isPowered: Surroundings.isPowered)
  }

  private static let lookInterval = TimeSpan.seconds(5)
}

extension CalendarTime {
  /// The seconds since 1 January 1970.
  static var sinceUNIXEpoch: Double { now + 978_307_200 }
}

/// What tasks may need.
enum Surroundings {
  /// Whether a default route exists (/proc/net/route, /proc/net/ipv6_route).
  static var isOnline: Bool {
    let routes = TextFile.read("/proc/net/route")?.split(separator: "\n").dropFirst() ?? []
    if routes.contains(where: { $0.split(separator: "\t").dropFirst().first == "00000000" }) {
      return true
    }
    let longer = TextFile.read("/proc/net/ipv6_route")?.split(separator: "\n") ?? []
    return longer.contains { route in
      let fields = route.split(separator: " ")
      // Not the one that the kernel has to refuse packets, of the loopback interface.
      return fields.first?.allSatisfy { $0 == "0" } == true && fields.dropFirst().first == "00"
        && fields.last != "lo"
    }
  }

  /// Whether a mains supply is connected, or there is no battery (sysfs-class-power).
  static var isPowered: Bool {
    let folder = "/sys/class/power_supply/"
    var hasBattery = false
    for name in TextFile.names(in: folder) where !name.hasPrefix(".") {
      switch TextFile.read(folder + name + "/type") {
      case "Battery\n": hasBattery = hasBattery || TextFile.read(folder + name + "/scope") == nil
      default: if TextFile.read(folder + name + "/online") == "1\n" { return true }
      }
    }
    return !hasBattery
  }
}

// MARK: Values of both sides

extension AppNotice {
  init(_ notification: AppNotification) {
    self.init(
      identifier: notification.identifier, isSilent: notification.isSilent,
      hasAlert: notification.hasAlert, contents: notification.event().payload)
  }
}

extension AppNotification {
  /// Nil for contents that are none.
  init?(_ notice: AppNotice) { self.init(payload: notice.contents) }
}

extension AppTaskNote {
  init(_ request: AppTaskRequest) {
    switch request.kind {
    case .refresh:
      self.init(request.identifier, isProcessing: false, earliestBegin: request.earliestBegin)
    case .processing(let needsNetwork, let needsPower):
      self.init(
        request.identifier, isProcessing: true, needsNetwork: needsNetwork, needsPower: needsPower,
        earliestBegin: request.earliestBegin)
    }
  }
}

extension AppTaskRequest {
  init(_ task: AppTaskNote) {
    let kind: Kind =
      task.isProcessing
      ? .processing(needsNetwork: task.needsNetwork, needsPower: task.needsPower) : .refresh
    self.init(task.identifier, kind, earliestBegin: task.earliestBegin)
  }
}

extension AppServiceRequest {
  /// Nil for a request of another kind, or with malformed values.
  init?(_ request: AppRequest, permitted: [String]) {
    switch request {
    case .submitTask(let task): self = .submit(AppTaskNote(task), permitted: permitted)
    case .cancelTask(let identifier): self = .cancelTask(identifier)
    case .cancelAllTasks: self = .cancelTask(nil)
    case .setFetchInterval(let seconds): self = .setFetchInterval(seconds)
    case .authorizeNotifications: self = .authorize
    case .addNotification(let notification):
      guard case .local(let seconds, let repeats) = notification.origin else { return nil }
      var dated = notification
      dated.date = CalendarTime.sinceUNIXEpoch + max(0, seconds)
      self = .add(AppNotice(dated), after: seconds, repeats: repeats)
    case .removePendingNotifications(let identifiers): self = .removePending(identifiers)
    case .removeDeliveredNotifications(let identifiers): self = .removeDelivered(identifiers)
    case .registerForRemoteNotifications:
      self = .register(random: AppManagerCore.random(32))
    case .unregisterForRemoteNotifications: self = .unregister
    case .setBadge(let number): self = .setBadge(number)
    default: return nil
    }
  }
}

extension AppReply {
  init(_ reply: AppServiceReply) {
    switch reply {
    case .done: self = .done
    case .granted(let isGranted): self = .granted(isGranted)
    case .deviceToken(let token): self = .deviceToken(token)
    case .refused(.notPermitted): self = .refused(.notPermitted)
    case .refused(.tooMany): self = .refused(.tooManyPendingTasks)
    case .refused(.unavailable), .refused(.tooLong): self = .refused(.unavailable)
    }
  }
}

extension AppPushResult {
  init(_ outcome: AppPushOutcome) {
    switch outcome {
    case .delivered: self = .delivered
    case .shown: self = .shown
    case .throttled: self = .throttled
    case .waitsForForeground: self = .waitsForForeground
    case .forceQuit: self = .forceQuit
    case .notAuthorized: self = .notAuthorized
    case .expired: self = .expired
    }
  }
}
