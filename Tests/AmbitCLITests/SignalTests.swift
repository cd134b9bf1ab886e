import Foundation
import Testing

@testable import AmbitCLI

@Suite("Signals", .serialized, .timeLimit(.minutes(5)))
struct SignalTests {
  /// Commands that go on, of each kind.
  private static let commands: [[String]] = [
    ["watch", "--json", "--no-network"], ["advertise", "--name", "Lamp", "--json"],
    ["radio", "serve", "tcp:localhost:0", "--json"], ["beacons", "--json"],
    ["publish", "Lamp", "_a-signal._tcp", "80", "--interface", "lo", "--json"],
  ]

  /// Whether this process, and so its children, ignore a signal: `nohup ./test` does SIGHUP.
  private static func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    return sigaction(number, nil, &action) == 0
      && unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
  }

  @Test("a command cleans up and ends by the signal itself", arguments: commands)
  func endsBySignal(command: [String]) async throws {
    for number in [SIGTERM, SIGINT, SIGHUP] where !Self.isIgnored(number) {
      let run = try AmbitRun(command)
      #expect(await run.output.next(containing: "\"event\"") != nil)
      run.send(number)
      let end = await run.end()
      #expect(end.isSignalled && end.status == 128 + number, "\(command), \(end)")
      #expect(end.complaints.isEmpty, "\(end)")
    }
  }

  @Test func `A second Ctrl-C ends the clean-up, and of SIGTERM the third`() {
    for (numbers, steps): ([Int32], [SignalEndings.Step]) in [
      ([SIGINT, SIGINT], [.end, .endNow]),
      ([SIGTERM, SIGTERM, SIGTERM], [.end, .goOn, .endNow]),
      ([SIGHUP, SIGHUP, SIGHUP, SIGTERM], [.end, .goOn, .goOn, .goOn]),
      ([SIGINT, SIGTERM, SIGTERM, SIGTERM], [.end, .goOn, .goOn, .endNow]),
      ([SIGTERM, SIGINT], [.end, .endNow]),
    ] {
      var endings = SignalEndings()
      #expect(numbers.map { endings.receive($0) } == steps)
    }
  }

  @Test("a reader that takes nothing doesn't hold up the end", arguments: commands)
  func stuckReader(command: [String]) async throws {
    let reader = StuckReader()
    let folder = try TestFolder()
    let isOfRadio = command[0] != "publish" && command[0] != "radio"
    let capture = folder.path + "/air.btsnoop"
    let run = try AmbitRun(
      command, environment: isOfRadio ? ["AMBIT_CAPTURE": capture] : [:],
      writingTo: reader.pipe.fileHandleForWriting)
    if isOfRadio {
      try await TestFolder.waitForFile(capture, of: 200)
    } else {
      try await Self.waitUntilCaught(SIGTERM, by: run)
    }
    run.terminate()
    // The reader stays as it is, so a command that it holds up ends by the time limit of these tests.
    let end = await run.processEnd()
    #expect(end.isSignalled && end.status == 128 + SIGTERM)
    withExtendedLifetime(reader.pipe) {}
  }

  @Test(
    "a reader that takes nothing doesn't hold up the end of the time, which is no success",
    arguments: [
      ["publish", "Lamp", "_a-limit._tcp", "80", "--interface", "lo"],
      ["publish", "Lamp", "_a-limit._tcp", "80", "--interface", "lo", "--json"],
      ["browse", "--types", "--interface", "lo"], ["radio", "serve", "tcp:localhost:0"],
      ["radio", "serve", "tcp:localhost:0", "--json"],
    ])
  func stuckReaderInTime(command: [String]) async throws {
    let publisher =
      command[0] == "browse"
      ? try AmbitRun(["publish", "Other", "_a-limit._tcp", "80", "--interface", "lo", "--json"])
      : nil
    if let publisher {
      #expect(await publisher.output.next(containing: "\"published\"") != nil)
    }
    let reader = StuckReader()
    // What it can't print, it has to find first.
    let limit = publisher == nil ? "5" : "10"
    let run = try AmbitRun(
      command + ["--timeout", limit], writingTo: reader.pipe.fileHandleForWriting)
    let end = await run.processEnd()
    #expect(!end.isSignalled && end.status == AmbitCLI.ExitStatus.timedOut.rawValue, "\(command)")
    withExtendedLifetime((reader.pipe, publisher)) {}
  }

  @Test("a second signal ends a command at once, whatever it waits for")
  func secondSignal() async throws {
    let reader = StuckReader()
    let folder = try TestFolder()
    let capture = folder.path + "/air.btsnoop"
    let run = try AmbitRun(
      ["watch", "--json"], environment: ["AMBIT_CAPTURE": capture],
      writingTo: reader.pipe.fileHandleForWriting)
    try await TestFolder.waitForFile(capture, of: 200)
    run.terminate()
    run.interrupt()
    let end = await run.processEnd()
    #expect(end.isSignalled && [SIGTERM, SIGINT].map { $0 + 128 }.contains(end.status))
    withExtendedLifetime(reader.pipe) {}
  }

  @Test("a signal that was ignored when the command began stays ignored")
  func ignored() async throws {
    let run = try AmbitRun(["watch", "--json"], shell: "trap '' HUP INT")
    #expect(await run.output.next(containing: "discovered") != nil)
    run.send(SIGHUP)
    run.send(SIGINT)
    #expect(await run.output.next(containing: "\"event\"") != nil)
    run.terminate()
    let end = await run.end()
    #expect(end.isSignalled && end.status == 128 + SIGTERM)
  }

  @Test("Ctrl-C ends the loop of a shell, too")
  func loop() async throws {
    let run = try AmbitRun(
      ["scan", "--json"], onTerminal: true,
      jobScript: "for i in 1 2 3; do $ambit; echo 'next round'; done", drawsScreen: false)
    #expect(await run.output.next(containing: "discovered") != nil)
    try run.write("\u{3}")
    let end = await run.end()
    #expect(!end.output.contains { $0.contains("next round") }, "\(end)")
    #expect(end.status == 128 + SIGINT)
  }

  @Test("help and mistakes need no signals, and a reader that is gone ends them")
  func help() async throws {
    let help = try await AmbitRun.end("scan", "--help")
    #expect(help.status == 0 && help.output.contains { $0.contains("EXAMPLES:") })
  }

  /// Returns when a process has an action of its own for a signal.
  private static func waitUntilCaught(_ number: Int32, by run: AmbitRun) async throws {
    while true {
      let text = try String(contentsOfFile: "/proc/\(run.processID)/status", encoding: .utf8)
      let lines = text.split(separator: "\n")
      let masks = BeaconCommandTests.masks(in: lines, of: "SigCgt")
      if masks.contains(where: { $0 >> UInt64(number - 1) & 1 == 1 }) { return }
      try await Task.sleep(for: .milliseconds(20))
    }
  }
}

