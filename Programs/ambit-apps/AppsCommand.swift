import AmbitCLI
import AppManagerHost
import AppSessions
import ArgumentParser
import BluetoothInterface
import Essentials
import EventLoop
import Foundation
import HubClient
import JSONWire
import StateFiles

#if AppDatabase
  import AppDatabase
#endif

/// The manager of this user's apps.
struct AppsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apps",
    abstract: "Run the manager of apps: it starts, suspends, wakes and ends them.",
    discussion: """
      While an app is suspended or doesn't run, the manager uses the radio for it, and wakes or launches it \
      for what it waits for. Without a subcommand it runs: "ambit apps --radio hci0" is "ambit apps run \
      --radio hci0". docs/apps.md describes it.

      EXAMPLES:
        ambit apps                       until Ctrl-C, with the radio of the hub
        ambit apps --radio hci0
        ambit apps status
      """,
    subcommands: [AppsRun.self, AppsStatus.self], defaultSubcommand: AppsRun.self)
}

/// Runs the manager of apps.
struct AppsRun: RadioCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Run the manager of this user's apps.",
    discussion: """
      It listens at "ambit/apps" in $XDG_RUNTIME_DIR, or at the path in AMBIT_APPS. The list of apps is the \
      database "ambit/apps.sqlite" in $XDG_STATE_HOME or ~/.local/state. Runs until SIGTERM, Ctrl-C or --timeout, \
      and ends the apps then, unless systemd restarts it. Its output is what it would log.

      EXAMPLES:
        ambit apps run
        ambit apps run --radio sim:empty --freezer signals
      """)

  @OptionGroup var options: GlobalOptions

  @Option(
    help: ArgumentHelp(
      "How suspended apps are kept from running: cgroup, a folder of control groups after it, or signals. "
        + "Default: the control group of the manager, if that is delegated to it, or else signals.",
      valueName: "way"))
  var freezer: FreezerArgument?

  @Option(
    help: ArgumentHelp(
      "How alerts are shown: terminal, desktop (by notify-send) or command: and the path of a program after it. "
        + "Default: the desktop, if there is one, or else the terminal.",
      valueName: "way"))
  var alerts: AlertsArgument?

  @Flag(
    inversion: .prefixedNo,
    help: "End suspended apps where processes of this machine wait for memory.")
  var memoryPressure = true

  /// Pairings of apps are answered where they are asked for.
  var pairingInput: PairingInput { .command }
  var waitsForReaders: Bool { false }

  func run(_ session: Session) async throws {
    let path = try AppsPlace.path()
    let store = try AppsPlace.store()
    let output = session.output
    let freezer = freezer?.freezer ?? .best
    let (reports, report) = AsyncStream.makeStream(
      of: String.self, bufferingPolicy: .bufferingOldest(256))
    let server: AppManagerServer
    do throws(AppManagerServerError) {
      server = try await AppManagerServer.start(
        at: path, provider(of: session), store: store, freezer: freezer,
        descriptors: .ofEnvironment(),
        alerts: alerts?.style ?? .best { ProcessInfo.processInfo.environment[$0] },
        memory: memoryPressure ? MemoryFiles() : .none
      ) { report.yield($0) }
    } catch {
      let isTaken = if case .isTaken = error { true } else { false }
      throw CommandFailure(isTaken ? .radioUnavailable : .failure, Fit.safe(error.sentence))
    }
    AppsText.serving(path, freezer, session)
    Task { for await sentence in reports { AppsText.report(sentence, output) } }
    let result: Result<Void, any Error>
    do {
      // The manager goes on without a radio, as a phone does.
      try await session.untilTime {
        await session.reportRadio()
        try await Task.sleep(for: .seconds(366 * 24 * 3_600))
      }
      result = .success(())
    } catch { result = .failure(error) }
    // The next manager takes over the apps of one that is started again.
    await server.close(leavesApps: UnitRestart.isUnderWay())
    report.finish()
    try result.get()
  }

  /// The apps' radio. The session's own connection to a hub reports each end of the hub.
  private func provider(of session: Session) -> any HostSessionProvider {
    let provider = session.host.provider
    return (provider as? HubSessionProvider)?.outlastingHub(for: Self.hubRestartTime) ?? provider
  }

  /// A service manager has started the hub again within this time.
  private static let hubRestartTime = TimeSpan.seconds(30)
}

/// `cgroup:FOLDER` or `signals`.
struct FreezerArgument: ExpressibleByArgument {
  let freezer: AppFreezer

  init?(argument: String) {
    if argument == "signals" {
      freezer = .signals
    } else if argument.hasPrefix("cgroup:/") {
      freezer = .controlGroups(folder: String(argument.dropFirst(7)))
    } else {
      return nil
    }
  }
}

/// Where the manager is.
enum AppsPlace {
  static func path() throws(CommandFailure) -> String {
    guard let path = AppManagerPlace.path else {
      throw CommandFailure(
        .failure,
        "there is no folder for the socket of the manager of apps: XDG_RUNTIME_DIR is not set to an absolute path"
      )
    }
    // Apps have working folders of their own.
    guard path.hasPrefix("/") else {
      throw CommandFailure(
        .usage, "AMBIT_APPS: \"\(path)\" is not the path of a socket, beginning with \"/\"")
    }
    return path
  }

  /// The list of apps, and what they preserve.
  static func store() throws(CommandFailure) -> any AppStore {
    let environment = ProcessInfo.processInfo.environment
    guard let path = StateFile.path(of: "apps.sqlite", { environment[$0] }),
      let file = StateFile.path(of: "apps.json", { environment[$0] })
    else {
      throw CommandFailure(
        .failure, "there is no folder for the list of apps: neither XDG_STATE_HOME nor HOME is set")
    }
    #if AppDatabase
      return AppStoreDatabase(path: path, importing: file)
    #else
      guard !FileManager.default.fileExists(atPath: path) else {
        throw CommandFailure(
          .failure,
          "the list of apps is in \(path), which needs a program that was built with the trait AppDatabase"
        )
      }
      return AppStoreFile(path: file)
    #endif
  }
}

/// What the manager prints.
enum AppsText {
  static func serving(_ path: String, _ freezer: AppFreezer, _ session: Session) {
    let output = session.output
    if output.isJSON {
      return output.object(
        .object([
          "event": .string("serving"), "socket": .string(path),
          "freezer": .string(freezer.description), "radio": .string(session.host.radioText),
        ]))
    }
    let means = freezer == .signals ? "signals" : "control groups"
    output.line(
      "Manager of apps at \(Fit.safe(path)), with a radio: \(Fit.safe(session.radioTitle)); "
        + "suspended apps are stopped by \(means)")
  }

  static func report(_ sentence: String, _ output: Output) {
    if output.isJSON {
      return output.object(
        .object(["event": .string("report"), "text": .string(sentence)]))
    }
    output.line(Fit.safe(sentence))
  }
}
