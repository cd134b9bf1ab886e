import Foundation
import Glibc
import Testing

@testable import AmbitCLI

@Suite("Commands that use a hub's radio", .serialized, .timeLimit(.minutes(5)))
struct HubProgramTests {
  private static let lamp = #"""
    {"name": "Lamp", "appearance": 1, "services": [{"uuid": "180F", "characteristics": [
      {"uuid": "2A19", "values": [{"uint8": 80}, {"uint8": 79}], "every": 0.5, "notifies": true,
       "writeable": true}]}]}
    """#

  private static let safe = #"""
    {"name": "Safe", "services": [{"uuid": "FFF0", "characteristics": [
      {"uuid": "FFF1", "value": {"hex": "2a"}, "readNeedsEncryption": true}]}]}
    """#

  private static func objects(_ lines: [String], _ event: String) -> [[String: Any]] {
    lines.compactMap { line in
      let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      return object?["event"] as? String == event ? object : nil
    }
  }

  // MARK: Devices

  @Test(
    "a command uses the devices of the hub that AMBIT_HUB names, and reports that they are simulated",
    arguments: [
      (["scan"], "Lamp"), (["inspect", "Lamp"], "Battery Level"),
      (["read", "Lamp", "2A19"], "%"), (["write", "Lamp", "2A19", "7"], ""),
      (["subscribe", "Lamp", "2A19", "--count", "1"], "%"),
    ])
  func devices(command: [String], result: String) async throws {
    let folder = try TestFolder()
    let file = try folder.file("lamp.json", Self.lamp)
    // An own radio would have no lamp.
    let hub = try await ServedHub("sim:\(file)", at: folder.path + "/hub")
    let run = try AmbitRun(command, environment: hub.environment)
    let goesOn = command == ["scan"]
    let end = goesOn ? await run.end(after: result) : await run.end()
    #expect(end.status == (goesOn ? AmbitCLI.ExitStatus.interrupted.rawValue : 0), "\(end)")
    #expect(result.isEmpty || end.output.contains { $0.contains(result) }, "\(end)")
    let remarks = end.complaints.filter { $0.contains("all devices are simulated: the hub at") }
    #expect(remarks.count == 1, "\(end)")
    #expect(await hub.server.output.next(containing: "\"programConnected\"") != nil)
  }

  @Test("a command that follows a device scans while it looks for it, and not as long as it runs")
  func scansOnce() async throws {
    let folder = try TestFolder()
    let hub = try await ServedHub("sim", at: folder.path + "/hub")
    let run = try AmbitRun(["subscribe", "strap", "2A37", "--json"], environment: hub.environment)
    #expect(await run.output.next(containing: "\"value\"") != nil)
    let status = ["hub", "status", "--socket", hub.path, "--json"]
    // The test's time limit ends the attempts.
    let end = try await AmbitRun.end(status) { end in
      end.output.contains { $0.contains("\"scanCount\":0") }
    }
    #expect(end.output.contains { $0.contains("\"subscriptionCount\":1") }, "\(end)")
    run.interrupt()
    #expect(await run.end().status == AmbitCLI.ExitStatus.interrupted.rawValue)
  }

  @Test("objects of simulated devices of a hub have simulated")
  func simulated() async throws {
    let folder = try TestFolder()
    let hub = try await ServedHub("sim", at: folder.path + "/hub")
    let run = try AmbitRun(["scan", "--json"], environment: hub.environment)
    let end = await run.end(after: "\"discovered\"", count: 3)
    #expect(end.status == AmbitCLI.ExitStatus.interrupted.rawValue, "\(end)")
    #expect(end.output.allSatisfy { $0.contains("\"simulated\":true") }, "\(end)")
  }

  @Test("a peripheral of a hub is read by a host with another radio, and reports the read")
  func peripheral() async throws {
    let folder = try TestFolder()
    let file = try folder.file("lamp.json", Self.lamp)
    let radio = try await ServedRadio("sim:empty")
    let hub = try await ServedHub(radio.name, at: folder.path + "/hub")
    let lamp = try AmbitRun(["peripheral", file, "--json"], environment: hub.environment)
    #expect(await lamp.output.next(containing: "\"advertising\"") != nil)
    let read = try await AmbitRun.end("read", "Lamp", "2A19", "--radio", radio.name)
    #expect(read.status == 0, "\(read)")
    #expect(await lamp.output.next(containing: "\"read\"") != nil)
    lamp.terminate()
    let end = await lamp.end()
    // Served over a socket, the radio is not a simulated one to its hosts.
    let remark = "devices that connect see the name and appearance of the hub instead"
    #expect(end.complaints.count == 1 && end.complaints[0].contains(remark), "\(end)")
  }

  @Test("a receiver without a radio of its own is the hub's")
  func receiver() async throws {
    let folder = try TestFolder()
    let hub = try await ServedHub("sim", at: folder.path + "/hub")
    let trace = folder.path + "/trace.csv"
    let run = try AmbitRun(["trace", "record", trace, "--json"], environment: hub.environment)
    #expect(await hub.server.output.next(containing: "\"programConnected\"") != nil)
    try await TestFolder.waitForFile(trace, of: 20)
    run.interrupt()
    #expect(await run.end().output.contains { $0.contains("\"traced\"") })
  }

  @Test("questions of pairings through a hub are answered at the command's terminal")
  func pairing() async throws {
    let folder = try TestFolder()
    let file = try folder.file("safe.json", Self.safe)
    let hub = try await ServedHub("sim:\(file)", at: folder.path + "/hub", "--pair", "ask")
    let run = try AmbitRun(
      ["read", "Safe", "FFF1", "--json"], environment: hub.environment, onTerminal: true,
      drawsScreen: false)
    let question = await run.output.next(containing: "(yes or no)")
    #expect(question?.contains("pair with Safe (") == true, "\(question ?? "")")
    #expect(question?.contains("This command needs a protected value of it.") == true)
    try run.write("yes\n")
    #expect(await run.output.next(containing: "\"hex\":\"2a\"") != nil)
    #expect(await run.exitStatus() == 0)
  }

  // MARK: The choice

  @Test("a radio that is named is opened beside a hub, which status reports")
  func named() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/hub"
    let reasons = [
      (["AMBIT_HUB": path], ["--radio", "sim:empty"], "is not used because a radio is named"),
      (["AMBIT_HUB": "off"], [], "none: AMBIT_HUB is \"off\""),
      (["AMBIT_HUB": ""], [], "none: AMBIT_RADIO names a radio"),
    ]
    for (environment, options, reason) in reasons {
      let run = try AmbitRun(["status"] + options, environment: environment)
      let end = await run.end()
      #expect(end.status == 0 && end.complaints.isEmpty, "\(end)")
      let line = end.output.first { $0.hasPrefix("hub ") }
      #expect(line?.hasSuffix(reason) == true, "\(end)")
    }
  }

  @Test("a running hub is used without any setting, and a named one although a radio is named")
  func found() async throws {
    let folder = try TestFolder()
    try FileManager.default.createDirectory(
      atPath: folder.path + "/ambit", withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    let hub = try await ServedHub("sim:empty", at: folder.path + "/ambit/hub")
    let environments = [
      ["AMBIT_RADIO": "", "AMBIT_HUB": "", "XDG_RUNTIME_DIR": folder.path],
      ["AMBIT_RADIO": "none", "AMBIT_HUB": hub.path],
    ]
    for environment in environments {
      let end = await (try AmbitRun(["status"], environment: environment)).end()
      #expect(end.status == 0, "\(end)")
      let line = end.output.first { $0.hasPrefix("hub ") }
      #expect(line?.hasSuffix(hub.path) == true, "\(end)")
    }
  }

  @Test("a value of AMBIT_HUB that is no path is a mistake of the command line")
  func invalid() async throws {
    for command in [["scan"], ["status"], ["radio", "list"]] {
      let run = try AmbitRun(command, environment: ServedHub.environment("nearby"))
      let end = await run.end()
      #expect(end.status == AmbitCLI.ExitStatus.usage.rawValue && end.output.isEmpty, "\(end)")
      #expect(end.complaints.count == 1 && end.complaints[0].contains("AMBIT_HUB"), "\(end)")
    }
  }

  @Test("a hub has a radio of its own, also where AMBIT_HUB names another hub")
  func nested() async throws {
    let folder = try TestFolder()
    let run = try AmbitRun(
      ["hub", "--no-network", "--radio", "sim:empty", "--socket", folder.path + "/hub", "--json"],
      environment: ["AMBIT_HUB": folder.path + "/other"])
    let line = await run.output.next(containing: "\"serving\"")
    #expect(line?.contains("\"radio\":\"sim:empty\"") == true, "\(line ?? "")")
    run.terminate()
    #expect(await run.end().complaints.isEmpty)
  }

  @Test("a list of radios has the hub that commands use, and marks it")
  func list() async throws {
    let environment = ServedHub.environment("/nonexistent/hub")
    let json = try AmbitRun(["radio", "list", "--json"], environment: environment)
    let radios = Self.objects(await json.end().output, "radio")
    let chosen = radios.filter { $0["chosen"] as? Bool == true }
    #expect(chosen.map { $0["radio"] as? String } == ["hub:/nonexistent/hub"], "\(radios)")
    #expect(radios.count > 1)
    let text = await (try AmbitRun(["radio", "list"], environment: environment)).end()
    #expect(text.output.filter { $0.hasPrefix("*") } == [text.output[0]], "\(text)")
    #expect(text.output[0].hasSuffix("radio of the hub at /nonexistent/hub"))
  }

  @Test(
    "an option that only a radio of the command's own can fulfil is refused in one sentence",
    arguments: [
      (["scan", "--address", "controller"], "--address"), (["scan", "--pair", "never"], "--pair"),
      (["capture", "FILE"], "a capture"), (["trace", "record", "FILE.btsnoop"], "a capture"),
      (["peripheral", "LAMP", "--for", "C0:12:34:56:78:9A"], "--for"),
    ])
  func refusal(command: [String], what: String) async throws {
    let folder = try TestFolder()
    let lamp = try folder.file("lamp.json", Self.lamp)
    let written = folder.path + "/written"
    let arguments = command.map {
      $0.replacing("LAMP", with: lamp).replacing("FILE", with: written)
    }
    let run = try AmbitRun(arguments, environment: ServedHub.environment(folder.path + "/hub"))
    let end = await run.end()
    #expect(end.status == AmbitCLI.ExitStatus.usage.rawValue && end.output.isEmpty, "\(end)")
    #expect(end.complaints.count == 1, "\(end)")
    let sentence = "\(what) needs a radio of the command's own: name one with --radio, or set "
    #expect(end.complaints.first?.contains(sentence + "AMBIT_HUB=off") == true, "\(end)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["lamp.json"])
  }

  @Test(
    "a variable that only a radio of the command's own can fulfil is refused, and with it works",
    arguments: ["AMBIT_CAPTURE", "AMBIT_BONDS", "AMBIT_ADDRESS", "AMBIT_PAIRING"])
  func variable(name: String) async throws {
    let folder = try TestFolder()
    let values = [
      "AMBIT_CAPTURE": folder.path + "/air", "AMBIT_BONDS": folder.path + "/bonds",
      "AMBIT_ADDRESS": "controller", "AMBIT_PAIRING": "never",
    ]
    var environment = ServedHub.environment(folder.path + "/hub")
    environment[name] = values[name]
    let refused = await (try AmbitRun(["status"], environment: environment)).end()
    #expect(refused.status == AmbitCLI.ExitStatus.usage.rawValue, "\(refused)")
    #expect(refused.complaints.count == 1 && refused.output.isEmpty, "\(refused)")
    #expect(refused.complaints[0].contains("\(name) needs a radio of the command's own"))
    (environment["AMBIT_RADIO"], environment["AMBIT_HUB"]) = ("sim:empty", "off")
    #expect(await (try AmbitRun(["status"], environment: environment)).end().status == 0)
  }

  @Test func `Bonds are listed, forgotten and imported in the store of the hub that is used`()
    async throws
  {
    let folder = try TestFolder()
    let path = folder.path + "/hub"
    let store = folder.path + "/hubs/ambit/bonds"
    // Bonds with simulated devices are kept only in a file that is named.
    let run = try AmbitRun(
      ["hub", "--no-network", "--radio", "sim", "--socket", path, "--json"],
      environment: ["AMBIT_BONDS": store])
    #expect(await run.output.next(containing: "serving") != nil)
    let environment = ["AMBIT_HUB": path]
    func end(
      _ arguments: String..., in environment: [String: String]
    ) async throws -> AmbitRun.End {
      let run = try AmbitRun(arguments, environment: environment)
      run.closeInput()
      return await run.end()
    }
    let empty = try await end("bonds", in: environment)
    #expect(empty.output == ["No bonds."], "\(empty)")
    #expect(empty.complaints.contains { $0.contains("Bonds of the hub at \(path), in ") })
    // The simulated thermostat has a value that takes a pairing.
    let value = try await end(
      "read", "thermostat", "7C3B0003-92F1-4E0B-8B1E-5D0A4C1F2E6D", in: environment)
    #expect(value.status == 0, "\(value)")
    let listed = try await end("bonds", "--json", in: environment)
    let line = try #require(listed.output.first, "\(listed)")
    let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
    #expect(object?["hub"] as? String == path && object?["store"] as? String == store, "\(line)")
    let address = try #require(object?["address"] as? String)
    // This user's own are in another store.
    let own = try await end(
      "bonds", in: ["AMBIT_HUB": "off", "XDG_STATE_HOME": folder.path + "/own"])
    #expect(own.output == ["No bonds."] && own.complaints.isEmpty, "\(own)")
    let copy = folder.path + "/copy"
    let copied = try await end(
      "bonds", "import", "--from", store, "--to", copy, in: environment)
    #expect(copied.output == ["Imported \(address)"], "\(copied)")
    let forgotten = try await end("bonds", "forget", address, in: environment)
    #expect(forgotten.status == 0, "\(forgotten)")
    #expect(try await end("bonds", in: environment).output == ["No bonds."])
    let imported = try await end("bonds", "import", "--from", copy, in: environment)
    #expect(imported.output == ["Imported \(address)"], "\(imported)")
    #expect(try await end("bonds", "--json", in: environment).output.count == 1)
    run.send(SIGSTOP)
    defer { run.send(SIGCONT) }
    let silent = try await end("bonds", in: environment)
    #expect(silent.status == AmbitCLI.ExitStatus.timedOut.rawValue && silent.output.isEmpty)
    #expect(silent.complaints.contains { $0.contains("AMBIT_HUB=off") }, "\(silent)")
  }

  @Test(.enabled(if: geteuid() == 0))
  func `A hub that names a folder of another user than its own leads root to no bonds`()
    async throws
  {
    let folder = try TestFolder()
    let path = folder.path + "/hub"
    let other = folder.path + "/other"
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
    #expect(chown(other, 23_456, 23_456) == 0)
    let run = try AmbitRun(
      ["hub", "--no-network", "--radio", "sim", "--socket", path, "--json"],
      environment: ["AMBIT_BONDS": other + "/bonds"])
    #expect(await run.output.next(containing: "serving") != nil)
    for command in [["bonds"], ["bonds", "forget", "C0:12:34:56:78:9A"], ["bonds", "export"]] {
      let bonds = try AmbitRun(command, environment: ["AMBIT_HUB": path])
      bonds.closeInput()
      let end = await bonds.end()
      #expect(end.status == AmbitCLI.ExitStatus.notPermitted.rawValue, "\(end)")
      #expect(end.complaints.contains { $0.contains("in a folder of user 23456") }, "\(end)")
    }
    run.send(SIGTERM)
    #expect(await run.end().isSignalled)
  }
}
