import AmbitCLI
import AppManagerHost
import AppSessions
import ArgumentParser
import Essentials
import Foundation
import JSONWire

/// Sends a remote notification to an app of this user.
struct PushCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "push", abstract: "Send a remote notification to an app.",
    discussion: """
      The payload is a JSON object with the dictionary "aps", as for Apple's push service, of 4,096 bytes at \
      most. With "content-available": 1 it wakes or launches an app that has the mode remote-notification; with \
      an alert, a sound or a badge the person is shown it. The manager, "ambit apps", has to run.

      EXAMPLES:
        ambit push com.example.news payload.json
        echo '{"aps":{"content-available":1}}' | ambit push com.example.news -
        ambit push TOKEN payload.json --collapse-id scores --expires 1h
      """)

  @OptionGroup var options: RunOptions

  @Argument(help: "The app's identifier, or its device token of 64 hexadecimal digits.")
  var app: String

  @Argument(help: "The file of the payload; - is the standard input.", completion: .file())
  var payload: String

  @Option(help: "Only the newest waiting notification with this identifier is kept.")
  var collapseID: String?

  @Option(help: "How long it may wait for the app. Default: as long as it has to.")
  var expires: Seconds?

  @Flag(help: "It never waits: it is delivered at once, or not at all.")
  var now = false

  @Option(help: "1, 5 or 10.")
  var priority: Int?

  @Option(help: "alert or background; the payload is checked for it.")
  var type: AppPush.Kind?

  @Option(help: "The notification's identifier. Default: a new UUID.")
  var id: String?

  func validate() throws {
    if now, expires != nil {
      throw ValidationError("A notification with --now never waits: leave out --expires.")
    }
  }

  func run() async throws {
    let output = Output(isJSON: options.json)
    var push = AppPush(
      to: target, payload: try Self.text(of: payload), identifier: id ?? UUID().uuidString)
    push.collapseIdentifier = collapseID
    push.priority = priority
    push.kind = type
    if now { push.expiration = 0 }
    if let expires {
      push.expiration = Date.now.timeIntervalSince1970 + expires.span.seconds
    }
    do throws(AppPushError) { _ = try push.notification() } catch {
      throw CommandFailure(.badData, Fit.safe(error.sentence))
    }
    let reply = try await AppReply.only(to: .push(push), options)
    guard case .pushed(let app, let result) = reply else {
      throw CommandFailure(.failure, "the manager of apps gave another answer")
    }
    if output.isJSON {
      output.object(
        .object([
          "event": .string("pushed"), "app": .string(app), "id": .string(push.identifier),
          "result": .string(result.rawValue),
        ]), isOfRadio: false)
    } else {
      output.line(Fit.safe(result.sentence(app)))
    }
  }

  private var target: AppPush.Target {
    let isToken = app.utf8.count == 64 && app.allSatisfy { $0.isASCII && $0.isHexDigit }
    return isToken ? .token(app) : .app(app)
  }

  /// One byte more than a payload may have is read, so that a longer one is an error.
  private static func text(of path: String) throws -> String {
    let limit = AppNotification.remoteByteCountMax + 1
    let data: Data
    do {
      let handle =
        path == "-"
        ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(filePath: path))
      var found = Data()
      while found.count < limit,
        let more = try handle.read(upToCount: limit - found.count), !more.isEmpty
      { found += more }
      data = found
    } catch {
      throw CommandFailure(.noInput, "\(Fit.safe(path)) can't be read")
    }
    guard let text = String(data: data, encoding: .utf8) else {
      throw CommandFailure(.badData, "the payload is no JSON object (BadPayload)")
    }
    return text
  }
}

extension AppPush.Kind: ExpressibleByArgument {}

extension AppPushResult {
  func sentence(_ app: String) -> String {
    switch self {
    case .delivered: "\(app) gets the notification."
    case .shown: "The alert is shown; \(app) gets the notification when it is opened from there."
    case .throttled: "\(app) was woken too often: the notification waits."
    case .waitsForForeground:
      "\(app) has not the mode remote-notification: it gets the notification in the foreground."
    case .forceQuit: "The person has ended \(app): nothing starts it until it is opened."
    case .notAuthorized: "\(app) may not show alerts, and the notification is not silent."
    case .expired: "The notification would have to wait, and is given up."
    }
  }
}

struct AppOpenAlert: SimpleAppCommand {
  static let configuration = CommandConfiguration(
    commandName: "open-alert", abstract: "Open an app from one of its alerts, the last by default.",
    discussion: """
      "ambit app status" lists the alerts with their numbers.

      EXAMPLES:
        ambit app open-alert com.example.news
      """)
  @OptionGroup var options: RunOptions
  @Argument(help: "The app's identifier.") var id: String
  @Argument(help: "The number of the alert.") var number: UInt64?
  var command: AppManagerCommand { .openAlert(id, number) }
  func sentence(_ reply: AppCommandReply) -> String { "\(id) is in the foreground." }
}

/// `terminal`, `desktop` or `command:PATH`.
struct AlertsArgument: ExpressibleByArgument {
  let style: AppAlertStyle

  init?(argument: String) {
    switch argument {
    case "terminal": style = .terminal
    case "desktop": style = .desktop(path: "/usr/bin/notify-send")
    default:
      guard argument.hasPrefix("command:/") else { return nil }
      style = .command(path: String(argument.dropFirst(8)))
    }
  }
}
