import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire
import Testing

@testable import HubMachines

@Suite("The metrics of a hub")
struct MetricsTests {
  private static let peer = DeviceAddress(bits: 0xC0FF_EE00_0001, kind: .public)

  private var hub = TestHub()

  private func lines(
    _ host: HubHostStatus = StatusTests.host, restarts: Int = 0
  ) -> [Substring] {
    hub.machine.metrics(host, radioRestartCount: restarts).text.split(separator: "\n")
  }

  @Test("what programs hold is in the metrics, and gone with them; what they did is still counted")
  mutating func holdings() throws {
    let guide = try hub.serve("guide", sessions: [1, 2])
    _ = hub.connect(process: 8)
    try hub.send(.startScan(ScanOptions()), from: guide)
    try hub.send(.startAdvertising(AdvertisingOptions(), RequestToken(rawValue: 1)), from: guide)
    let value = HostEvent.valueUpdated(Self.peer, handle: 3, [1])
    hub.handle(.delivered(HubSessionKey(guide), [value, value, .stateChanged(.poweredOn)]))
    var lines = self.lines()
    for line in [
      "ambit_hub_info{version=\"1.2.3\"} 1", "ambit_hub_uptime_seconds 60", "ambit_hub_programs 1",
      "ambit_hub_connections 2", "ambit_hub_sessions 2", "ambit_hub_scans 1",
      "ambit_hub_advertisements 1", "ambit_hub_pending_requests 1",
      "ambit_hub_served_programs_total 1",
      "ambit_hub_opened_sessions_total 2", "ambit_hub_requests_total 2", "ambit_hub_events_total 3",
      "ambit_hub_notifications_total 2",
    ] {
      #expect(lines.contains { $0 == line }, "\(line)")
    }
    hub.handle(.disconnected(guide))
    lines = self.lines()
    for line in [
      "ambit_hub_programs 0", "ambit_hub_connections 1", "ambit_hub_sessions 0",
      "ambit_hub_scans 0", "ambit_hub_served_programs_total 1", "ambit_hub_requests_total 2",
      "ambit_hub_notifications_total 2",
    ] {
      #expect(lines.contains { $0 == line }, "\(line)")
    }
  }

  @Test("refusals by rules and limits are counted by their reasons")
  mutating func refusals() throws {
    let other = hub.connect(user: TestHub.user + 1)
    #expect(try hub.refusal(of: other) == .denied)
    let program = try hub.serve()
    try hub.send(.greeting(HubGreeting(app: "again", abilities: [])), from: program)
    let lines = self.lines()
    #expect(lines.contains("ambit_hub_refused_connections_total{reason=\"denied\"} 1"))
    #expect(lines.contains("ambit_hub_refused_connections_total{reason=\"invalid_message\"} 1"))
    #expect(lines.contains("ambit_hub_refused_connections_total{reason=\"limit_reached\"} 0"))
  }

  @Test("links, drops and the radio of the host are in the metrics, without names of peers")
  mutating func host() throws {
    var host = StatusTests.host
    var link = HubStatus.Link(
      peer: "C0:FF:EE:00:00:01", name: "Strap", role: .central, stage: "open")
    link.queuedByteCount = 12
    let pending = HubStatus.Link(peer: "C0:FF:EE:00:00:02", stage: "pending")
    host.links = [.init(link, users: []), .init(pending, users: [])]
    host.droppedReportCount = 5
    let lines = self.lines(host, restarts: 3)
    for line in [
      "ambit_hub_links{role=\"central\"} 1", "ambit_hub_links{role=\"peripheral\"} 0",
      "ambit_hub_pending_links 1", "ambit_hub_link_queued_bytes 12",
      "ambit_hub_dropped_total{kind=\"advertising_report\"} 5",
      "ambit_hub_radio_state{state=\"powered_on\"} 1",
      "ambit_hub_radio_state{state=\"powered_off\"} 0", "ambit_hub_radio_restarts_total 3",
    ] {
      #expect(lines.contains { $0 == line }, "\(line)")
    }
    #expect(!lines.contains { $0.contains("C0:FF") || $0.contains("Strap") })
  }

