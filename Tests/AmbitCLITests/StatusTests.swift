import BluetoothInterface
import BluetoothMachines
import Foundation
import JSONWire
import Testing

@testable import AmbitCLI

@Suite("The status of a radio")
struct StatusTests {
  private static func object(_ line: String?) throws -> [String: Any] {
    let line = try #require(line)
    return try #require(
      try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
  }

  @Test("JSON has all fields of the machines' snapshots")
  func json() async throws {
    let end = try await AmbitRun.end("status", "--json", "--radio", "sim")
    #expect(end.status == 0 && end.complaints.isEmpty, "\(end)")
    let status = try Self.object(end.output.first)
    #expect(status["event"] as? String == "status" && status["radio"] as? String == "sim")
    #expect(status["hub"] is NSNull)
    // A snapshot that is decoded and encoded again is equal: nothing is left out.
    let snapshot = try JSONDecoder().decode(
      HostSnapshot.self, from: Data(try #require(end.output.first).utf8))
    #expect(snapshot.controller.state == .poweredOn)
    #expect(snapshot.controller.aclBufferCount > 0)
    let counters = try #require(status["counters"] as? [String: Any])
    let names = Mirror(reflecting: HostSnapshot.Counters()).children.compactMap(\.label)
    #expect(Set(counters.keys) == Set(names) && !names.isEmpty)
  }

  @Test("every key that status --json writes is documented")
  func documented() throws {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appending(path: "../../docs/json.md").standardizedFileURL
    let text = try String(contentsOf: path, encoding: .utf8)
    let counters = Mirror(reflecting: HostSnapshot.Counters()).children.compactMap(\.label)
    for key in counters + Self.keys { #expect(text.contains("`\(key)`"), "\(key)") }
  }

  /// Those of a link, which `status` has none of.
  private static let keys = [
    "handle", "peer", "role", "stage", "isEncrypted", "mtu", "intervalMicroseconds", "latency",
    "timeoutMilliseconds", "queuedByteCount", "aclBuffersInUse", "pendingOperationCount",
    "isHeldBack", "subscriptions", "peerSubscriptionCount", "enhancedBearerCount", "subrateFactor",
    "transmitPHY", "receivePHY", "sentPacketByteCountMax", "receivedPacketByteCountMax",
  ]

  @Test("text output has address, controller, buffers and dropped packets")
  func text() async throws {
    let end = try await AmbitRun.end("status", "--radio", "sim")
    #expect(end.status == 0 && end.complaints.isEmpty, "\(end)")
    let titles = end.output.map { String($0.prefix { $0 != " " }) }
    #expect(
      titles == [
        "radio", "hub", "state", "address", "controller", "features", "buffers", "links", "clients",
        "dropped",
      ])
    #expect(end.output.contains { $0.hasPrefix("hub         none: ") })
    #expect(end.output.contains("dropped     nothing"))
  }

  @Test("a radio that is missing has a status, too, and ends with 69")
  func missing() async throws {
    let end = try await AmbitRun.end("status", "--json", "--radio", "unix:/nonexistent/radio")
    #expect(end.status == ExitStatus.radioUnavailable.rawValue)
    let status = try Self.object(end.output.first)
    #expect((status["problem"] as? String)?.isEmpty == false)
    let controller = try #require(status["controller"] as? [String: Any])
    #expect(controller["state"] as? String != "poweredOn")
    #expect(end.complaints.count == 1, "\(end.complaints)")
  }

  @Test("status shows the link and its subscription within an interactive session")
  func session() async throws {
    let shell = try AmbitRun(["shell", "strap", "--json"])
    try shell.write("subscribe 2A37\n")
    #expect(await shell.output.next(containing: "\"value\"") != nil)
    try shell.write("status\n")
    shell.closeInput()
    let end = await shell.end()
    #expect(end.status == 0, "\(end)")
    let line = end.output.first { $0.contains("\"event\":\"status\"") }
    let snapshot = try JSONDecoder().decode(
      HostSnapshot.self, from: Data(try #require(line).utf8))
    #expect(snapshot.links.map(\.stage) == [.open])
    #expect(snapshot.links.flatMap(\.subscriptions).map(\.isOn) == [true])
  }

  @Test("each counter is named")
  func counters() {
    var counters = HostSnapshot.Counters()
    counters.droppedValues = 3
    counters.strayPackets = 1
    #expect(StatusReport.dropped(counters) == "1 stray packet, 3 values")
  }

  @Test("JSON has its keys in order and all digits of its numbers")
  func decoding() throws {
    struct Report: Encodable {
      var d: [Int] = []
      var b = ["y": 2.5, "x": 1]
      var a = UInt64(1) << 60
    }
    let text = #"{"a":1152921504606846976,"b":{"x":1,"y":2.5},"d":[]}"#
    #expect(try JSON(encoding: Report()).line == text)
  }
}
