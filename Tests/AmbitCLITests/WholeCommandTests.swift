import Foundation
import Testing

@testable import AmbitCLI

@Suite("Whole commands, run as a user runs them", .timeLimit(.minutes(5)))
struct WholeCommandTests {
  private static let battery = """
    {"name": "Lamp", "services": [{"uuid": "battery", "characteristics": [
      {"uuid": "battery level", "value": {"uint8": 87}, "notifies": true, "writeable": true}]}]}
    """

  @Test("scan lists the devices of the simulated radio as JSON")
  func scan() async throws {
    let scan = try AmbitRun(["scan", "--json"])
    var missing: Set = ["Pulse strap", "Thermostat", "UART echo"]
    while !missing.isEmpty {
      let line = try #require(await scan.output.next(containing: "\"name\""), "no \(missing)")
      if let name = try Self.object(line)["name"] as? String { missing.remove(name) }
    }
    scan.interrupt()
    let end = await scan.end()
    #expect(end.complaints.isEmpty)
    let discovered = try end.output.map(Self.object)
      .filter { $0["event"] as? String == "discovered" }
    #expect(Set(discovered.compactMap { $0["id"] as? String }).count == discovered.count)
  }

  @Test(
    "a second radio served at an address fails in one sentence, and the first one goes on",
    arguments: [true, false])
  func secondServer(isUNIX: Bool) async throws {
    let folder = try TestFolder()
    let first = try AmbitRun(
      ["radio", "serve", isUNIX ? "unix:\(folder.path)/radio" : "tcp:127.0.0.1:0", "--json"])
    let line = try #require(await first.output.next(containing: "\"serving\""))
    let radio = try #require(try Self.object(line)["radio"] as? String)
    let second = try await AmbitRun.end("radio", "serve", radio, "--json")
    #expect(second.status == AmbitCLI.ExitStatus.radioUnavailable.rawValue, "\(second)")
    #expect(second.output.isEmpty && second.complaints.count == 1, "\(second)")
    #expect(second.complaints.joined().contains("another program listens there"), "\(second)")
    let inspect = try await AmbitRun.end("inspect", "strap", "--radio", radio)
    #expect(inspect.status == 0, "\(inspect)")
    first.terminate()
    let end = await first.end()
    let hosts = end.output.filter { $0.contains("\"hostConnected\"") }
    #expect(hosts.count == 1 && end.complaints.isEmpty, "\(end)")
  }

  @Test(
    "a command whose standard output is closed fails instead of waiting for it",
    arguments: [
      ["status", "--json"], ["radio", "list", "--json"], ["inspect", "strap"],
      ["publish", "Lamp", "_closed._tcp", "80", "--interface", "lo", "--json"],
    ])
  func closedOutput(command: [String]) async throws {
    let run = try AmbitRun(command, shell: "exec >&-")
    run.closeInput()
    let end = await run.end()
    #expect(end.status == AmbitCLI.ExitStatus.cannotCreate.rawValue, "\(command), \(end)")
    #expect(end.complaints.contains { $0.contains("cannot be written") }, "\(command), \(end)")
  }

  @Test(
    "a command that finds nothing in its time reports that on standard error, and succeeds",
    arguments: [
      (["scan", "--radio", "sim:empty", "--timeout", "1"], "No devices."),
      (["beacons", "--radio", "sim:empty", "--timeout", "1"], "No beacons were ranged."),
      (["browse", "_ambit-none._tcp", "--interface", "lo", "--timeout", "1"], "No services."),
      (
        ["subscribe", "UART", "6E400003-B5A3-F393-E0A9-E50E24DCCA9E", "--timeout", "4"],
        "No values."
      ),
    ])
  func nothing(command: [String], remark: String) async throws {
    // Connecting may take all of the time on a busy machine.
    let end = try await AmbitRun.end(command) { $0.status != 75 }
    #expect(end.status == 0 && end.output.isEmpty, "\(command), \(end)")
    #expect(end.complaints.last == remark, "\(command), \(end)")
    let json = try await AmbitRun.end(command + ["--json"]) { $0.status != 75 }
    #expect(json.status == 0 && !json.complaints.contains(remark), "\(command), \(json)")
  }