  @Test(
    "what programs have in Multicast DNS is in the metrics, and nothing of it without a network")
  func network() {
    #expect(!lines().contains { $0.contains("network") })
    var host = StatusTests.host
    var programs = [7, 8].map { HubStatus.NetworkProgram(processID: $0, userID: 1, name: "Lamp") }
    programs[0].serviceCount = 2
    programs[1].serviceCount = 1
    programs[1].recordCount = 4
    programs[1].browserCount = 5
    programs[1].queryCount = 6
    host.network = HubNetworkStatus(
      programs: programs, refusalCounts: ["denied": 2, "silent": 0], limitedRequestCount: 3)
    let lines = self.lines(host)
    for line in [
      "ambit_hub_network_programs 2", "ambit_hub_network_services 3",
      "ambit_hub_network_records 4", "ambit_hub_network_queries{kind=\"services\"} 5",
      "ambit_hub_network_queries{kind=\"other\"} 6", "ambit_hub_limited_network_requests_total 3",
      "ambit_hub_refused_network_connections_total{reason=\"denied\"} 2",
      "ambit_hub_refused_network_connections_total{reason=\"silent\"} 0",
    ] {
      #expect(lines.contains { $0 == line }, "\(line)")
    }
    #expect(!lines.contains { $0.contains("Lamp") })
  }

  @Test("every family has one description and type, and names by the conventions of Prometheus")
  func conventions() {
    var host = StatusTests.host
    host.version = "1\\2\"3\n4"
    let metrics = hub.machine.metrics(host, radioRestartCount: 0)
    let names = metrics.families.map(\.name)
    // Prometheus' libraries take the suffix of a counter off.
    #expect(Set(names.map { $0.replacing("_total", with: "") }).count == names.count)
    for family in metrics.families {
      #expect(family.name.hasSuffix("_total") == (family.kind == .counter), "\(family.name)")
      #expect(family.name.allSatisfy { $0.isLowercase || $0 == "_" }, "\(family.name)")
      #expect(!family.samples.isEmpty && !family.help.contains("\n"))
    }
    #expect(metrics.text.contains("version=\"1\\\\2\\\"3\\n4\"} 1\n"))
  }

  // MARK: Requests

  private static func outcome(_ text: String) -> MetricsRequest.Outcome? {
    var request = MetricsRequest()
    return request.append(Array(text.utf8))
  }

  @Test("a request is read when its head is complete, in pieces of any size")
  func pieces() {
    let text = Array("GET /metrics HTTP/1.1\r\nHost: hub\r\n\r\n".utf8)
    for size in 1...text.count {
      var request = MetricsRequest()
      var outcomes: [MetricsRequest.Outcome?] = []
      for start in stride(from: 0, to: text.count, by: size) {
        outcomes.append(request.append(Array(text[start..<min(start + size, text.count)])))
      }
      #expect(outcomes.last == .metrics(isHead: false), "\(size)")
      #expect(outcomes.dropLast().allSatisfy { $0 == nil }, "\(size)")
    }
  }

  @Test("requests for something else, and what is no request, have their statuses")
  func outcomes() {
    #expect(Self.outcome("GET / HTTP/1.0\n\n") == .metrics(isHead: false))
    #expect(Self.outcome("HEAD /metrics?x=1 HTTP/1.1\r\n\r\n") == .metrics(isHead: true))
    #expect(Self.outcome("POST /metrics HTTP/1.1\r\n\r\n") == .refused(.methodNotAllowed))
    #expect(Self.outcome("GET /other HTTP/1.1\r\n\r\n") == .refused(.notFound))
    #expect(Self.outcome("GET /\r\n\r\n") == .refused(.badRequest))
    #expect(Self.outcome("\r\n\r\n") == .refused(.badRequest))
    #expect(Self.outcome("GET / HTTP/1.1\r\nHost: hub\r\n") == nil)
  }

  @Test("a head that never ends is refused, and takes no more memory than its limit")
  func longHead() {
    var request = MetricsRequest()
    var outcome: MetricsRequest.Outcome?
    var byteCount = 0
    while outcome == nil, byteCount < 1 << 20 {
      outcome = request.append([UInt8](repeating: UInt8(ascii: "a"), count: 1_000))
      byteCount += 1_000
    }
    #expect(outcome == .refused(.tooLarge) && byteCount <= MetricsRequest.byteCountMax + 1_000)
  }
}
