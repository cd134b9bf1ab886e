import AppMachines
import AppSessions
import Essentials
import EventLoop
import Glibc

/// How alerts of apps are shown to the person.
package enum AppAlertStyle: Hashable, Sendable, CustomStringConvertible {
  /// As lines of the manager's output.
  case terminal
  /// By a program, with the app's identifier, the title and the text as arguments. It opens the app with a line
  /// `open` in its output, and ends when the alert is closed.
  case command(path: String)
  /// By `notify-send` at this path, on the desktop.
  case desktop(path: String)

  package var description: String {
    switch self {
    case .terminal: "terminal"
    case .command: "command"
    case .desktop: "desktop"
    }
  }

  /// On the desktop of this session, if it has one and `notify-send` is installed, or else in the terminal.
  package static func best(_ environment: (String) -> String?) -> AppAlertStyle {
    guard environment("DBUS_SESSION_BUS_ADDRESS")?.isEmpty == false else { return .terminal }
    for folder in (environment("PATH") ?? "").split(separator: ":") where folder.hasPrefix("/") {
      let path = "\(folder)/notify-send"
      if access(path, X_OK) == 0 { return .desktop(path: path) }
    }
    return .terminal
  }

  /// The program and its arguments; nil for the terminal.
  func command(_ app: AppID, _ text: AppAlertText) -> (path: String, arguments: [String])? {
    let title = text.title.isEmpty ? app.rawValue : text.title
    return switch self {
    case .terminal: nil
    case .command(let path): (path, [app.rawValue, title, text.body])
    case .desktop(let path):
      (
        path,
        [
          "--app-name=\(app.rawValue)", "--action=open=Open", "--wait", "--", title, text.body,
        ]
      )
    }
  }
}

/// As much of an alert's output as is looked at.
private let outputByteCountMax = 4_096

/// Shows alerts of apps. Used on the manager's loop only.
final class AppAlerts {
  /// A program that shows an alert.
  private final class Shown {
    let process: ProcessDescriptor
    let app: AppID
    let event: AppEventID?
    /// The readable end of the pipe of its output, which `output` owns.
    let descriptor: Int32
    var output: ByteChannel?
    var end: WatchedDescriptor?
    var text: [UInt8] = []

    init(_ process: ProcessDescriptor, output: Int32, _ app: AppID, _ event: AppEventID?) {
      self.process = process
      self.app = app
      self.event = event
      descriptor = output
    }

    /// What it has written last may not have been read yet.
    func takeOutput() -> [UInt8] {
      guard output?.isOpen ?? false else { return [] }
      return [UInt8](unsafeUninitializedCapacity: outputByteCountMax) { buffer, count in
        count = max(0, Glibc.read(descriptor, buffer.baseAddress, buffer.count))
      }
    }
  }

  private let style: AppAlertStyle
  private let loop: EpollLoop
  /// The person opens an app from the alert of an event; nil for one that the app has handled.
  var onOpen: (AppID, AppEventID?) -> Void = { _, _ in }
  /// Gets a sentence for the log.
  var onReport: (String) -> Void = { _ in }
  private var shown: [Shown] = []

  /// The maximum number of alerts on a desktop: the oldest one is closed for another.
  private static let countMax = 16

  init(_ style: AppAlertStyle, on loop: EpollLoop) {
    self.style = style
    self.loop = loop
  }

  func show(_ text: AppAlertText, of app: AppID, _ event: AppEventID?) {
    let short = text.shortened
    let words = [short.title, short.body].filter { !$0.isEmpty }.joined(separator: ": ")
    guard let (path, arguments) = style.command(app, text) else {
      return onReport(
        "alert of \(app.rawValue): \(words); \"ambit app open-alert \(app.rawValue)\" opens it")
    }
    if shown.count >= Self.countMax { close(shown[0]) }
    do throws(SystemError) {
      let (process, output) = try AppSpawn.start(path, arguments, in: "/", [:])
      let alert = Shown(process, output: output, app, event)
      shown.append(alert)
      alert.output = try ByteChannel(
        owning: output, on: loop,
        onRead: { [weak self, weak alert] bytes in
          if let alert { self?.read(bytes, of: alert) }
        }, onEnd: { _ in })
      alert.end = try WatchedDescriptor(owning: try process.duplicate(), on: loop) {
        [weak self, weak alert] _ in
        if let alert { self?.close(alert) }
      }
    } catch {
      if let failed = shown.last, failed.end == nil { close(failed) }
      onReport("\(path) can't be started (\(error.text)); alert of \(app.rawValue): \(words)")
    }
  }

  private func read(_ bytes: [UInt8], of alert: Shown) {
    alert.text += bytes.prefix(max(0, outputByteCountMax - alert.text.count))
    let lines = alert.text.split(separator: UInt8(ascii: "\n"))
    guard lines.contains(where: { $0.elementsEqual("open".utf8) }) else { return }
    alert.text = []
    onOpen(alert.app, alert.event)
  }

  /// The person has closed it, or another one needs its place.
  private func close(_ alert: Shown) {
    guard let index = shown.firstIndex(where: { $0 === alert }) else { return }
    shown.remove(at: index)
    let rest = alert.takeOutput()
    alert.process.send(SIGTERM)
    alert.end?.close()
    alert.output?.close()
    if !alert.process.reap() { alert.process.send(SIGKILL) }
    alert.process.awaitEnd()
    _ = alert.process.reap()
    if !rest.isEmpty { read(rest, of: alert) }
  }

  /// The programs that show alerts.
  var processIDs: [pid_t] { shown.map(\.process.processID) }

  /// Opens no app any more, also where a program has just requested it.
  func closeAll() {
    onOpen = { _, _ in }
    for alert in shown { close(alert) }
  }
}

extension AppAlertText {
  /// The beginning of the title and of the text, for lists and the log: together they fit into a message.
  var shortened: AppAlertText {
    AppAlertText(title: Self.beginning(title), body: Self.beginning(body))
  }

  private static let shownCountMax = 256

  private static func beginning(_ text: String) -> String {
    let scalars = text.unicodeScalars
    return scalars.count <= shownCountMax ? text : String(scalars.prefix(shownCountMax)) + "…"
  }
}
