import AmbitCLI
import AppMachines
import AppManagerHost
import AppSessions
import ArgumentParser
import Foundation
import JSONWire

struct AppList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the apps that are installed, and their states.")
  @OptionGroup var options: RunOptions

  func run() async throws {
    let output = Output(isJSON: options.json)
    let status = try await AppsStatus.read(options)
    if status.apps.isEmpty, !output.isJSON {
      return output.line("No app is installed; \"ambit app install FOLDER\" installs one.")
    }
    for app in status.apps {
      if output.isJSON {
        output.object(
          .object([
            "app": .string(app.identifier), "state": .string(app.state.rawValue),
            "folder": .string(app.folder),
          ]), isOfRadio: false)
      } else {
        output.line("\(app.identifier)  \(AppWords.state(app))  \(Fit.safe(app.folder))")
      }
    }
  }
}

struct AppStatusOf: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show the state of an app, or of all.")
  @OptionGroup var options: RunOptions
  @Argument(help: "The app's identifier.") var id: String?

  func run() async throws {
    let output = Output(isJSON: options.json)
    let apps = try await AppsStatus.read(options).apps
    let shown = apps.filter { id == nil || $0.identifier == id }
    if shown.isEmpty, let id {
      throw CommandFailure(.notFound, "no app \(Fit.safe(id)) is installed")
    }
    for app in shown { AppWords.show(app, output) }
  }
}

/// The state of the manager.
struct AppsStatus: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract:
      "Show each app's state, time, queue, wakes, processor time and events that were given up.")
  @OptionGroup var options: RunOptions

  func run() async throws {
    let output = Output(isJSON: options.json)
    let status = try await Self.read(options)
    if output.isJSON {
      output.object(AppJSON.object(status), isOfRadio: false)
      return
    }
    let way = status.freezer == "cgroup" ? "control groups" : "signals"
    output.line("\(AppWords.count(status.apps.count, "app")); suspended ones are stopped by \(way)")
    if status.memory == "none" {
      output.line("pressure on memory isn't watched: no app is ended for it")
    }
    for app in status.apps { AppWords.show(app, output) }
    if status.droppedEventCount > 0 {
      output.line(
        "changes of links that were dropped, since too many waited: \(status.droppedEventCount)")
    }
    for report in status.reports.suffix(Self.shownReportCount) {
      output.line("  \(Fit.safe(report))")
    }
  }

  private static let shownReportCount = 10

  static func read(_ options: RunOptions) async throws -> AppManagerStatus {
    guard case .status(let status) = try await AppReply.only(to: .status, options) else {
      throw CommandFailure(.failure, "the manager of apps gave another answer than its state")
    }
    return status
  }
}

/// Texts about apps.
enum AppWords {
  static func state(_ app: AppManagerStatus.App) -> String {
    switch app.state {
    case .notRunning: app.isForceQuit ? "ended by the person" : "not running"
    case .inactive: "inactive"
    case .active: "active"
    case .background: "in the background"
    case .suspended: "suspended"
    }
  }

  static func show(_ app: AppManagerStatus.App, _ output: Output) {
    if output.isJSON { return output.object(AppJSON.object(app), isOfRadio: false) }
    var first = "\(app.identifier): \(state(app))"
    if let processID = app.processID { first += ", process \(processID)" }
    if let time = app.timeRemaining { first += ", \(seconds(time)) left" }
    if let pause = app.pause { first += ", not started for \(seconds(pause))" }
    output.line(first)
    if let failure = app.failure { output.line("  \(Fit.safe("it has failed: " + failure))") }
    output.line("  \(radio(app))")
    for socket in app.heldSockets ?? [] { output.line("  \(words(socket))") }
    for line in services(app) { output.line("  \(Fit.safe(line))") }
    let counts = app.counts
    let reasons = counts.reasonCounts.sorted { $0.key < $1.key }
      .map { "\($0.value) \($0.key.rawValue)" }
    output.line(
      "  \(count(counts.launchCount, "launch", "launches")), \(count(counts.wakeCount, "wake"))"
        + (reasons.isEmpty ? "" : ": " + reasons.joined(separator: ", ")))
    output.line(
      "  events: \(app.waitingCount) waiting, \(counts.handedCount) handed over, "
        + "\(counts.discardedCount + counts.refusedCount + counts.unacknowledgedCount) given up; "
        + "\(seconds(app.processorTime)) of processor time")
  }

  /// Tasks and notifications, a line for each kind that the app has.
  private static func services(_ app: AppManagerStatus.App) -> [String] {
    var lines = app.tasks.map { task in
      let date = task.earliestBegin.map { Date(timeIntervalSince1970: $0) }
      let earliest = date.map { ", not before \($0.formatted(.iso8601))" } ?? ""
      return "task \(task.identifier)\(earliest)"
    }
    if app.pendingNotificationCount > 0 || app.waitingPushCount > 0 {
      lines.append(
        "notifications: \(app.pendingNotificationCount) local ones pending, "
          + "\(app.waitingPushCount) remote ones waiting")
    }
    if let token = app.deviceToken { lines.append("device token \(token)") }
    lines += app.wakes.suffix(shownWakeCount).map { wake in
      let date = Date(timeIntervalSince1970: wake.date).formatted(.iso8601)
      let words = wake.reasons.map(\.rawValue).joined(separator: ", ")
      return "\(wake.isLaunch ? "launched" : "woken") \(date) for \(words): "
        + String(format: "%.3f s, %.3f s of processor time", wake.seconds, wake.processorTime)
    }
    lines += app.alerts.suffix(shownAlertCount).map { alert in
      "alert \(alert.number): \(alert.text.title) \(alert.text.body)"
    }
    return lines
  }