  @Test("a look that is shorter than the time of the first table prints that table")
  func shortWatch() async throws {
    let end = try await AmbitRun.end("watch", "--no-network", "--timeout", "1")
    #expect(end.status == 0 && end.output.contains { $0.contains("STRENGTH") }, "\(end)")
  }

  @Test("a command whose standard error is closed does what it would do")
  func closedError() async throws {
    let run = try AmbitRun(
      ["scan", "--json"], environment: ["AMBIT_RADIO": ""], shell: "exec 2>&-")
    let end = await run.end(after: "\"discovered\"")
    #expect(end.status == AmbitCLI.ExitStatus.interrupted.rawValue, "\(end)")
  }

  @Test(
    "a radio that does not answer is the reason of the failure, not the device or the time",
    arguments: [
      ["scan"], ["read", "strap", "2A38"], ["write", "strap", "2A39", "1"], ["inspect", "strap"],
      ["subscribe", "strap", "2A37"], ["shell", "strap"], ["record", "strap", "/dev/null"],
      ["channel", "strap", "128"], ["channel", "--listen"], ["advertise", "--name", "Lamp"],
    ])
  func silentRadio(command: [String]) async throws {
    let folder = try TestFolder()
    let server = try AmbitRun(["radio", "serve", "unix:\(folder.path)/radio", "--json"])
    let line = try #require(await server.output.next(containing: "\"serving\""))
    let radio = try #require(try Self.object(line)["radio"] as? String)
    server.send(SIGSTOP)
    let run = try AmbitRun(command + ["--timeout", "1", "--radio", radio, "--json"])
    run.closeInput()
    let end = await run.end()
    server.send(SIGCONT)
    server.terminate()
    #expect(end.status == AmbitCLI.ExitStatus.radioUnavailable.rawValue, "\(command), \(end)")
    #expect(end.complaints.count == 1, "\(command), \(end)")
    #expect(end.output.contains { $0.contains("\"works\":false") }, "\(command), \(end)")
    _ = await server.end()
  }

  @Test("inspect shows services, characteristics and values")
  func inspect() async throws {
    let end = try await AmbitRun.end("inspect", "strap")
    #expect(end.status == 0 && end.complaints.isEmpty, "\(end.complaints)")
    #expect(end.output.first?.hasPrefix("Pulse strap ") == true)
    let text = end.output.joined(separator: "\n")
    #expect(text.contains("Heart Rate  180D"))
    #expect(text.contains("Battery Level"))
  }

