import ArgumentParser
import BluetoothHost
import Foundation
import Synchronization
import Testing

@testable import AmbitCLI

@Suite("The installation of a hub", .timeLimit(.minutes(5)))
struct HubInstallTests {
  private let folder = Folder()

  /// A folder that is removed with the test.
  private final class Folder {
    let path = FileManager.default.temporaryDirectory
      .appending(path: "ambit-units-\(UUID().uuidString)").path

    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  private static func units(
    _ radio: String = "hci0", executable: String = "/usr/bin/env", runsNetwork: Bool = true
  ) throws -> HubUnits {
    try HubUnits(
      .system, radio: RadioChoice(parsing: radio), executable: executable,
      runsNetwork: runsNetwork)
  }

  private var units: UnitFolder { UnitFolder(path: folder.path) }

  private func text(_ name: String) throws -> String {
    try String(contentsOfFile: units.place(of: name), encoding: .utf8)
  }

  // MARK: Files

  @Test("files are written once, for all to read, and replaced when their content differs")
  func writing() throws {
    let files = try Self.units().files
    let written = try units.write(files, replacesOthers: false)
    #expect(written == files.map(\.name))
    for file in files {
      #expect(try text(file.name) == file.text)
      let attributes = try FileManager.default.attributesOfItem(
        atPath: units.place(of: file.name))
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o644)
    }
    #expect(try units.write(files, replacesOthers: false) == [])
    let others = try Self.units("sim").files
    #expect(try units.write(others, replacesOthers: false) == ["ambit-hub.service"])
    #expect(try text("ambit-hub.service") == others[1].text)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.sorted() == ["ambit-hub.service", "ambit-hub.socket"])
  }

  @Test("a folder is marked from the first change of its units until the service manager uses them")
  func marking() throws {
    let files = try Self.units().files
    _ = try units.write(files, replacesOthers: false, marks: true)
    #expect(units.isMarked)
    // The next installation writes nothing, and finds the mark.
    #expect(try units.write(files, replacesOthers: false, marks: true) == [])
    #expect(units.isMarked)
    try units.unmark()
    #expect(!units.isMarked)
    #expect(try units.write(files, replacesOthers: false, marks: true) == [])
    #expect(!units.isMarked)
    try units.unmark()
  }

