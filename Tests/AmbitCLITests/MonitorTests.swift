import BeaconMachines
import BluetoothWire
import Essentials
import Foundation
import StateFiles
import Testing

@testable import AmbitCLI

private let uuid = "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0"

@Suite("Commands of regions")
struct RegionCommandsTests {
  private static func crossing(
    _ event: RegionCommands.Event, _ region: String = "hall"
  ) -> RegionCommands.Crossing { .init(region: region, event: event, beacon: nil) }

  private static func seconds(_ count: Int64) -> Instant { .zero + .seconds(count) }

  @Test("the next event of a region waits for the command of the last one")
  func inOrder() {
    var commands = RegionCommands(patience: .seconds(30))
    #expect(commands.crossed(Self.crossing(.enter), now: .zero) == [.start(Self.crossing(.enter))])
    #expect(commands.crossed(Self.crossing(.exit), now: .zero) == [])
    #expect(
      commands.crossed(Self.crossing(.enter, "attic"), now: .zero)
        == [.start(Self.crossing(.enter, "attic"))])
    #expect(
      commands.ended(region: "hall", now: Self.seconds(1)) == [.start(Self.crossing(.exit))])
    #expect(commands.ended(region: "hall", now: Self.seconds(2)) == [])
    #expect(commands.ended(region: "hall", now: Self.seconds(2)) == [])
    #expect(commands.nextWake == nil)
  }

  @Test("a command that no event waits for may run as long as it likes")
  func unhurried() {
    var commands = RegionCommands(patience: .seconds(30))
    _ = commands.crossed(Self.crossing(.enter), now: .zero)
    #expect(commands.nextWake == nil)
    #expect(commands.wake(now: Self.seconds(100_000)) == [])
    _ = commands.crossed(Self.crossing(.exit), now: Self.seconds(100_000))
    #expect(commands.nextWake == Self.seconds(100_030))
  }

  @Test("a command that hangs is ended, then killed, and the next one begins")
  func hanging() {
    var commands = RegionCommands(patience: .seconds(30))
    _ = commands.crossed(Self.crossing(.enter), now: .zero)
    _ = commands.crossed(Self.crossing(.exit), now: Self.seconds(1))
    #expect(commands.wake(now: Self.seconds(30)) == [])
    #expect(commands.wake(now: Self.seconds(31)) == [.end(region: "hall", isForced: false)])
    #expect(commands.wake(now: Self.seconds(35)) == [])
    #expect(commands.wake(now: Self.seconds(36)) == [.end(region: "hall", isForced: true)])
    #expect(
      commands.ended(region: "hall", now: Self.seconds(36)) == [.start(Self.crossing(.exit))])
    #expect(commands.nextWake == nil)
  }

  @Test("the last of ten thousand events gets its command, and those that get none are counted")
  func many() {
    var commands = RegionCommands(patience: .seconds(30))
    _ = commands.crossed(Self.crossing(.enter), now: .zero)
    var skippedCount = 0
    for number in 1..<10_000 {
      let event: RegionCommands.Event = number % 2 == 0 ? .enter : .exit
      for case .skipped(_, let count) in commands.crossed(Self.crossing(event), now: .zero) {
        skippedCount += count
      }
    }
    var started: [RegionCommands.Event] = [.enter]
    while case .start(let next)? = commands.ended(region: "hall", now: .zero).first {
      started.append(next.event)
    }
    #expect(started.count + skippedCount == 10_000)
    #expect(started.count <= RegionCommands.waitingMax + 1 && started.last == .exit)
    #expect(zip(started, started.dropFirst()).allSatisfy { $0 != $1 })
  }

  @Test("a command for which the system has no room is started again, before later events")
  func noRoom() {
    var commands = RegionCommands(patience: .seconds(30))
    _ = commands.crossed(Self.crossing(.enter), now: .zero)
    commands.hadNoRoom(region: "hall", now: .zero)
    #expect(commands.crossed(Self.crossing(.exit), now: .zero) == [])
    #expect(commands.wake(now: .zero) == [])
    #expect(commands.wake(now: Self.seconds(1)) == [.start(Self.crossing(.enter))])
    #expect(
      commands.ended(region: "hall", now: Self.seconds(1)) == [.start(Self.crossing(.exit))])
  }
}

@Suite("The monitor's file", .timeLimit(.minutes(5)))
struct MonitorStoreTests {
  /// The name of a monitor's file.
  private static func name(_ digit: String) -> String {
    MonitorStore.prefix + String(repeating: digit, count: 16)
  }

