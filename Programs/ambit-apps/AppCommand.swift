import AmbitCLI
import AppManagerHost
import AppSessions
import ArgumentParser
import EventLoop
import Foundation
import JSONWire

/// The apps of this user.
struct AppCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "app", abstract: "Install, open, suspend and end apps.",
    discussion: """
      An app is a folder with an executable and an Info.plist. The manager, "ambit apps", has to run.

      EXAMPLES:
        ambit app install ./DoorLock
        ambit app open com.example.lock           Ctrl-Z: into the background, Ctrl-C: quit
        ambit app background com.example.lock
        ambit app list --json
        ambit app log com.example.lock
      """,
    subcommands: [
      AppInstall.self, AppRemove.self, AppList.self, AppOpen.self, AppBackground.self,
      AppForeground.self, AppForceQuit.self, AppTerminate.self, AppDisplayOn.self, AppStatusOf.self,
      AppLog.self, AppOpenAlert.self,
    ],
    defaultSubcommand: AppList.self)
}

/// A command that the manager performs with one reply.
protocol SimpleAppCommand: AsyncParsableCommand {
  var options: RunOptions { get }
  var command: AppManagerCommand { get }
  /// What it has done, for people.
  func sentence(_ reply: AppCommandReply) -> String
}

extension SimpleAppCommand {
  func run() async throws {
    let output = Output(isJSON: options.json)
    let reply = try await AppReply.only(to: command, options)
    if output.isJSON {
      output.object(AppJSON.object(reply, command), isOfRadio: false)
    } else {
      output.line(Fit.safe(sentence(reply)))
    }
  }
}

enum AppReply {
  /// The time for a reply without `--timeout`: a manager that hangs takes connections, and answers none.
  static let timeMax = Duration.seconds(10)

  /// The reply of the manager to a command with one reply.
  static func only(
    to command: AppManagerCommand, _ options: RunOptions
  ) async throws -> AppCommandReply {
    let path = try AppsPlace.path()
    let found = Found()
    _ = try await race(options.timeout?.duration ?? timeMax) {
      do {
        for try await reply in AppCommandClient.replies(to: command, at: path) {
          await found.set(reply)
        }
      } catch let error as AppCommandError { throw failure(error, at: path) }
    }
    guard let reply = await found.reply else { throw timedOut }
    if case .failed(let kind, let sentence) = reply {
      throw CommandFailure(status(of: kind), Fit.safe(sentence))
    }
    return reply
  }

  private actor Found {
    var reply: AppCommandReply?
    func set(_ new: AppCommandReply) { reply = new }
  }

  static let timedOut = CommandFailure(.timedOut, "the manager of apps did not answer in time")

  static func failure(_ error: AppCommandError, at path: String) -> CommandFailure {
    let place = Fit.safe(path)
    return switch error {
    case .notRunning:
      CommandFailure(
        .failure, "no manager of apps runs at \(place); start it with \"ambit apps\"")
    case .notPermitted:
      CommandFailure(
        .notPermitted, "this user may not use \(place): only the user of a manager of apps may")
    case .busy:
      CommandFailure(
        .timedOut, "the manager of apps takes no connections: it hangs, or too many wait")
    case .unreachable(let error):
      CommandFailure(.failure, "the manager of apps can't be reached at \(place): \(error.text)")
    case .ended:
      CommandFailure(.failure, "the manager of apps at \(place) ended before it had answered")
    case .violatesProtocol:
      CommandFailure(
        .failure, "the program at \(place) is no manager of apps, or one of another version")
    }
  }

  static func status(of kind: AppCommandFailure) -> ExitStatus {
    switch kind {
    case .notInstalled: .notFound
    case .unreadable: .noInput
    case .invalid: .badData
    case .notSaved: .cannotCreate
    case .identifierTaken, .wrongState, .limit: .failure
    }
  }
}

