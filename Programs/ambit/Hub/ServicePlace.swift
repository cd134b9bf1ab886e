import Foundation
import Glibc

/// Where units are installed, and whether a service manager runs them.
struct ServicePlace {
  let scope: HubUnits.Scope
  /// A folder in place of the root of the file system, as packages and images need it.
  let root: String?
  /// The user that runs the command.
  var userID = geteuid()
  /// Files one of which a machine with systemd has.
  var systemdFiles: [String] = [
    "/run/systemd/system", "/lib/systemd/systemd", "/usr/lib/systemd/systemd",
  ]

  /// The folder of the unit files.
  ///
  /// - Parameter environment: The environment.
  /// - Throws: If the user has no folder.
  func folder(_ environment: [String: String]) throws(CommandFailure) -> UnitFolder {
    switch scope {
    case .system: return UnitFolder(path: (root ?? "") + "/etc/systemd/system")
    case .user:
      if let configuration = environment["XDG_CONFIG_HOME"], configuration.hasPrefix("/") {
        return UnitFolder(path: (root ?? "") + configuration + "/systemd/user")
      }
      guard let home = environment["HOME"], home.hasPrefix("/") else {
        throw CommandFailure(
          .failure, "there is no folder for the units: neither XDG_CONFIG_HOME nor HOME is set")
      }
      return UnitFolder(path: (root ?? "") + home + "/.config/systemd/user")
    }
  }

  /// Throws unless systemd would run the units.
  ///
  /// - Parameter hub: The command line of the hub, for the sentence.
  func checkManager(hub: [String]) throws(CommandFailure) {
    guard root == nil, !systemdFiles.contains(where: { access($0, F_OK) == 0 }) else { return }
    throw CommandFailure(
      .failure,
      "systemd isn't installed here; the hub works the same under any supervisor, and as the first process of "
        + "a container: \(ShellText.command(hub))")
  }

  /// Throws unless this user may change the units.
  ///
  /// - Parameter command: The subcommand of `ambit hub`, for the sentence.
  func checkUser(_ command: String) throws(CommandFailure) {
    guard root == nil, scope == .system, userID != 0 else { return }
    throw CommandFailure(
      .notPermitted,
      "the system's hub takes root: \"sudo ambit hub \(command)\"; with --user, it is your own hub")
  }

  /// Whether a service manager runs that the changes concern.
  var isRunning: Bool { root == nil && access("/run/systemd/system", F_OK) == 0 }

  /// The arguments of `systemctl` for commands.
  func arguments(_ command: [String]) -> [String] {
    ["systemctl"] + (scope == .user ? ["--user"] : []) + command
  }
}

/// How the service manager comes to use the units of a hub.
struct UnitUse: Hashable, Sendable {
  /// Commands of `systemctl`, to be run one after the other.
  let commands: [[String]]
  /// The effect on a hub that runs, in a sentence.
  let effect: String

  /// - Parameters:
  ///   - place: Where the units are installed.
  ///   - written: The names of the files that have changed.
  ///   - isIncomplete: Whether an earlier installation may not have come to its end.
  init(_ place: ServicePlace, written: [String], isIncomplete: Bool) {
    let start = place.arguments(["enable", "--now", HubUnits.socketName])
    guard isIncomplete || !written.isEmpty else {
      commands = [start]
      let restart = ShellText.command(place.arguments(["restart", HubUnits.serviceName]))
      effect =
        "The units are installed already, and unchanged: a hub that runs goes on. "
        + "\"\(restart)\" runs another version of the program."
      return
    }
    // A hub that runs has the old command line and sandbox, and a socket the old paths.
    let hasNewSocket = isIncomplete || written.contains(HubUnits.socketName)
    let ended = [HubUnits.serviceName] + (hasNewSocket ? [HubUnits.socketName] : [])
    commands = [
      place.arguments(["daemon-reload"]), place.arguments(["stop"] + ended), start,
    ]
    let reason =
      written.isEmpty
      ? "an earlier installation did not come to its end" : "its units have changed"
    effect =
      "A hub that runs is stopped, because \(reason), and what it keeps of programs ends. The next program "
      + "starts it."
  }
}

/// Commands of `systemctl` that are printed, and run where a service manager runs.
struct SystemctlRun {
  let isRunning: Bool
  /// Prints a line.
  let show: (String) -> Void
  /// The program, for tests.
  var program = "/usr/bin/env"

  /// Runs commands one after the other.
  ///
  /// - Throws: If one fails.
  func run(_ commands: [[String]]) throws(CommandFailure) {
    if !isRunning, !commands.isEmpty { show("To be run where systemd runs:") }
    for command in commands {
      show("  " + ShellText.command(command))
      if isRunning { try run(command) }
    }
  }

  private func run(_ command: [String]) throws(CommandFailure) {
    let process = Process()
    process.executableURL = URL(filePath: program)
    process.arguments = command
    process.standardInput = FileHandle.nullDevice
    let name = ShellText.command(command)
    do { try process.run() } catch {
      throw CommandFailure(.failure, "\"\(name)\" can't be started")
    }
    process.waitUntilExit()
    guard process.terminationReason == .exit, process.terminationStatus == 0 else {
      throw CommandFailure(
        .failure, "\"\(name)\" failed with status \(process.terminationStatus)")
    }
  }
}

/// The program that a service runs.
enum ServiceProgram {
  /// The path of this program's executable file.
  ///
  /// - Throws: If the file was removed or replaced since the program started.
  static func path() throws(CommandFailure) -> String {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &bytes, bytes.count)
    // The system appends " (deleted)" for a file that was removed or replaced.
    guard count > 0, let path = String(validating: bytes.prefix(count), as: UTF8.self),
      access(path, X_OK) == 0
    else {
      throw CommandFailure(
        .failure, "the executable file of this program has moved since it started; start it again")
    }
    return path
  }

  /// The reason why a service shouldn't run a program, or can't; nil without one.
  ///
  /// - Parameters:
  ///   - path: The executable file, without symbolic links.
  ///   - scope: The manager of the service.
  ///   - isChangeable: Whether others than root may change it.
  static func warning(
    _ path: String, _ scope: HubUnits.Scope, isChangeable: Bool
  ) -> String? {
    let advice = "install a copy, such as /usr/local/bin/ambit, and run that one's \"hub install\""
    if scope == .system, HubUnits.isHidden(path) {
      return "the system's service can't see \(Fit.safe(path)), because it has no home folders and "
        + "a /tmp of its own: \(advice)"
    }
    if path.split(separator: "/").contains(".build") {
      return "\(Fit.safe(path)) is in a build folder, so that the next build replaces it: \(advice)"
    }
    if scope == .system, isChangeable {
      return "others than root may change \(Fit.safe(path)), which the system's service runs: "
        + advice
    }
    return nil
  }

  /// Whether others than root may change a file, or one of the folders that it is in.
  static func isChangeable(_ path: String) -> Bool {
    var path = path
    while true {
      let place = path.isEmpty ? "/" : path
      guard let attributes = try? FileManager.default.attributesOfItem(atPath: place),
        let owner = attributes[.ownerAccountID] as? NSNumber, owner.intValue == 0,
        let permissions = attributes[.posixPermissions] as? NSNumber,
        permissions.intValue & 0o022 == 0
      else { return true }
      guard let slash = path.lastIndex(of: "/") else { return false }
      path = String(path[..<slash])
    }
  }
}