  private static let shownAlertCount = 5
  private static let shownWakeCount = 3

  private static func radio(_ app: AppManagerStatus.App) -> String {
    "\(count(app.connectionCount, "connection")), \(app.pendingConnectionCount) pending, "
      + "\(count(app.scanCount, "scan")), \(count(app.regionCount, "region"))"
  }

  static func count(_ number: some BinaryInteger, _ one: String, _ others: String? = nil) -> String
  {
    "\(number) \(number == 1 ? one : others ?? one + "s")"
  }

  private static func words(_ socket: HeldSocketStatus) -> String {
    let name = "held socket \(Fit.safe(socket.identifier)) with \(Fit.safe(socket.peer))"
    return "\(name): \(count(socket.wakeCount, "wake"))"
      + (socket.hasEnded ? ", ended by the peer" : "")
  }

  private static func seconds(_ seconds: Double) -> String { String(format: "%.1f s", seconds) }
}

/// How a process has ended, in words.
enum AppExitText {
  /// Nil if it is no failure.
  static func failure(_ exit: AppExit) -> String? {
    switch exit {
    case .status(0), .signal(9): nil
    case .status(let status): "exit status \(status)"
    case .signal(let signal): "signal \(signal)"
    case .notStarted: "it could not be started"
    }
  }
}

enum AppJSON {
  static func object(_ reply: AppCommandReply, _ command: AppManagerCommand) -> JSON {
    switch reply {
    case .installed(let identifier, let isNew):
      .object([
        "event": .string(isNew ? "installed" : "updated"), "app": .string(identifier),
      ])
    default: .object(["event": .string("done")])
    }
  }

  static func object(_ status: AppManagerStatus) -> JSON {
    .object([
      "freezer": .string(status.freezer), "memory": .string(status.memory),
      "apps": .array(status.apps.map(object)),
      "droppedEvents": .integer(Int64(status.droppedEventCount)),
      "reports": .array(status.reports.map { .string($0) }),
      "isWritten": status.isWritten.map { .bool($0) },
    ])
  }

  static func object(_ app: AppManagerStatus.App) -> JSON {
    let counts = app.counts
    let reasons = counts.reasonCounts.sorted { $0.key < $1.key }.map {
      JSON.Member(key: $0.key.rawValue, value: .integer(Int64($0.value)))
    }
    return .object([
      "app": .string(app.identifier), "state": .string(app.state.rawValue),
      "folder": .string(app.folder), "process": app.processID.map { .integer(Int64($0)) },
      "timeRemaining": app.timeRemaining.map { .number($0) },
      "pause": app.pause.map { .number($0) }, "failure": app.failure.map { .string($0) },
      "isForceQuit": .bool(app.isForceQuit),
      "connections": .integer(Int64(app.connectionCount)),
      "pendingConnections": .integer(Int64(app.pendingConnectionCount)),
      "scans": .integer(Int64(app.scanCount)),
      "sockets": app.heldSockets.map { .array($0.map(object)) },
      "regions": .integer(Int64(app.regionCount)),
      "tasks": .array(app.tasks.map(object)),
      "pendingNotifications": .integer(Int64(app.pendingNotificationCount)),
      "waitingPushes": .integer(Int64(app.waitingPushCount)),
      "badge": .integer(Int64(app.badge)), "deviceToken": app.deviceToken.map { .string($0) },
      "alerts": .array(app.alerts.map(object)),
      "lastWakes": .array(app.wakes.map(object)),
      "waiting": .integer(Int64(app.waitingCount)),
      "launches": .integer(Int64(counts.launchCount)),
      "wakes": .integer(Int64(counts.wakeCount)), "reasons": .object(reasons),
      "handedOver": .integer(Int64(counts.handedCount)),
      "discarded": .integer(Int64(counts.discardedCount)),
      "refused": .integer(Int64(counts.refusedCount)),
      "unacknowledged": .integer(Int64(counts.unacknowledgedCount)),
      "crashes": .integer(Int64(counts.crashCount)),
      "processorTime": .number(app.processorTime),
    ])
  }

  private static func object(_ socket: HeldSocketStatus) -> JSON {
    .object([
      "identifier": .string(socket.identifier), "peer": .string(socket.peer),
      "wakes": .integer(Int64(socket.wakeCount)), "hasEnded": .bool(socket.hasEnded),
    ])
  }

  private static func object(_ task: AppTaskRequest) -> JSON {
    .object([
      "task": .string(task.identifier),
      "kind": .string(task.kind == .refresh ? "refresh" : "processing"),
      "earliestBegin": task.earliestBegin.map { .number($0) },
    ])
  }

  private static func object(_ wake: AppManagerStatus.Wake) -> JSON {
    .object([
      "time": .number(wake.date), "isLaunch": .bool(wake.isLaunch),
      "reasons": .array(wake.reasons.map { .string($0.rawValue) }),
      "seconds": .number(wake.seconds), "processorTime": .number(wake.processorTime),
    ])
  }

  private static func object(_ alert: AppManagerStatus.Alert) -> JSON {
    .object([
      "alert": .integer(Int64(clamping: alert.number)), "title": .string(alert.text.title),
      "body": .string(alert.text.body),
    ])
  }

  static func ended(_ id: String, _ exit: AppExit) -> JSON {
    var status: JSON?
    var signal: JSON?
    switch exit {
    case .status(let number): status = .integer(Int64(number))
    case .signal(let number): signal = .integer(Int64(number))
    case .notStarted: break
    }
    return .object([
      "event": .string("ended"), "app": .string(id), "status": status, "signal": signal,
    ])
  }
}