  @Test("files of monitors that no process has used for a month are removed, and no others")
  func unused() throws {
    let folder = try TestFolder()
    func make(_ name: String, isOld: Bool) throws {
      let path = try folder.file(name, "ambit locations 1\n")
      guard isOld else { return }
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -40 * 24 * 3600)], ofItemAtPath: path)
    }
    for name in ["a", "b", "c"] {
      for suffix in ["", ".lock", ".owner.lock"] {
        try make(Self.name(name) + suffix, isOld: name != "b")
      }
    }
    try make(Self.name("a") + ".damaged-1", isOld: true)
    let others = ["MyApp", "ambit-monitor-hall.json", "ambit-monitor-hook.sh"]
    for name in others { try make(name, isOld: true) }
    let owned = StateFile(path: folder.path + "/" + Self.name("c"), byteCountMax: 100)
    let lock = try #require(try owned.takeLock("owner"))
    StateFile(path: folder.path + "/ambit-monitor-mine", byteCountMax: 100).removeUnusedSiblings(
      prefix: MonitorStore.prefix, owner: "owner",
      before: Int(Date().timeIntervalSince1970) - 30 * 24 * 3600)
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    let kept = ["b", "c"].flatMap { name in
      ["", ".lock", ".owner.lock"].map { Self.name(name) + $0 }
    }
    #expect(left == (others + kept).sorted(), "\(left)")
    withExtendedLifetime(lock) {}
  }

  @Test("a lock file that was removed while it was opened is not an owner's")
  func removedLock() throws {
    let folder = try TestFolder()
    let file = StateFile(path: folder.path + "/file", byteCountMax: 100)
    let first = try #require(try file.takeLock("owner"))
    try FileManager.default.removeItem(atPath: folder.path + "/file.owner.lock")
    #expect(try file.takeLock("owner") != nil, "a new file, a new lock")
    withExtendedLifetime(first) {}
  }

  @Test("monitors of other radios, regions or commands have files of their own")
  func names() {
    let all = [
      ["hci0", "A", "true"], ["hci1", "A", "true"], ["hci0", "A", "tr", "ue"], ["hci0A", "true"],
    ]
    #expect(Set(all.map(MonitorStore.digest)).count == all.count)
    #expect(all.allSatisfy { MonitorStore.digest($0).count == 16 })
  }
}

@Suite("The monitor of regions", .timeLimit(.minutes(5)))
struct MonitorRunTests {
  /// A beacon in a process of its own, which goes with this.
  private static func beacon(_ radio: ServedRadio, major: Int) async throws -> AmbitRun {
    let beacon = try AmbitRun([
      "beacon", "advertise", uuid, "\(major)", "1", "--radio", radio.name, "--json",
    ])
    #expect(await beacon.output.next(containing: "\"advertising\"") != nil)
    return beacon
  }

