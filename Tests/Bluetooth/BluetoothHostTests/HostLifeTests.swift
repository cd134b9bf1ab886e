import BluetoothMachines
import Essentials
import Foundation
import NIOCore
import Synchronization
import Testing

@testable import BluetoothHost

@Suite("The life of a host", .timeLimit(.minutes(1)))
struct HostLifeTests {
  @Test("the simulated radio comes on by itself, in real time")
  func simulated() async throws {
    let host = try BluetoothHost(radio: .simulated(.init(isPopulated: false)))
    try await TestClient(host).state(.poweredOn)
    await host.close()
  }

  @Test("somebody is there on the simulated radio that is used when none is named")
  func populated() async throws {
    let host = BluetoothHost.make(radio: nil, capturePath: nil) { Issue.record("\($0)") }
    #expect(host.radio == .standard)
    let client = TestClient(host)
    try await client.state(.poweredOn)
    client.send(.startScan(ScanOptions()))
    try await client.first { event -> Void? in
      if case .discovered = event { () } else { nil }
    }
    await host.close()
  }

  @Test("a radio that makes no sense is an unsupported one, with the reason in a log line")
  func badEnvironment() async throws {
    let lines = Mutex<[String]>([])
    let host = BluetoothHost.make(radio: "bogus", capturePath: nil) { line in
      lines.withLock { $0.append(line) }
    }
    try await TestClient(host).state(.unsupported)
    #expect(host.problem?.hasPrefix("AMBIT_RADIO: \"bogus\" names no radio") == true)
    #expect(lines.withLock { $0 }.count == 1)
    await host.close()
  }

  @Test("a capture that cannot be written does not keep the radio from working")
  func badCapture() async throws {
    let lines = Mutex<[String]>([])
    let host = BluetoothHost.make(radio: "sim:empty", capturePath: "/nonexistent/x") { line in
      lines.withLock { $0.append(line) }
    }
    try await TestClient(host).state(.poweredOn)
    #expect(lines.withLock { $0.first }?.hasPrefix("AMBIT_CAPTURE: The capture") == true)
    await host.close()
  }

  @Test("a radio that nobody serves is off, with the reason")
  func nobodyServes() async throws {
    let controller = try await FakeController()
    try await controller.stop()
    let host = try BluetoothHost(radio: controller.radio)
    try await TestClient(host).state(.poweredOff)
    #expect(host.problem == "Nobody listens at \(controller.radio).")
    await host.close()
  }

  @Test("a host that nobody holds any more lets go of its radio")
  func letsGo() async throws {
    let controller = try await FakeController()
    var host: BluetoothHost? = try BluetoothHost(radio: controller.radio)
    var client: TestClient? = host.map { TestClient($0) }
    let connection = try #require(await controller.accept())
    host = nil
    #expect(connection.channel.isActive)
    #expect(client != nil)
    client = nil
    try await connection.channel.closeFuture.get()
    try await controller.stop()
  }
}