  @Test("a service that one process publishes is found and resolved by another, on loopback")
  func network() async throws {
    let type = "_a-\(String(UInt32.random(in: 0 ... .max), radix: 36))._tcp"
    let publisher = try AmbitRun([
      "publish", "Desk lamp", type, "8080", "room=study", "--interface", "lo", "--json",
    ])
    #expect(await publisher.output.next(containing: "\"Desk lamp\"") != nil)
    let browser = try AmbitRun(["browse", type, "--interface", "lo", "--json"])
    #expect(await browser.output.next(containing: "\"found\"") != nil)
    let place = try await AmbitRun.end(
      "resolve", "Desk lamp", type, "--interface", "lo", "--json", "--timeout", "60")
    #expect(place.status == 0, "\(place)")
    let object = try Self.object(try #require(place.output.first))
    #expect(object["port"] as? Int == 8_080)
    #expect(object["addresses"] as? [String] == ["127.0.0.1"])
    #expect(object["text"] as? [String: String] == ["room": "study"])

    publisher.interrupt()
    #expect(await publisher.end().status == AmbitCLI.ExitStatus.interrupted.rawValue)
    #expect(await browser.output.next(containing: "\"gone\"") != nil)
    browser.interrupt()
    _ = await browser.end()
  }

  @Test(
    "a network command that makes no sense is refused in one sentence",
    arguments: [
      (["browse", "a..b"], 64, "is not a type of service"),
      (["browse"], 64, "takes the type of a service"),
      (["publish", "Lamp", "http", "80", "=1"], 64, "a key has no characters"),
      (["query", "example.com"], 64, "only names in local. can"),
      (["query", "a.local", "NOTHING"], 64, "is not a type of record"),
      (["browse", "http", "--interface", "none0"], 64, "there is no interface"),
      (
        ["resolve", "No", "http", "--interface", "lo", "--timeout", "300ms"], 68, "answered within"
      ),
    ])
  func networkMistakes(_ arguments: [String], _ status: Int32, _ sentence: String) async throws {
    let run = try AmbitRun(arguments)
    run.closeInput()
    let end = await run.end()
    #expect(end.status == status)
    #expect(end.complaints.joined(separator: " ").contains(sentence), "\(end.complaints)")
  }

  @Test("a value is read, written and read back")
  func readAndWrite() async throws {
    let radio = try await ServedRadio("sim:empty")
    let folder = try TestFolder()
    let file = try folder.file("lamp.json", Self.battery)
    let lamp = try AmbitRun(["peripheral", file, "--radio", radio.name, "--json"])
    #expect(await lamp.output.next(containing: "\"advertising\"") != nil)

    let first = try await AmbitRun.end("read", "Lamp", "battery level", "--radio", radio.name)
    #expect(first.status == 0 && first.output == ["87%  57"], "\(first)")
    let write = try await AmbitRun.end("write", "Lamp", "2A19", "42%", "--radio", radio.name)
    #expect(write.status == 0 && write.complaints == ["Wrote 1 byte."], "\(write)")
    let second = try await AmbitRun.end(
      "read", "Lamp", "180F/2A19", "2A00", "--radio", radio.name, "--json")
    #expect(second.status == 0, "\(second)")
    let values = try second.output.map { try Self.object($0)["hex"] as? String }
    // The second is the GAP Device Name: the device is called what it advertises.
    #expect(values == ["2a", "4c616d70"])

    lamp.interrupt()
    let end = await lamp.end()
    #expect(end.status == AmbitCLI.ExitStatus.interrupted.rawValue)
    let events = try end.output.compactMap { try Self.object($0)["event"] as? String }
    #expect(events == ["advertising", "read", "write", "read"])
  }

  @Test("subscribe follows a value and ends after the given number of values")
  func subscribe() async throws {
    let end = try await AmbitRun.end("subscribe", "strap", "2A37", "--count", "2", "--json")
    #expect(end.status == 0 && end.complaints.isEmpty, "\(end.complaints)")
    #expect(end.output.count == 2)
    for line in end.output {
      let object = try Self.object(line)
      #expect(object["event"] as? String == "value")
      #expect(object["characteristic"] as? String == "2A37")
    }
  }

  @Test("a channel carries what one side writes to the other")
  func channel() async throws {
    let radio = try await ServedRadio("sim:empty")
    let sink = try AmbitRun(["channel", "--listen", "--name", "Sink", "--radio", radio.name])
    let line = try #require(await sink.complaints.next(containing: "Listening on PSM "))
    let psm = try #require(line.split(separator: " ").dropFirst(3).first.map(String.init))
    let source = try AmbitRun(["channel", "Sink", psm, "--radio", radio.name])
    try source.write("hello\n")
    #expect(await sink.output.next(containing: "hello") != nil)
    try sink.write("and back\n")
    #expect(await source.output.next(containing: "and back") != nil)
    source.closeInput()
    #expect(await source.end().status == 0)
    #expect(await sink.end().status == 0)
  }

  @Test("a served radio prints the hosts that join and leave")
  func serve() async throws {
    let radio = try await ServedRadio("sim")
    let scan = try AmbitRun(["scan", "--radio", radio.name, "--json"])
    #expect(await scan.output.next(containing: "Pulse strap") != nil)
    scan.interrupt()
    _ = await scan.end()
    let end = await radio.vanish()
    #expect(end.status == AmbitCLI.ExitStatus.interrupted.rawValue)
    #expect(end.output.contains { $0.contains(" connected, address ") })
    #expect(end.output.contains { $0.contains(" disconnected: ") })
  }

  @Test("capture writes a btsnoop file, and so does every command that is asked to")
  func capture() async throws {
    let folder = try TestFolder()
    let (explicit, implicit) = (folder.path + "/a.btsnoop", folder.path + "/b.btsnoop")
    let capture = try AmbitRun(["capture", explicit])
    try await TestFolder.waitForFile(explicit, of: 200)
    capture.interrupt()
    #expect(await capture.end().status == AmbitCLI.ExitStatus.interrupted.rawValue)
    let scan = try AmbitRun(["scan", "--json"], environment: ["AMBIT_CAPTURE": implicit])
    try await TestFolder.waitForFile(implicit, of: 200)
    scan.interrupt()
    #expect(await scan.end().complaints.isEmpty)
    for file in [explicit, implicit] {
      let data = try Data(contentsOf: URL(fileURLWithPath: file))
      #expect(data.starts(with: Data("btsnoop\0".utf8)), "\(file)")
    }
  }

  @Test("a scan ends with success after --timeout")
  func timeout() async throws {
    let scan = try await AmbitRun.end("scan", "--timeout", "5")
    #expect(scan.status == 0, "\(scan)")
    #expect(scan.output.contains { $0.contains("Pulse strap") })
  }

  @Test("the live view gives the terminal back", arguments: [("\u{3}", 130), ("q", 0)])
  func liveView(_ key: String, _ status: Int32) async throws {
    let run = try AmbitRun([], environment: ["TERM": "xterm"], onTerminal: true)
    let row = await run.output.next(containing: "Pulse strap")
    #expect(row != nil)
    try run.write(key)
    let end = await run.end()
    #expect(end.status == status)
    let written = end.output.joined(separator: "\n")
    let taken = try #require(written.range(of: "\u{1B}[?1049h\u{1B}[?25l"))
    let given = try #require(written.range(of: "\u{1B}[?25h\u{1B}[?1049l"))
    #expect(taken.upperBound < given.lowerBound)
    #expect(!written[given.upperBound...].contains("Pulse strap"))
  }

  @Test("Ctrl-C ends a view that reads no keys, and the view gives the terminal back")
  func viewWithoutKeys() async throws {
    let run = try AmbitRun(["beacons"], environment: ["TERM": "xterm"], onTerminal: true)
    #expect(await run.output.next(containing: "\u{1B}[?1049h\u{1B}[?25l") != nil)
    try run.write("\u{3}")
    let end = await run.end()
    #expect(end.status == 128 + SIGINT)
    #expect(end.output.contains { $0.contains("\u{1B}[?25h\u{1B}[?1049l") }, "\(end)")
  }

  @Test("Ctrl-Z restores the shell's terminal, and continuing the live view redraws it")
  func liveViewStopped() async throws {
    let run = try AmbitRun(
      [], environment: ["TERM": "xterm"], onTerminal: true,
      jobScript: "$ambit; fg; stty -a; echo 'the shell goes on'; fg")
    #expect(await run.output.next(containing: "Pulse strap") != nil)
    // Twice: the first time must leave the second possible.
    try run.write("\u{1A}")
    #expect(await run.output.next(containing: "\u{1B}[?1049h") != nil)
    try run.write("\u{1A}")
    // From the last line that was drawn before to the first one after it.
    let between = try #require(await run.output.next(containing: "the shell goes on"))
    let given = try #require(between.range(of: "\u{1B}[?25h\u{1B}[?1049l"))
    let shell = try #require(between.range(of: "the shell goes on"))
    let taken = try #require(between.range(of: "\u{1B}[?1049h\u{1B}[?25l"))
    #expect(given.upperBound < shell.lowerBound && shell.upperBound < taken.lowerBound)
    let settings = between[given.upperBound..<shell.lowerBound].split(separator: " ")
    #expect(settings.contains("icanon") && settings.contains("echo"), "\(settings)")
    #expect(await run.output.next(containing: "Pulse strap") != nil)
    // Keys are read one by one again.
    try run.write("q")
    #expect(await run.end().status == 0)
  }

  @Test("Ctrl-Z stops a command without a screen, too, and the shell continues it")
  func stopped() async throws {
    let run = try AmbitRun(
      ["watch", "--json"], onTerminal: true,
      jobScript: "$ambit; echo 'the shell goes on'; kill -INT %1; fg", drawsScreen: false)
    #expect(await run.output.next(containing: "discovered") != nil)
    try run.write("\u{1A}")
    let end = await run.end()
    #expect(end.status == AmbitCLI.ExitStatus.interrupted.rawValue)
    #expect(end.output.contains { $0.contains("the shell goes on") }, "\(end)")
  }

  @Test("Ctrl-C ends a command that would go on, with the status that shells know")
  func interrupt() async throws {
    let watch = try AmbitRun(["watch", "--json"])
    #expect(await watch.output.next(containing: "discovered") != nil)
    watch.interrupt()
    let end = await watch.end()
    #expect(end.status == AmbitCLI.ExitStatus.interrupted.rawValue && end.complaints.isEmpty)
  }

  private static func object(_ line: String) throws -> [String: Any] {
    let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
    return try #require(object as? [String: Any], "\(line)")
  }
}

@Suite("What goes wrong is one sentence and a status", .timeLimit(.minutes(5)))
struct FailingCommandTests {
  /// Nothing on standard output, one sentence on standard error.
  private func expect(
    _ end: AmbitRun.End, _ status: AmbitCLI.ExitStatus, _ text: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(end.status == status.rawValue, "\(end)", sourceLocation: sourceLocation)
    #expect(end.complaints.count == 1, "\(end)", sourceLocation: sourceLocation)
    let sentence = end.complaints.first ?? ""
    #expect(sentence.hasPrefix("ambit: "), "\(end)", sourceLocation: sourceLocation)
    #expect(sentence.contains(text), "\(end)", sourceLocation: sourceLocation)
    #expect(sentence.hasSuffix("."), "\(end)", sourceLocation: sourceLocation)
  }