struct AppInstall: SimpleAppCommand {
  static let configuration = CommandConfiguration(
    commandName: "install", abstract: "Install the app in a folder, or another version of it.",
    discussion: """
      The folder stays where it is: the manager starts the app there. Its Info.plist, in XML or binary, has \
      CFBundleIdentifier and CFBundleExecutable, and in UIBackgroundModes what the app may do in the background.

      EXAMPLES:
        ambit app install ./DoorLock
      """)

  @OptionGroup var options: RunOptions
  @Argument(help: "The folder.", completion: .directory)
  var folder: String

  var command: AppManagerCommand {
    .install(folder: URL(filePath: folder).standardizedFileURL.resolvingSymlinksInPath().path)
  }

  func sentence(_ reply: AppCommandReply) -> String {
    guard case .installed(let identifier, let isNew) = reply else { return "Done." }
    return "\(isNew ? "Installed" : "Updated") \(identifier)."
  }
}

struct AppRemove: SimpleAppCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "End an app, and forget it. Its folder stays.")
  @OptionGroup var options: RunOptions
  @Argument(help: "The app's identifier.") var id: String
  var command: AppManagerCommand { .remove(id) }
  func sentence(_ reply: AppCommandReply) -> String { "Removed \(id)." }
}

struct AppBackground: SimpleAppCommand {
  static let configuration = CommandConfiguration(
    commandName: "background", abstract: "Send an app to the background.")
  @OptionGroup var options: RunOptions
  @Argument(help: "The app's identifier.") var id: String
  var command: AppManagerCommand { .background(id) }
  func sentence(_ reply: AppCommandReply) -> String { "\(id) is in the background." }
}

struct AppForeground: SimpleAppCommand {
  static let configuration = CommandConfiguration(
    commandName: "foreground", abstract: "Open an app, or bring it to the foreground, and return.")
  @OptionGroup var options: RunOptions
  @Argument(help: "The app's identifier.") var id: String
  var command: AppManagerCommand { .open(id, attaches: false) }
  func sentence(_ reply: AppCommandReply) -> String { "\(id) is in the foreground." }
}

struct AppForceQuit: SimpleAppCommand {
  static let configuration = CommandConfiguration(
    commandName: "force-quit",
    abstract: "End an app as a person does: nothing starts it until it is opened.")
  @OptionGroup var options: RunOptions
  @Argument(help: "The app's identifier.") var id: String
  var command: AppManagerCommand { .forceQuit(id) }
  func sentence(_ reply: AppCommandReply) -> String { "Ended \(id)." }
}

struct AppTerminate: SimpleAppCommand {
  static let configuration = CommandConfiguration(
    commandName: "terminate",
    abstract:
      "End a suspended app as the system does for its memory: what it waits for launches it again.")
  @OptionGroup var options: RunOptions
  @Argument(help: "The app's identifier.") var id: String
  var command: AppManagerCommand { .terminate(id) }
  func sentence(_ reply: AppCommandReply) -> String { "Ended \(id), for its memory." }
}

struct AppDisplayOn: SimpleAppCommand {
  static let configuration = CommandConfiguration(
    commandName: "display-on", abstract: "Report to the apps that the display was switched on.")
  @OptionGroup var options: RunOptions
  var command: AppManagerCommand { .displayOn }
  func sentence(_ reply: AppCommandReply) -> String { "The display is on." }
}

struct AppLog: SimpleAppCommand {
  static let configuration = CommandConfiguration(
    commandName: "log", abstract: "Print the last lines that an app has written.")
  @OptionGroup var options: RunOptions
  @Argument(help: "The app's identifier.") var id: String
  var command: AppManagerCommand { .log(id) }

  func sentence(_ reply: AppCommandReply) -> String { "" }

  func run() async throws {
    let output = Output(isJSON: options.json)
    guard case .log(let lines) = try await AppReply.only(to: command, options) else { return }
    if lines.isEmpty, !output.isJSON { output.note("No lines.") }
    for line in lines {
      if output.isJSON {
        output.object(.object(["line": .string(line)]), isOfRadio: false)
      } else {
        output.line(Fit.safe(line))
      }
    }
  }
}
