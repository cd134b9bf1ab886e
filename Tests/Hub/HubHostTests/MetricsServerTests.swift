import BluetoothHost
import BluetoothInterface
import Dispatch
import Essentials
import EventLoop
import Glibc
import SimulatedRadio
import Testing

@testable import HubHost

@Suite("The socket with a hub's metrics", .timeLimit(.minutes(5)))
struct MetricsServerTests {
  private let path: String

  init() {
    SimulatedRadio.install()
    path = "/tmp/ambit-metrics-\(UInt32.random(in: 0 ... .max))"
  }

  /// Limits with which a busy machine ends no connection.
  private static var patient: HubMetricsServer.Limits {
    var limits = HubMetricsServer.Limits()
    limits.connectionTime = .seconds(200)
    return limits
  }

  /// Runs a hub with metrics.
  private func withHub(
    _ limits: HubMetricsServer.Limits = Self.patient,
    _ body: () async throws -> Void
  ) async throws {
    let host = try BluetoothHost(radio: .standard)
    let hub = try await HubServer.start(at: .path(path), host, version: "1.2.3")
    let server = try await HubMetricsServer.start(at: path + ".metrics", of: hub, limits: limits)
    try await body()
    await server.close()
    await hub.close()
    await host.close()
    #expect(access(path + ".metrics", F_OK) != 0, "the socket is removed")
    unlink(path + ".lock")
  }

  /// A connection with the server, on which `text` was sent.
  private func connect(_ text: String = "") throws -> Int32 {
    let address = try #require(SocketAddress(path: path + ".metrics"))
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    try #require(address.with { unsafe Glibc.connect(descriptor, $0, $1) } == 0)
    let bytes = Array(text.utf8)
    // The server may have refused it already.
    _ = unsafe send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    return descriptor
  }

  /// What the server sends until it ends the connection.
  private func rest(of descriptor: Int32) async -> String {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        var all: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4_096)
        while true {
          let count = unsafe read(descriptor, &part, part.count)
          guard count > 0 else { break }
          all += part.prefix(count)
        }
        close(descriptor)
        continuation.resume(returning: String(decoding: all, as: UTF8.self))
      }
    }
  }

  @Test("a request is answered with the metrics, for the hub's user alone, and the connection ends")
  func answer() async throws {
    try await withHub {
      let program = try await TestProgram.served("guide", at: path)
      let answer = await rest(of: try connect("GET /metrics HTTP/1.1\r\nHost: hub\r\n\r\n"))
      let parts = answer.split(separator: "\r\n\r\n", maxSplits: 1)
      try #require(parts.count == 2, "\(answer)")
      #expect(parts[0].hasPrefix("HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4"))
      #expect(parts[0].contains("Content-Length: \(parts[1].utf8.count)\r\n"))
      #expect(parts[1].contains("ambit_hub_info{version=\"1.2.3\"} 1\n"))
      #expect(parts[1].contains("ambit_hub_programs 1\n"))
      var information = stat()
      #expect(unsafe stat(path + ".metrics", &information) == 0)
      #expect(information.st_mode & 0o777 == 0o600)
      await program.close()
    }
  }

  @Test("requests of several connections are answered, also of one that asks for something else")
  func several() async throws {
    try await withHub {
      let all = try (0..<8).map { try connect("GET \($0 == 3 ? "/x" : "/") HTTP/1.0\r\n\r\n") }
      for (number, descriptor) in all.enumerated() {
        let status = number == 3 ? "404 Not Found" : "200 OK"
        #expect(await rest(of: descriptor).hasPrefix("HTTP/1.0 \(status)\r\n"))
      }
    }
  }

  @Test(
    "connections without a request end when their time is over, and others are refused until then")
  func silent() async throws {
    var limits = HubMetricsServer.Limits()
    limits.connectionCountMax = 2
    limits.connectionTime = .milliseconds(500)
    try await withHub(limits) {
      let silent = try (0..<50).map { _ in try connect() }
      var ends: [String] = []
      for descriptor in silent { ends.append(await rest(of: descriptor)) }
      #expect(ends.count { $0.isEmpty } >= 2)
      #expect(ends.allSatisfy { $0.isEmpty || $0.hasPrefix("HTTP/1.0 503 ") })
      // All have ended, so there is room; a busy machine may take longer than a connection has.
      while await !rest(of: try connect("GET / HTTP/1.0\r\n\r\n")).hasPrefix("HTTP/1.0 200 OK") {}
    }
  }

  @Test("a restart of the radio is counted")
  func restarts() {
    let history = RadioHistory()
    for state in [.unknown, .poweredOn, .poweredOff] as [RadioState] { history.record(state) }
    #expect(history.restartCount == 0)
    for state in [.poweredOn, .poweredOn, .resetting, .poweredOn] as [RadioState] {
      history.record(state)
    }
    #expect(history.restartCount == 2)
  }
}