  @Test("after kill -9 an entered region isn't entered again, and is left when its beacon is gone")
  func killed() async throws {
    let folder = try TestFolder()
    let radio = try await ServedRadio("sim:empty")
    let environment = ["AMBIT_LOCATIONS": folder.path + "/state"]
    func monitor(_ regions: [String]) throws -> AmbitRun {
      try AmbitRun(
        ["monitor"] + regions + [
          "--exit-delay", "3", "--radio", radio.name, "--json", "--",
          "sh", "-c", "echo $AMBIT_EVENT $AMBIT_REGION >> '\(folder.path)/visits'",
        ], environment: environment)
    }
    let beacon = try await Self.beacon(radio, major: 7)
    let first = try monitor(["\(uuid)/7"])
    #expect(await first.output.next(containing: "\"enter\"") != nil)
    try await Self.waitForEntered(in: folder.path + "/state")
    try await TestFolder.waitForFile(folder.path + "/visits", of: 6)
    first.send(SIGKILL)
    _ = await first.end()

    // A new region shows that the beacon was received.
    let second = try monitor(["\(uuid)/7", uuid])
    let entered = try #require(await second.output.next(containing: "\"event\""))
    #expect(entered.contains("\"enter\"") && entered.contains("\"region\":\"\(uuid)\""))
    beacon.interrupt()
    _ = await beacon.end()
    for _ in 0..<2 { #expect(await second.output.next(containing: "\"exit\"") != nil) }
    let all = ["enter \(uuid)/7", "enter \(uuid)", "exit \(uuid)/7", "exit \(uuid)", ""]
    let byteCount = all.joined(separator: "\n").utf8.count
    try await TestFolder.waitForFile(folder.path + "/visits", of: UInt64(byteCount - 1))
    second.terminate()
    _ = await second.end()
    let visits = try String(contentsOfFile: folder.path + "/visits", encoding: .utf8)
    #expect(visits.split(separator: "\n").sorted() == all.dropLast().map { $0[...] }.sorted())
  }

  /// Returns when the file of a monitor has an entered region.
  private static func waitForEntered(in file: String) async throws {
    while true {
      let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
      // "ARM", the version, the number of regions; then entered, both events, and a major number.
      if text.contains("regions 41524d0101002d") { return }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  @Test("a radio that goes is reported in text and JSON, no region is left, and it is used again")
  func deadRadio() async throws {
    let folder = try TestFolder()
    let address = "unix:\(folder.path)/radio"
    func serve() async throws -> AmbitRun {
      let server = try AmbitRun(["radio", "serve", address])
      #expect(await server.output.next(containing: "Serving ") != nil)
      return server
    }
    let server = try await serve()
    let monitor = try AmbitRun(
      [
        "monitor", "\(uuid)/1", "--exit-delay", "2", "--radio", address, "--json", "--", "true",
      ], environment: ["XDG_STATE_HOME": folder.path])
    #expect(await monitor.output.next(containing: "\"enter\"") != nil)
    server.interrupt()
    _ = await server.end()
    let gone = try #require(await monitor.output.next(containing: "\"event\":"))
    #expect(gone.contains("\"radio\"") && gone.contains("\"works\":false"), "\(gone)")
    #expect(gone.contains("\"problem\""))
    #expect(await monitor.complaints.next(containing: "waiting for it") != nil)
    // Longer than the exit delay: that nothing happens can't be awaited.
    try await Task.sleep(for: .seconds(4))
    let again = try await serve()
    #expect(await monitor.output.next(containing: "\"works\":true") != nil)
    #expect(await monitor.complaints.next(containing: "the radio is back") != nil)
    monitor.terminate()
    let end = await monitor.end()
    #expect(!end.output.contains { $0.contains("\"exit\"") }, "\(end)")
    again.interrupt()
    _ = await again.end()
  }

  @Test("a radio that freezes makes no exit, however short the exit delay", arguments: ["1", "10"])
  func frozenRadio(exitDelay: String) async throws {
    let folder = try TestFolder()
    let radio = "unix:\(folder.path)/radio"
    let server = try AmbitRun(["radio", "serve", radio])
    #expect(await server.output.next(containing: "Serving ") != nil)
    let monitor = try AmbitRun(
      [
        "monitor", "\(uuid)/1", "--exit-delay", exitDelay, "--radio", radio, "--json", "--", "true",
      ], environment: ["XDG_STATE_HOME": folder.path])
    #expect(await monitor.output.next(containing: "\"enter\"") != nil)
    server.send(SIGSTOP)
    let next = try #require(await monitor.output.next(containing: "\"event\":"))
    #expect(next.contains("\"radio\"") && next.contains("\"works\":false"), "\(next)")
    monitor.terminate()
    let end = await monitor.end()
    #expect(!end.output.contains { $0.contains("\"exit\"") }, "\(end)")
    server.send(SIGCONT)
    server.interrupt()
    _ = await server.end()
  }

  @Test("the status of a command is reported although the parent of the monitor ignored SIGCHLD")
  func ignoredEnds() async throws {
    let folder = try TestFolder()
    let monitor = try AmbitRun(
      ["monitor", "\(uuid)/1", "--timeout", "60", "--json", "--", "sh", "-c", "exit 3"],
      environment: ["XDG_STATE_HOME": folder.path], shell: "trap '' CHLD")
    #expect(await monitor.complaints.next(containing: "sh ended with status 3") != nil)
    monitor.terminate()
    _ = await monitor.end()
  }

  /// A pipe with a name that is full, with a reader that takes nothing.
  private final class StuckReader: Sendable {
    let path: String
    private let descriptor: Int32

    init(in folder: borrowing TestFolder) throws {
      path = folder.path + "/reader"
      try #require(mkfifo(path, 0o600) == 0)
      descriptor = open(path, O_RDWR | O_NONBLOCK)
      try #require(descriptor >= 0)
      for byteCount in [4_096, 1] {
        let bytes = [UInt8](repeating: 0, count: byteCount)
        while write(descriptor, bytes, byteCount) > 0 {}
      }
    }

    deinit { close(descriptor) }
  }

  @Test(
    "a reader that takes nothing stops neither the commands of regions nor the end",
    arguments: [[], ["--json"]], ["exec >'READER'", "exec 2>'READER'", "exec >'READER' 2>&1"])
  func stuckReader(options: [String], redirection: String) async throws {
    let folder = try TestFolder()
    let reader = try StuckReader(in: folder)
    let file = folder.path + "/visits"
    let monitor = try AmbitRun(
      ["monitor", "\(uuid)/1/1", "\(uuid)/1/2"] + options + [
        "--", "sh", "-c", "echo $AMBIT_EVENT >> '\(file)'",
      ], environment: ["XDG_STATE_HOME": folder.path],
      shell: redirection.replacing("READER", with: reader.path))
    try await TestFolder.waitForFile(file, of: UInt64("enter\n".utf8.count * 2 - 1))
    monitor.terminate()
    #expect(await monitor.exitStatus() == 128 + SIGTERM)
    withExtendedLifetime(reader) {}
  }

  @Test("SIGTERM ends the commands of regions, too, and starts none of those that wait")
  func terminated() async throws {
    let folder = try TestFolder()
    let monitor = try AmbitRun(
      [
        "monitor", "\(uuid)/1/1", "\(uuid)/1/2", "--json", "--", "sh", "-c",
        // The second region's ignores the signal.
        "case $AMBIT_REGION in *2) trap '' TERM;; esac; echo begun $AMBIT_REGION; "
          + "while :; do sleep 1000; done",
      ], environment: ["XDG_STATE_HOME": folder.path])
    for _ in 0..<2 { #expect(await monitor.output.next(containing: "begun") != nil) }
    monitor.terminate()
    // They have its standard output: its end comes with the end of the last of them.
    let end = await monitor.end()
    #expect(end.isSignalled && end.status == 128 + SIGTERM, "\(end)")
    #expect(!end.complaints.contains { $0.contains("by signal") }, "\(end)")
  }

  @Test("commands that hang in many regions lose no exit")
  func hanging() async throws {
    let folder = try TestFolder()
    let radio = try await ServedRadio("sim:empty")
    // Regions with the same beacon, which differ in the case of a letter.
    let letters = uuid.indices.filter { uuid[$0].isLetter }.prefix(9)
    let regions = letters.flatMap { index in
      let text = uuid.replacingCharacters(in: index...index, with: uuid[index].lowercased())
      return [text, text + "/7"]
    }
    #expect(Set(regions).count == 18)
    let file = folder.path + "/exits"
    let monitor = try AmbitRun(
      ["monitor"] + regions + [
        "--exit-delay", "1", "--patience", "1", "--radio", radio.name, "--json", "--", "sh", "-c",
        "case $AMBIT_EVENT in enter) trap '' TERM; while :; do sleep 9; done;; "
          + "*) echo $AMBIT_EVENT >> '\(file)';; esac",
      ], environment: ["XDG_STATE_HOME": folder.path])
    #expect(await monitor.complaints.next(containing: "Monitoring") != nil)
    let beacon = try await Self.beacon(radio, major: 7)
    for _ in regions { #expect(await monitor.output.next(containing: "\"enter\"") != nil) }
    beacon.interrupt()
    _ = await beacon.end()
    try await TestFolder.waitForFile(file, of: UInt64("exit\n".utf8.count * regions.count - 1))
    monitor.terminate()
    _ = await monitor.end()
  }
}

@Suite("Names that fit two devices", .timeLimit(.minutes(5)))
struct AmbiguousNameTests {
  private static func device(_ name: String, _ number: Int) -> String {
    """
    {"name": "\(name)", "address": "C0:00:00:00:00:1\(number)", "services": [{"uuid": "battery", "characteristics": [
      {"uuid": "battery level", "value": {"uint8": 87}, "writeable": true}]}]}
    """
  }

  @Test(
    "a name that fits two devices fails in every command and lists them",
    arguments: [
      (["read", "door", "2A19"], ["Front door", "Back door"]),
      (["read", "Door", "2A19"], ["Door", "Door"]),
      (["write", "door", "2A19", "1"], ["Front door", "Back door"]),
      (["subscribe", "door", "2A19", "--count", "1"], ["Front door", "Back door"]),
      (["inspect", "door"], ["Front door", "Back door"]),
      (["shell", "door"], ["Front door", "Back door"]),
      (["channel", "door", "128"], ["Front door", "Back door"]),
      (["record", "door", "-", "--duration", "1"], ["Front door", "Back door"]),
    ])
  func ambiguous(command: [String], names: [String]) async throws {
    let folder = try TestFolder()
    let files = try names.enumerated().map {
      try folder.file("\($0.offset).json", Self.device($0.element, $0.offset))
    }
    let run = try AmbitRun(command + ["--radio", "sim:" + files.joined(separator: ",")])
    run.closeInput()
    let end = await run.end()
    #expect(end.status == AmbitCLI.ExitStatus.notFound.rawValue, "\(end)")
    let sentence = end.complaints.joined(separator: " ")
    #expect(sentence.contains("fits 2 devices"), "\(end)")
    #expect(names.allSatisfy { sentence.contains("(\($0))") }, "\(end)")
    // It shows none of the two, and blames no step.
    if command[0] == "inspect" {
      #expect(end.output.isEmpty && !sentence.contains("while"), "\(end)")
    }
  }
}
