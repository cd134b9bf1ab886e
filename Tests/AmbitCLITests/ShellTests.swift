import Essentials
import Foundation
import PeripheralFiles
import Testing

@testable import AmbitCLI

@Suite("A session with a device")
struct ShellTests {
  @Test(
    "a line is a command",
    arguments: [
      ("", ShellCommand.nothing), ("  # remark", .nothing), ("services", .services),
      ("read 2A19 'battery level'", .read(["2A19", "battery level"])),
      (
        "write 2A6E 25.5 °C",
        .write("2A6E", .init(text: "25.5 °C", format: nil), withoutResponse: false)
      ),
      (
        "write --hex FFF1 01 --without-response",
        .write("FFF1", .init(text: "01", format: .hex), withoutResponse: true)
      ),
      ("unsubscribe", .unsubscribe([])), ("wait 500ms", .wait(Seconds(span: .milliseconds(500)))),
      ("quit", .quit), ("help", .help(nil)), ("help read", .help("read")),
    ])
  func commands(line: String, command: ShellCommand) throws {
    #expect(try ShellCommand(line) == command)
  }

  @Test(
    "a wrong line is refused in a session",
    arguments: [
      "raed 2A19", "read", "write 2A19", "wait", "wait soon", "read \"2A19", "rssi now",
      "help read write",
    ])
  func wrong(line: String) {
    let failure = #expect(throws: CommandFailure.self) { try ShellCommand(line) }
    #expect(failure?.status == .usage)
  }

  @Test("each command has help, whose lines fit", arguments: [24, 40, 53, 54, 70, 80, 200])
  func help(columns: Int) throws {
    for name in ShellCommand.names {
      let lines = try #require(ShellHelp.lines(of: name, columns: columns))
      #expect(lines[0].contains(name) || name == "connect")
    }
    #expect(ShellHelp.lines(of: "raed", columns: columns) == nil)
    let all = try #require(ShellHelp.lines(of: nil, columns: columns))
    #expect(all.allSatisfy { Fit.width($0) <= max(columns, 29) })
    let words = ShellHelp.rows.flatMap { ($0.syntax + " " + $0.text).split(separator: " ") }
    #expect(all.flatMap { $0.split(separator: " ") } == words, "no word is broken")
  }

  @Test("the parts of a line that don't fit go below it", arguments: 12...80)
  func fittedLines(columns: Int) {
    let parts = [
      FittedLine.Part("Heart Rate", "Heart Rate"), .init("   ", "2A37", "<2A37>"),
      .init(" ", "read, write, notify", "<read, write, notify>"), .init("  ", "72 bpm", "<72 bpm>"),
    ]
    let line = FittedLine(first: "├─ ", next: "│  ", parts: parts)
    let lines = line.lines(columns: columns)
    #expect(lines.allSatisfy { Fit.width($0.filter { $0 != "<" && $0 != ">" }) <= columns })
    let words = lines.flatMap { $0.split(separator: " ") }.filter { $0 != "├─" && $0 != "│" }
    let shown = words.joined(separator: " ").filter { $0 != "<" && $0 != ">" }
    #expect(shown == "Heart Rate 2A37 read, write, notify 72 bpm")
    #expect(line.lines(columns: .max).count == 1)
  }

  @Test("a script runs over one connection")
  func script() async throws {
    let shell = try AmbitRun(["shell", "strap", "--json"])
    try shell.write("read 2A19\nsubscribe 2A37\nrssi\nmtu\nwait 10ms\n")
    #expect(await shell.output.next(containing: "\"2A37\"") != nil)
    try shell.write("unsubscribe\n")
    shell.closeInput()
    let end = await shell.end()
    #expect(end.status == 0, "\(end)")
    for event in ["\"value\"", "\"rssi\"", "\"mtu\""] {
      #expect(end.output.contains { $0.contains("\"event\":\(event)") }, "\(event)")
    }
    #expect(end.output.contains { $0.contains("\"2A37\"") })
    #expect(end.complaints.isEmpty)
  }

  @Test(
    "a command that is given no time to connect ends with one sentence",
    arguments: ["250ms", "300ms", "350ms", "400ms"])
  func shortTime(_ time: String) async throws {
    let end = try await AmbitRun.end("read", "strap", "2A19", "--timeout", time)
    #expect([ExitStatus.timedOut.rawValue, ExitStatus.notFound.rawValue].contains(end.status))
    #expect(end.complaints.count == 1, "\(end)")
  }

  @Test("the first command of a script that fails ends it with its status")
  func failing() async throws {
    let shell = try AmbitRun(["shell", "strap"])
    try shell.write("read 2A99\nread 2A19\n")
    shell.closeInput()
    let end = await shell.end()
    #expect(end.status == ExitStatus.notFound.rawValue)
    #expect(end.output.isEmpty)
  }

