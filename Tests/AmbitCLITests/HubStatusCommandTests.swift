import ArgumentParser
import BluetoothHost
import BluetoothInterface
import BluetoothWire
import Essentials
import Foundation
import Glibc
import HubClient
import HubClientMachines
import HubWire
import JSONWire
import Testing

@testable import AmbitCLI

/// A program that uses a hub.
private struct HubProgram {
  private static let token = RequestToken(rawValue: 1)

  private let session: any HostSession
  private let events: AsyncStream<HostEvent>

  init(_ app: String, at path: String) {
    let (events, event) = AsyncStream.makeStream(of: HostEvent.self)
    self.events = events
    session = HubSessionProvider(path: path, app: app).openSession { event.yield($0) }
  }

  /// Sends requests, and waits until the hub's host has got them.
  func send(_ requests: [HostRequest]) async {
    for await event in events where event == .stateChanged(.poweredOn) { break }
    for request in requests { session.send(request) }
    session.send(.barrier(Self.token))
    for await event in events {
      if case .completed(Self.token, _) = event { return }
    }
  }
}

@Suite("The command that shows a hub", .serialized, .timeLimit(.minutes(5)))
struct HubStatusCommandTests {
  private typealias State = HubWire.HubStatus

  private static func state() -> State {
    State(
      version: "1.2.3", processID: 42, uptime: .seconds(7_500),
      radio: State.Radio(name: "hci0", state: .poweredOn, isSimulated: false))
  }