  @Test("a malformed database file ends the command with one sentence and a status")
  func database() async throws {
    let folder = try TestFolder()
    let file = try folder.file("bad.json", #"{"name": "Lamp", "services": [{"uuid": "180F", }"#)
    expect(try await AmbitRun.end("peripheral", file), .badData, "bad.json: ")
    let missing = folder.path + "/none.json"
    expect(try await AmbitRun.end("peripheral", missing), .noInput, "no such file")
  }

  @Test("an unknown radio ends the command with one sentence and a status")
  func unknownRadio() async throws {
    expect(try await AmbitRun.end("scan", "--radio", "pigeon"), .usage, "\"pigeon\"")
    expect(try await AmbitRun.end("scan", environment: ["AMBIT_RADIO": "pigeon"]), .usage, "pigeon")
  }

  @Test("a radio that doesn't exist ends the command with one sentence and a status")
  func missingRadio() async throws {
    let folder = try TestFolder()
    let radio = "unix:\(folder.path)/none"
    expect(
      try await AmbitRun.end("scan", "--radio", radio), .radioUnavailable, folder.path)
    expect(
      try await AmbitRun.end("advertise", "--name", "Lamp", "--radio", radio), .radioUnavailable,
      folder.path)
  }

  @Test(
    "a radio that vanishes ends the command with one sentence and a status",
    arguments: [["scan", "--json"], ["advertise", "--name", "A"]])
  func vanishingRadio(command: [String]) async throws {
    let radio = try await ServedRadio("sim")
    let run = try AmbitRun(command + ["--radio", radio.name, "--json"])
    #expect(await run.output.next(containing: "event") != nil)
    _ = await radio.vanish()
    expect(await run.end(), .radioUnavailable, "localhost:")
  }

  @Test("a device that doesn't exist ends the command with one sentence and a status")
  func unknownDevice() async throws {
    let identifier = "00000000-0000-0000-0000-000000000001"
    expect(
      try await AmbitRun.end("read", identifier, "2A19", "--timeout", "5"), .notFound, identifier)
  }

  @Test("a characteristic that the device lacks ends the command with one sentence and a status")
  func unknownCharacteristic() async throws {
    expect(try await AmbitRun.end("read", "strap", "2AFF"), .notFound, "Pulse strap")
  }

  @Test("a value that isn't hexadecimal ends the command with one sentence and a status")
  func notHexadecimal() async throws {
    expect(try await AmbitRun.end("write", "strap", "2A06", "xyz"), .badData, "\"xyz\"")
  }

  @Test("a full disk ends the command with one sentence and a status")
  func fullDisk() async throws {
    expect(try await AmbitRun.end("capture", "/dev/full"), .cannotCreate, "no space left")
    expect(
      try await AmbitRun.end("scan", environment: ["AMBIT_CAPTURE": "/dev/full"]), .cannotCreate,
      "no space left")
  }

  @Test("a disk that becomes full during a capture ends the command with one sentence and a status")
  func fillingDisk() async throws {
    let folder = try TestFolder()
    let run = try await AmbitRun.end(
      "capture", folder.path + "/air.btsnoop", "--timeout", "1m",
      shell: "trap '' XFSZ; ulimit -f 1")
    expect(run, .cannotCreate, "air.btsnoop")
  }
}