  @Test("a device that goes away is connected again when it is back, and is followed on")
  func reconnecting() async throws {
    let radio = try await ServedRadio("sim:empty")
    let folder = try TestFolder()
    let file = try folder.file(
      "lamp.json",
      #"""
      {"name": "Lamp", "address": "C0:12:34:56:78:9A", "services": [{"uuid": "180F",
        "characteristics": [{"uuid": "2A19", "value": {"uint8": 87}, "notifies": true, "every": 0.2}]}]}
      """#)
    let options = ["--radio", radio.name, "--address", "C0:12:34:56:78:9A", "--json"]
    let lamp = try AmbitRun(["peripheral", file] + options)
    #expect(await lamp.output.next(containing: "\"advertising\"") != nil)
    let shell = try AmbitRun(["shell", "C0:12:34:56:78:9A", "--radio", radio.name, "--json"])
    try shell.write("subscribe 2A19\n")
    #expect(await shell.output.next(containing: "\"value\"") != nil)
    lamp.interrupt()
    _ = await lamp.end()
    #expect(await shell.complaints.next(containing: "disconnected: ") != nil)
    let again = try AmbitRun(["peripheral", file] + options)
    #expect(await shell.output.next(containing: "\"value\"") != nil)
    try shell.write("quit\n")
    #expect(await shell.end().status == 0)
    again.interrupt()
    _ = await again.end()
  }

  @Test(
    "what is being typed stays below the values that come meanwhile, until Ctrl-C takes it away")
  func typing() async throws {
    let folder = try TestFolder()
    let shell = try AmbitRun(
      ["shell", "strap"], environment: ["XDG_STATE_HOME": folder.path, "TERM": "xterm"],
      onTerminal: true, drawsScreen: false)
    #expect(await shell.output.next(containing: "Connected to") != nil)
    try shell.write("subs\t2A37\r")
    #expect(await shell.output.next(containing: "bpm") != nil)
    try shell.write("read 2A1")
    // The line as it was drawn below one value, with the next one in its place.
    while let line = await shell.output.next(containing: "bpm") {
      if line.contains("> read 2A1\r") { break }
    }
    try shell.write("9\r")
    #expect(await shell.output.next(containing: "%") != nil)
    try shell.write("nonsense")
    while let line = await shell.output.next(containing: "bpm") {
      if line.contains("> nonsense\r") { break }
    }
    try shell.write("\u{3}")
    while let line = await shell.output.next(containing: "bpm") {
      if line.contains("> \r") { break }
    }
    // The last command of the session before, which was not the one that Ctrl-C took away.
    try shell.write("\u{1B}[A\r")
    #expect(await shell.output.next(containing: "%") != nil)
    try shell.write("\u{4}")
    #expect(await shell.end().status == 0)
    #expect(ShellHistory(path: folder.path + "/ambit/shell-history").load().last == "read 2A19")
  }

  /// A session on a terminal, connected, with its prompt.
  private static func session(in folder: borrowing TestFolder, jobScript: String? = nil)
    async throws
    -> AmbitRun
  {
    let shell = try AmbitRun(
      ["shell", "strap"], environment: ["XDG_STATE_HOME": folder.path, "TERM": "xterm"],
      onTerminal: true, jobScript: jobScript, drawsScreen: false)
    #expect(await shell.output.next(containing: "Connected to") != nil)
    try shell.write("subscribe 2A37\r")
    // The next line is edited, below a value: keys are keys.
    while let line = await shell.output.next(containing: "bpm") {
      if line.contains("> \r") { break }
    }
    return shell
  }

  @Test(
    "Ctrl-C takes away the text before it and nothing behind it, however the keys arrive",
    arguments: [
      ["read 2A19\u{3}\rmtu\r"], ["read 2A19", "\u{3}\rmtu\r"], ["read 2A19\u{3}mtu\r"],
      ["read 2A19", "\u{3}", "mtu\r"],
    ])
  func interruptedLine(pieces: [String]) async throws {
    let folder = try TestFolder()
    let shell = try await Self.session(in: folder)
    for piece in pieces { try shell.write(piece) }
    #expect(await shell.output.next(containing: " bytes") != nil)
    try shell.write("\u{4}")
    let end = await shell.end()
    #expect(end.status == 0 && !end.output.contains { $0.contains("%") }, "\(end)")
    let lines = ShellHistory(path: folder.path + "/ambit/shell-history").load()
    #expect(lines == ["subscribe 2A37", "mtu"])
  }

  @Test("Ctrl-C at an empty line ends the session, and no key behind it is a command")
  func interruptedSession() async throws {
    let folder = try TestFolder()
    let shell = try await Self.session(in: folder)
    try shell.write("\u{3}mtu\r")
    let end = await shell.end()
    #expect(end.status == 128 + SIGINT && !end.output.contains { $0.contains(" bytes") }, "\(end)")
  }

  @Test("Ctrl-C that came together with a command ends the command alone")
  func interruptedCommand() async throws {
    let folder = try TestFolder()
    let shell = try await Self.session(in: folder)
    try shell.write("wait 1000\rrssi\u{3}mtu\r")
    #expect(await shell.output.next(containing: "Given up") != nil)
    #expect(await shell.output.next(containing: " bytes") != nil)
    try shell.write("\u{4}")
    #expect(await shell.end().status == 0)
  }

  @Test("Ctrl-Z stops the session with its line, which goes on with the keys behind it")
  func stopped() async throws {
    let folder = try TestFolder()
    let shell = try await Self.session(
      in: folder, jobScript: "$ambit; echo is stopped; stty -a; fg")
    try shell.write("mt\u{1A}u\r")
    #expect(await shell.output.next(containing: "is stopped") != nil)
    let settings = await shell.output.next(containing: "isig")
    #expect(settings?.contains("-isig") == false && settings?.contains(" icanon") == true)
    #expect(await shell.output.next(containing: " bytes") != nil)
    try shell.write("\u{4}")
    #expect(await shell.end().status == 0)
  }
}