  @Test("two programs of a hub are shown with what they hold, and a hostile name is escaped")
  func programs() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/hub"
    let hub = try AmbitRun([
      "hub", "--no-network", "--radio", "sim:empty", "--socket", path, "--json",
    ])
    #expect(await hub.output.next(containing: "serving") != nil)
    let guide = HubProgram("guide", at: path)
    let lamp = HubProgram("lamp\u{1B}[2J", at: path)
    let service = ServiceDefinition(uuid: 0x180F, characteristics: [])
    await guide.send([.startScan(ScanOptions())])
    await lamp.send([.addService(service, RequestToken(rawValue: 2))])
    let command = ["hub", "status", "--socket", path]
    func isAnswered(_ end: AmbitRun.End) -> Bool { end.status != ExitStatus.timedOut.rawValue }
    let text = try await AmbitRun.end(command, until: isAnswered)
    #expect(text.status == 0 && text.complaints.isEmpty, "\(text)")
    let rows = text.output.map { $0.split(separator: " ").joined(separator: " ") }
    #expect(rows.contains { $0.hasPrefix("guide ") && $0.contains("1 session, 1 scan") }, "\(rows)")
    #expect(rows.contains { $0.hasPrefix("lamp�[2J ") && $0.contains("1 session, 1 service") })
    #expect(rows.contains("programs 2") && rows.contains("links 0"))
    let json = try await AmbitRun.end(command + ["--json"], until: isAnswered)
    let object = try Self.object(json.output.first)
    #expect(json.output.count == 1 && object["event"] as? String == "hubStatus")
    let programs = try #require(object["programs"] as? [[String: Any]])
    #expect(programs.map { $0["app"] as? String } == ["guide", "lamp\u{1B}[2J"])
    #expect(programs.map { $0["scanCount"] as? Int } == [1, 0])
    #expect(programs.map { $0["serviceCount"] as? Int } == [0, 1])
    #expect(programs.map { $0["radioUse"] as? String } == ["scan", nil])
    #expect(programs.map { $0["process"] as? Int } == [Int(getpid()), Int(getpid())])
    #expect(object["process"] as? Int == Int(hub.processID))
    #expect(object["state"] as? String == "poweredOn")
    hub.terminate()
    _ = await hub.end()
  }

  @Test("without a hub the command ends with 69 and a sentence, also at a file that is no socket")
  func absent() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/hub"
    let end = try await AmbitRun.end("hub", "status", environment: ["AMBIT_HUB": path])
    #expect(end.status == ExitStatus.radioUnavailable.rawValue && end.output.isEmpty)
    #expect(end.complaints.count == 1 && end.complaints[0].contains("There is no hub at"))
    let file = try folder.file("file", "")
    let other = try await AmbitRun.end("hub", "status", "--socket", file, "--json")
    #expect(other.status == ExitStatus.radioUnavailable.rawValue && other.output.isEmpty)
    #expect(other.complaints.count == 1 && other.complaints[0].contains("No hub listens at"))
  }

  @Test("a hub that doesn't answer is left after five seconds, with 75 and a sentence")
  func silent() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/hub"
    let hub = try AmbitRun([
      "hub", "--no-network", "--radio", "sim:empty", "--socket", path, "--json",
    ])
    #expect(await hub.output.next(containing: "serving") != nil)
    hub.send(SIGSTOP)
    let end = try await AmbitRun.end("hub", "status", "--socket", path)
    #expect(end.status == ExitStatus.timedOut.rawValue && end.complaints.count == 1)
    #expect(end.complaints.first?.contains("did not answer within 5 s") == true)
    hub.send(SIGKILL)
    _ = await hub.end()
  }

  private static func place(_ socket: String?) throws -> RunningHubOptions {
    try RunningHubOptions.parse(socket.map { ["--socket", $0] } ?? [])
  }

  @Test("a socket that is named is the only one, otherwise the user's precedes the system's")
  func paths() throws {
    let (named, usual) = try (Self.place("/tmp/hub"), Self.place(nil))
    #expect(try named.paths(["AMBIT_HUB": "/x"]) == ["/tmp/hub"])
    #expect(try usual.paths(["AMBIT_HUB": "/x"]) == ["/x"])
    let both = ["/run/user/7/ambit/hub", "/run/ambit/hub"]
    for hub in ["off", "", nil] {
      var environment = ["XDG_RUNTIME_DIR": "/run/user/7"]
      environment["AMBIT_HUB"] = hub
      #expect(try usual.paths(environment) == both)
    }
    #expect(try usual.paths(["XDG_RUNTIME_DIR": "relative"]) == ["/run/ambit/hub"])
    let long = "/" + String(repeating: "x", count: 200)
    for (socket, environment) in [(long, [:]), (nil, ["AMBIT_HUB": "relative"])] {
      let failure = #expect(throws: CommandFailure.self) {
        try Self.place(socket).paths(environment)
      }
      #expect(failure?.status == .usage)
    }
  }

  @Test(
    "each reason for which a hub has no state has its exit status",
    arguments: [
      (HubFailure.silent, AmbitCLI.ExitStatus.timedOut), (.notBelieved(userID: 7), .notPermitted),
      (.refused(HubRefusal(.denied, "Not you.")), .notPermitted), (.noStatus, .radioUnavailable),
      (.refused(HubRefusal(.ending, "The hub ends.")), .radioUnavailable),
      (.ended, .radioUnavailable),
    ])
  func failures(_ failure: HubFailure, _ status: AmbitCLI.ExitStatus) {
    let failure = RunningHubOptions.failure(failure, at: "/tmp/hub")
    #expect(failure.status == status && !failure.sentence.hasSuffix("."))
  }

  @Test("no line is wider than the terminal, and nothing that a terminal obeys is in it")
  func width() {
    var state = Self.state()
    let name = String(repeating: "灯\u{1B}]0;", count: 40)
    state.radio.problem = name
    var program = State.Program(
      connection: 7, app: name, processID: 1 << 22, userID: .max, age: .seconds(90))
    program.waitingByteCount = 1 << 30
    program.lastUse = RadioUse(.scan, age: .seconds(90))
    program.lateCount = 1
    state.programs = [program]
    state.links = [State.Link(peer: name, name: name, role: .central, stage: "open", users: [7])]
    state.networkProblem = "\u{1B}]0; \(name) " + String(repeating: "the units are old ", count: 20)
    for columns in [20, 60, 80, 200] {
      let lines = HubStatusText(state, path: "/run/ambit/hub").lines(columns: columns, .plain)
      #expect(lines.allSatisfy { Fit.width($0) <= columns && Fit.safe($0) == $0 }, "\(columns)")
    }
    let wide = HubStatusText(state, path: "/run/ambit/hub").lines(columns: .max, .plain)
    #expect(wide.contains { $0.contains("1073741824 bytes, 1 late session") })
    #expect(wide.contains { $0.contains("scan, 1 min 30 s ago") })
    #expect(wide.contains("hub       /run/ambit/hub, version 1.2.3, process 42, for 2 h 5 min"))
  }

  @Test("links are shown with the names of their users, and those that are not listed are counted")
  func links() {
    var state = Self.state()
    state.programs = [
      State.Program(connection: 7, app: "guide", processID: 1, userID: 0, age: .zero)
    ]
    state.links = [
      State.Link(peer: "C0:12:34:56:78:9A", role: .central, stage: "open", users: [7, 9]),
      State.Link(peer: "C0:12:34:56:78:9B", stage: "pending"),
    ]
    state.links[0].userCount = 5
    state.counts.otherProgramCount = 3
    let lines = HubStatusText(state, path: "/hub").lines(columns: .max, .plain)
    #expect(
      lines.contains { $0.hasSuffix("open     guide, connection 9, 3 other programs") }, "\(lines)")
    #expect(lines.contains { $0.contains("pending") && $0.hasSuffix("no program") })
    #expect(lines.contains("programs  1, and 3 that are not listed"))
  }

  @Test(
    "a hub whose units are too old for Multicast DNS is shown with the whole command that mends it")
  func networkProblem() {
    var state = Self.state()
    let problem = NetworkProblem.units(
      ofUser: false, radio: RadioChoice.hci(0), more: ["--pair", "never"])
    state.networkProblem = problem
    #expect(
      problem.contains("\"sudo ambit hub install --radio hci0 --pair never\" writes new ones"))
    let wide = HubStatusText(state, path: "/hub").lines(columns: .max, .plain)
    #expect(wide.contains("network   \(problem)"))
    let narrow = HubStatusText(state, path: "/hub").lines(columns: 40, .plain)
    let words = narrow.drop { !$0.hasPrefix("network") }.joined(separator: " ")
      .split(separator: " ").joined(separator: " ")
    #expect(words == "network " + problem)
    #expect(
      NetworkProblem.units(ofUser: true, radio: RadioChoice.hci(1), more: [])
        .contains("\"ambit hub install --user --radio hci1\""))
  }

  @Test("a session that is kept is shown with the seconds that are left, begun ones included")
  func kept() {
    var state = Self.state()
    var program = State.Program(
      connection: 7, app: "lock", processID: 1, userID: 0, age: .seconds(21))
    program.keptFor = .milliseconds(38_500)
    state.programs = [program]
    let lines = HubStatusText(state, path: "/hub").lines(columns: .max, .plain)
    #expect(lines.contains { $0.hasPrefix("lock ") && $0.hasSuffix("kept, 39 s left") }, "\(lines)")
  }

  @Test("spans of time are shown in two units")
  func spans() {
    let spans: [(TimeSpan, String)] = [
      (.milliseconds(-5), "0 s"), (.seconds(59), "59 s"), (.seconds(61), "1 min 1 s"),
      (.seconds(7_260), "2 h 1 min"), (.seconds(90_000), "1 d 1 h"),
    ]
    for (span, text) in spans { #expect(HubWords.text(span) == text) }
  }

  @Test("every key that hub status --json writes is documented")
  func documented() throws {
    var state = Self.state()
    state.radio.address = "C0:12:34:56:78:9A"
    state.radio.problem = "The radio is gone."
    state.networkProblem = "The units are old."
    state.programs = [
      State.Program(connection: 7, app: "guide", processID: 1, userID: 0, age: .zero)
    ]
    state.programs[0].lastUse = RadioUse(.scan, age: .seconds(1))
    state.links = [State.Link(peer: "", name: "Strap", role: .central, stage: "open")]
    let line = HubStatusText(state, path: "/hub").json(at: Date()).line
    let object = try Self.object(line)
    let programs = try #require(object["programs"] as? [[String: Any]])
    let links = try #require(object["links"] as? [[String: Any]])
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appending(path: "../../docs/json.md").standardizedFileURL
    let text = try String(contentsOf: path, encoding: .utf8)
    let parts = text.components(separatedBy: "## The state of a hub")
    try #require(parts.count == 2)
    let section = parts[1].components(separatedBy: "\n## ")[0]
    for object in [object] + programs + links {
      for key in object.keys { #expect(section.contains("`\(key)`"), "\(key)") }
    }
  }

  @Test("general options may precede the command within the group")
  func options() throws {
    #expect(Main.movingOptions(["--json", "hub", "status"]) == ["hub", "status", "--json"])
    #expect(
      Main.movingOptions(["--radio", "sim", "hub", "--socket", "/x"])
        == ["hub", "--socket", "/x", "--radio", "sim"])
    #expect(try Ambit.parseAsRoot(["hub", "--radio", "sim"]) is HubRun)
  }

  private static func object(_ line: String?) throws -> [String: Any] {
    let line = try #require(line)
    return try #require(
      try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
  }
}
