import ArgumentParser
import Foundation
import Glibc
import HubClient
import HubClientMachines
import HubWire
import JSONWire

/// Ends what the running hub keeps of programs that have ended.
struct HubForget: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "forget",
    abstract: "End what the hub keeps of a program that has ended.",
    discussion: """
      A hub keeps what an app with a restore identifier scans for, connects to and serves, for up to a day after \
      its process has ended; "ambit hub status" lists it as kept, with the name of the app. This command ends it, \
      as if the time were over. Programs that run keep everything. Sessions of other users take root, or the \
      hub's user. If nothing of the app is kept, the exit status is 68.

      EXAMPLES:
        ambit hub forget lock
        sudo ambit hub forget lock --user ann
        ambit hub forget --all
      """)

  @Argument(
    help: ArgumentHelp("The name of the app, as \"ambit hub status\" shows it.", valueName: "app"))
  var app: String?

  @Flag(help: "The sessions of all apps.")
  var all = false

  @Option(
    help: ArgumentHelp(
      "The name or number of the user whose sessions are meant. Default: of this user, and of all users for root "
        + "and the hub's user.",
      valueName: "user"))
  var user: String?

  @OptionGroup var hub: RunningHubOptions

  @Flag(help: "Write one JSON object; docs/json.md lists the keys.")
  var json = false

  func validate() throws {
    if (app == nil) != all { throw ValidationError("Name one app, or give --all.") }
  }

  func run() async throws {
    let output = Output(isJSON: json)
    let filter = KeptSessionFilter(app: app, userID: try userID())
    let paths = try hub.paths(ProcessInfo.processInfo.environment)
    let (path, result) = try await RunningHubOptions.first(of: paths) { path throws(HubFailure) in
      try await KeptSessions.forget(filter, at: path)
    }
    let name = app.map { Fit.safe($0) }
    switch result {
    case .notPermitted:
      throw CommandFailure(
        .notPermitted, "only root and the hub's user may end what is kept for another user")
    case .count(0):
      throw CommandFailure(
        .notFound, "the hub at \(Fit.safe(path)) keeps nothing of \(name ?? "any app")")
    case .count(let count):
      if json {
        return output.object(
          .object([
            "event": .string("sessionsForgotten"), "time": .time(Date()), "socket": .string(path),
            "app": app.map { .string($0) }, "sessions": .integer(Int64(count)),
          ]), isOfRadio: false)
      }
      let sessions = count == 1 ? "1 kept session" : "\(count) kept sessions"
      output.line("Forgot \(sessions) of \(name ?? "all apps")")
    }
  }

  /// The number of the user that is named.
  private func userID() throws(CommandFailure) -> UInt32? {
    guard let user else { return nil }
    if let number = UInt32(user) { return number }
    guard let account = unsafe getpwnam(user) else {
      throw CommandFailure(.usage, "\"\(Fit.safe(user))\" is no user of this machine")
    }
    return unsafe account.pointee.pw_uid
  }
}
