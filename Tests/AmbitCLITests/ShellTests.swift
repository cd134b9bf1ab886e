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
      ("quit", .quit),
    ])
  func commands(line: String, command: ShellCommand) throws {
    #expect(try ShellCommand(line) == command)
  }

  @Test(
    "a wrong line is refused in a session",
    arguments: ["raed 2A19", "read", "write 2A19", "wait", "wait soon", "read \"2A19", "rssi now"])
  func wrong(line: String) {
    let failure = #expect(throws: CommandFailure.self) { try ShellCommand(line) }
    #expect(failure?.status == .usage)
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
}