@Suite("Simulated devices are called simulated", .timeLimit(.minutes(5)))
struct SimulatedByDefaultTests {
  /// Where a controller can be opened, commands use that one.
  private static let isSimulated =
    (try? FileManager.default.contentsOfDirectory(
      atPath: "/sys/class/bluetooth"))?.isEmpty ?? true

  private static let unnamed = ["AMBIT_RADIO": ""]

  @Test(
    "each command of the radio reports on standard error that no radio was named",
    .enabled(if: isSimulated),
    arguments: [
      ["scan", "--timeout", "2"], ["watch", "--timeout", "2", "--no-network"],
      ["inspect", "strap"], ["read", "strap", "2A38"],
      ["write", "strap", "2A39", "1"], ["subscribe", "strap", "2A37", "--count", "1"],
      ["shell", "strap"], ["beacons", "--timeout", "1"],
      ["advertise", "--name", "A", "--timeout", "1"],
      ["beacon", "advertise", "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0", "1", "1", "--timeout", "1"],
      ["monitor", "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0", "--timeout", "1", "--", "true"],
      ["status"], ["capture", "/dev/null", "--timeout", "1"],
      ["record", "strap", "-", "--duration", "1"],
      ["channel", "--listen", "--timeout", "1"],
      ["trace", "record", "/dev/null", "--timeout", "1"],
    ])
  func remark(command: [String]) async throws {
    let run = try AmbitRun(command, environment: Self.unnamed)
    run.closeInput()
    let end = await run.end()
    let remarks = end.complaints.filter { $0.contains("all devices are simulated") }
    #expect(remarks.count == 1, "\(command), \(end)")
  }

  @Test(
    "each object of the radio has simulated, and those of the network have not",
    .enabled(if: isSimulated),
    arguments: [
      ["scan"], ["watch"], ["beacons"],
      ["inspect", "strap"], ["status"], ["trace", "record", "/dev/null", "--timeout", "1"],
    ])
  func objects(command: [String]) async throws {
    let run = try AmbitRun(command + ["--json"], environment: Self.unnamed)
    run.closeInput()
    let goesOn = ["scan", "watch", "beacons"].contains(command[0])
    let end = goesOn ? await run.end(after: "\"event\"", count: 3) : await run.end()
    #expect(!end.output.isEmpty, "\(end)")
    for line in end.output {
      let isOfNetwork = line.contains("\"found\"") || line.contains("\"gone\"")
      #expect(line.contains("\"simulated\":true") == !isOfNetwork, "\(line)")
    }
  }

  @Test("a simulated radio that was named is not mentioned")
  func named() async throws {
    let end = await (try AmbitRun(["scan", "--json"])).end(after: "\"discovered\"", count: 3)
    #expect(end.complaints.isEmpty)
    #expect(!end.output.contains { $0.contains("\"simulated\"") })
  }

  private static let lamp =
    #"{"name": "Lamp", "services": [{"uuid": "180F", "characteristics": [{"uuid": "2A19", "value": {"uint8": 80}}]}]}"#

  @Test(
    "with the radio none no command invents a device, and the status is one of its own",
    arguments: [
      ["scan"], ["watch"], ["inspect", "strap"], ["beacons"], ["status"],
      ["peripheral", "-"], ["radio", "serve", "tcp:localhost:0"],
    ])
  func none(command: [String]) async throws {
    for (environment, option) in [(["AMBIT_RADIO": "none"], []), ([:], ["--radio", "none"])] {
      let run = try AmbitRun(command + option + ["--json"], environment: environment)
      if command[0] == "peripheral" { try run.write(Self.lamp) }
      run.closeInput()
      let end = await run.end()
      #expect(end.status == AmbitCLI.ExitStatus.noRadio.rawValue, "\(end)")
      #expect(end.output.isEmpty && end.complaints.count == 1, "\(end)")
    }
    let named = try await AmbitRun.end(
      "status", "--radio", "sim", environment: ["AMBIT_RADIO": "none"])
    #expect(named.status == 0, "\(named)")
  }

  @Test("radio list lists the radios with none chosen")
  func list() async throws {
    let end = try await AmbitRun.end("radio", "list", environment: ["AMBIT_RADIO": "none"])
    #expect(end.status == 0 && !end.output.isEmpty, "\(end)")
    #expect(!end.output.contains { $0.hasPrefix("*") })
  }
}