  @Test("a hub that runs is stopped only if its units changed, or an earlier installation failed")
  func uses() throws {
    var place = ServicePlace(scope: .system, root: nil)
    let reload = ["systemctl", "daemon-reload"]
    let start = ["systemctl", "enable", "--now", "ambit-hub.socket"]
    func stop(_ names: String...) -> [String] { ["systemctl", "stop"] + names }
    let unchanged = UnitUse(place, written: [], isIncomplete: false)
    #expect(unchanged.commands == [start])
    #expect(unchanged.effect.contains("\"systemctl restart ambit-hub.service\""))
    let service = UnitUse(place, written: ["ambit-hub.service"], isIncomplete: false)
    #expect(service.commands == [reload, stop("ambit-hub.service"), start])
    #expect(service.effect.contains("its units have changed"))
    let socket = UnitUse(place, written: ["ambit-hub.socket"], isIncomplete: false)
    #expect(socket.commands == [reload, stop("ambit-hub.service", "ambit-hub.socket"), start])
    let failed = UnitUse(place, written: [], isIncomplete: true)
    #expect(failed.commands == socket.commands)
    #expect(failed.effect.contains("an earlier installation did not come to its end"))
    place = ServicePlace(scope: .user, root: nil)
    #expect(
      UnitUse(place, written: [], isIncomplete: false).effect
        .contains("\"systemctl --user restart ambit-hub.service\""))
  }

  @Test("a file that was changed, or that others wrote, is kept with all the others")
  func keeping() throws {
    let files = try Self.units().files
    _ = try units.write(files, replacesOthers: false)
    let service = units.place(of: "ambit-hub.service")
    for (content, error) in [
      (files[1].text + "# mine\n", UnitFolderError.changed(service)),
      ("[Service]\n", .foreign(service)), ("", .foreign(service)),
      (String(repeating: "#", count: 1_000_000), .foreign(service)),
    ] {
      try content.write(toFile: service, atomically: false, encoding: .utf8)
      let socket = try Self.units().files[0]
      let others = [UnitFile(name: socket.name, body: "[Socket]\n")] + [files[1]]
      #expect(throws: error) { try units.write(others, replacesOthers: false) }
      #expect(throws: error) {
        try units.removable(["ambit-hub.socket", "ambit-hub.service"], removesOthers: false)
      }
      #expect(try text("ambit-hub.service") == content)
      #expect(try text("ambit-hub.socket") == socket.text)
    }
    _ = try units.write(files, replacesOthers: true)
    #expect(try text("ambit-hub.service") == files[1].text)
  }

  @Test("a link in the place of a unit, as of a masked one, is not followed")
  func links() throws {
    let target = folder.path + "/target"
    try FileManager.default.createDirectory(
      atPath: folder.path, withIntermediateDirectories: true)
    try "kept".write(toFile: target, atomically: false, encoding: .utf8)
    let service = units.place(of: "ambit-hub.service")
    #expect(symlink(target, service) == 0)
    let files = try Self.units().files
    #expect(throws: UnitFolderError.foreign(service)) {
      try units.write(files, replacesOthers: false)
    }
    _ = try units.write(files, replacesOthers: true)
    #expect(try text("ambit-hub.service") == files[1].text)
    #expect(try String(contentsOfFile: target, encoding: .utf8) == "kept")
  }

  @Test("what can't be read or written is an error with its reason")
  func failures() throws {
    try FileManager.default.createDirectory(
      atPath: folder.path, withIntermediateDirectories: true)
    let file = folder.path + "/file"
    try "".write(toFile: file, atomically: false, encoding: .utf8)
    let impossible = UnitFolder(path: file + "/folder")
    #expect(throws: UnitFolderError.failed(file + "/folder", "the folder can't be made")) {
      try impossible.write(try Self.units().files, replacesOthers: false)
    }
    #expect(try impossible.removable(["ambit-hub.service"], removesOthers: false) == [])
  }

  // MARK: Service managers

  @Test("without systemd there is one sentence with the command line for other supervisors")
  func noSystemd() throws {
    var place = ServicePlace(scope: .system, root: nil)
    place.systemdFiles = [folder.path + "/systemd"]
    let error = #expect(throws: CommandFailure.self) {
      try place.checkManager(hub: ["/opt/my tools/ambit", "hub", "run", "--radio", "hci0"])
    }
    #expect(
      error?.sentence.hasSuffix(": '/opt/my tools/ambit' hub run --radio hci0") == true)
    #expect(throws: Never.self) {
      try ServicePlace(scope: .system, root: folder.path).checkManager(hub: [])
    }
  }

  @Test(
    "a user without rights gets the command with sudo, and needs none for a hub of the user's own")
  func rights() throws {
    var place = ServicePlace(scope: .system, root: nil)
    place.userID = 1_000
    let error = #expect(throws: CommandFailure.self) {
      try place.checkUser("install --radio hci0")
    }
    #expect(error?.status == .notPermitted)
    #expect(error?.sentence.contains("\"sudo ambit hub install --radio hci0\"") == true)
    var own = ServicePlace(scope: .user, root: nil)
    own.userID = 1_000
    #expect(throws: Never.self) { try own.checkUser("install") }
    #expect(own.arguments(["daemon-reload"]) == ["systemctl", "--user", "daemon-reload"])
    #expect(
      try own.folder(["HOME": "/home/ann"]).path == "/home/ann/.config/systemd/user")
    #expect(
      try own.folder(["HOME": "/home/ann", "XDG_CONFIG_HOME": "/c"]).path == "/c/systemd/user")
    #expect(throws: CommandFailure.self) { try own.folder(["HOME": "relative"]) }
  }

  @Test("commands are shown and run in their order until one fails, and only shown without systemd")
  func commands() throws {
    try FileManager.default.createDirectory(
      atPath: folder.path, withIntermediateDirectories: true)
    let (log, program) = (folder.path + "/log", folder.path + "/program")
    try "#!/bin/sh\necho \"$*\" >> '\(log)'\ntest \"$2\" != fail\n"
      .write(toFile: program, atomically: false, encoding: .utf8)
    chmod(program, 0o755)
    let shown = Mutex<[String]>([])
    var run = SystemctlRun(isRunning: true) { line in shown.withLock { $0.append(line) } }
    run.program = program
    let commands = [
      ["systemctl", "daemon-reload"], ["systemctl", "fail"], ["systemctl", "later"],
    ]
    let error = #expect(throws: CommandFailure.self) { try run.run(commands) }
    #expect(error?.sentence == "\"systemctl fail\" failed with status 1")
    #expect(
      try String(contentsOfFile: log, encoding: .utf8)
        == "systemctl daemon-reload\nsystemctl fail\n")
    #expect(shown.withLock(\.self) == ["  systemctl daemon-reload", "  systemctl fail"])

    var other = SystemctlRun(isRunning: false) { line in shown.withLock { $0.append(line) } }
    other.program = program
    try other.run([["systemctl", "later"]])
    #expect(shown.withLock { Array($0.dropFirst(2)) }.last == "  systemctl later")
    #expect(try !String(contentsOfFile: log, encoding: .utf8).contains("later"))
  }

  // MARK: systemd's own judgement

  private static let analyzer = "/usr/bin/systemd-analyze"
  private static let hasAnalyzer = access(analyzer, X_OK) == 0

  /// What `systemd-analyze` prints about files.
  private func analyze(_ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: Self.analyzer)
    process.arguments = arguments
    process.environment = [
      "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": folder.path, "HOME": folder.path, "LANG": "C",
    ]
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self)
  }

  @Test(
    "systemd's exposure level of each radio's service is at most 2.0",
    .enabled(if: hasAnalyzer, "systemd-analyze is not installed"),
    arguments: [
      "hci0", "uart:/dev/ttyUSB0", "uart:/dev/ttyAMA0", "tcp:192.0.2.1:9100",
      "tcp:radio.local:9100",
      "unix:/run/radio", "sim",
    ], [true, false])
  func exposure(_ radio: String, runsNetwork: Bool) throws {
    let files = try Self.units(radio, runsNetwork: runsNetwork).files
    _ = try units.write(files, replacesOthers: false)
    let text = try analyze([
      "security", "--offline=yes", "--no-pager", units.place(of: "ambit-hub.service"),
    ])
    let level = try #require(
      text.firstMatch(of: #/Overall exposure level for \S+: ([0-9.]+)/#).flatMap {
        Double($0.output.1)
      }, "\(text)")
    #expect(level <= 2.0, "\(radio): \(text)")
  }

  @Test(
    "systemd finds no fault in the units, and starts the program at a path with special characters",
    .enabled(if: hasAnalyzer, "systemd-analyze is not installed"))
  func verification() throws {
    let tools = folder.path + "/a b%i$x;é#"
    try FileManager.default.createDirectory(atPath: tools, withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: "/usr/bin/env", toPath: tools + "/ambit")
    let places = ["ambit-hub.socket", "ambit-hub.service"].map(units.place)
    for scope in HubUnits.Scope.allCases {
      for radio in ["sim", "uart:/dev/ttyUSB0", "tcp:192.0.2.1:9100"] {
        let files = try HubUnits(
          scope, radio: RadioChoice(parsing: radio), executable: tools + "/ambit"
        ).files
        _ = try units.write(files, replacesOthers: false)
        let manager = scope == .user ? ["--user"] : []
        // Units of this machine on which they depend may have faults of their own.
        let faults = try analyze(manager + ["verify"] + places).split(separator: "\n")
          .filter { $0.contains("ambit") }
        #expect(faults == [], "\(scope) \(radio)")
      }
    }
    // The programs are looked for: without that, all paths would pass.
    let absent = try Self.units("sim", executable: folder.path + "/absent").files
    _ = try units.write(absent, replacesOthers: false)
    #expect(try analyze(["verify"] + places).contains("absent is not executable"))
  }

  // MARK: The commands

  @Test("options without a subcommand run the hub, and subcommands have their own")
  func parsing() throws {
    for line in [
      ["hub"], ["hub", "--radio", "sim"], ["--radio", "sim", "hub"],
      ["hub", "run", "--radio", "sim"],
      ["hub", "--radio", "sim", "--socket", "/tmp/hub", "--json"], ["hub", "--json", "run"],
    ] {
      let run = try #require(
        try Ambit.parseAsRoot(Main.movingOptions(line)) as? HubRun, "\(line)")
      #expect((run.options.global.radio == "sim") == line.contains("sim"))
      #expect(run.options.global.json == line.contains("--json"))
    }
    let install = try #require(
      try Ambit.parseAsRoot(
        Main.movingOptions(["--radio", "sim", "hub", "install", "--user", "--print"]))
        as? HubInstall)
    #expect(install.radio == "sim" && install.options.scope == .user && install.print)
    #expect(try Ambit.parseAsRoot(["hub", "uninstall"]) is HubUninstall)
    #expect(throws: (any Error).self) {
      try Ambit.parseAsRoot(["hub", "install", "--user", "--system"])
    }
    #expect(throws: (any Error).self) { try Ambit.parseAsRoot(["hub", "serve"]) }
  }

  @Test("--print shows both files, reports a program in a build folder, and changes nothing")
  func printing() async throws {
    let end = try await AmbitRun.end(
      "hub", "install", "--print", "--radio", "hci1", "--prefix", folder.path)
    #expect(end.status == 0)
    let output = end.output.joined(separator: "\n")
    for name in ["ambit-hub.socket", "ambit-hub.service"] {
      #expect(output.contains("# \(folder.path)/etc/systemd/system/\(name)\n"))
    }
    #expect(output.contains(" hub run --radio hci1\n") && output.contains("DynamicUser=yes"))
    #expect(end.complaints.count == 1, "\(end.complaints)")
    #expect(!FileManager.default.fileExists(atPath: folder.path))
  }

  @Test
  func
    `Without the program of the hub, running and installing one fail, and --print shows the units`()
    async throws
  {
    // A folder with the one program, on the file system of the build.
    let alone = """
      folder=$(mktemp -d -p "${0%/*}"); ln "$(readlink -f "$0")" "$folder/ambit"; \
      "$folder/ambit" "$@"; status=$?; rm -r "$folder"; exit $status
      """
    let environment = ["XDG_CONFIG_HOME": folder.path]
    let run = try await AmbitRun.end(
      "hub", "--radio", "sim", "--socket", folder.path + "/hub", shell: alone)
    #expect(run.status == ExitStatus.failure.rawValue)
    #expect(
      run.complaints.contains { $0.contains("/ambit-hub, can't be started") }, "\(run.complaints)")
    let install = try await AmbitRun.end(
      "hub", "install", "--user", "--radio", "sim", environment: environment, shell: alone)
    #expect(install.status == ExitStatus.notFound.rawValue)
    #expect(
      install.complaints.contains {
        $0.hasSuffix("/ambit-hub, which the service runs, is not installed.")
      },
      "\(install.complaints)")
    #expect(!FileManager.default.fileExists(atPath: folder.path))
    let units = try await AmbitRun.end(
      "hub", "install", "--user", "--radio", "sim", "--print", environment: environment,
      shell: alone)
    #expect(units.status == 0 && units.output.contains { $0.contains(" hub run --radio sim") })
  }

  @Test("a hub is installed, installed again, changed by its user, kept, and uninstalled")
  func life() async throws {
    let install = ["hub", "install", "--radio", "sim", "--prefix", folder.path]
    let place = folder.path + "/etc/systemd/system/ambit-hub.service"
    func run(_ arguments: [String]) async throws -> AmbitRun.End {
      let run = try AmbitRun(arguments)
      run.closeInput()
      return await run.end()
    }
    let first = try await run(install)
    #expect(first.status == 0 && first.output.contains { $0.contains("Wrote \(place)") })
    #expect(first.output.contains { $0.contains("systemctl enable --now ambit-hub.socket") })
    let again = try await run(install)
    #expect(again.status == 0 && again.output.contains { $0.contains("installed already") })
    #expect(!again.output.contains { $0.contains("systemctl stop") })

    let text = try String(contentsOfFile: place, encoding: .utf8) + "# mine\n"
    try text.write(toFile: place, atomically: false, encoding: .utf8)
    let uninstall = ["hub", "uninstall", "--prefix", folder.path]
    for command in [install, uninstall] {
      let end = try await run(command)
      #expect(end.status == ExitStatus.cannotCreate.rawValue)
      #expect(end.complaints.last?.contains("was changed since") == true, "\(end)")
      #expect(try String(contentsOfFile: place, encoding: .utf8) == text)
    }
    let forced = try await run(uninstall + ["--force"])
    #expect(forced.status == 0 && !FileManager.default.fileExists(atPath: place))
    let nothing = try await run(uninstall)
    #expect(nothing.status == ExitStatus.notFound.rawValue && nothing.complaints.count == 1)
  }

  @Test("a user's hub with a controller ends with one sentence, and so does one without a radio")
  func refusals() async throws {
    let controller = try await AmbitRun.end(
      "hub", "install", "--user", "--radio", "hci0", "--print")
    #expect(controller.status == ExitStatus.usage.rawValue && controller.output.isEmpty)
    #expect(controller.complaints.count == 1)
    #expect(controller.complaints[0].contains("takes CAP_NET_ADMIN"), "\(controller)")
    let none = try await AmbitRun.end(
      "hub", "install", "--user", "--print", environment: ["AMBIT_RADIO": ""])
    #expect(none.status == ExitStatus.usage.rawValue && none.complaints.count == 1)
  }
}
