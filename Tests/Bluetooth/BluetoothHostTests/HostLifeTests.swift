import BluetoothInterface
import BluetoothMachines
import Essentials
import Foundation
import Logging
import SimulatedRadio
import Synchronization
import Testing

@testable import BluetoothHost

@Suite("The life of a host", .timeLimit(.minutes(5)))
struct HostLifeTests {
  init() { SimulatedRadio.install() }

  @Test("the simulated radio comes on by itself, in real time")
  func simulated() async throws {
    let host = try BluetoothHost(radio: .simulated(.init(isPopulated: false)))
    try await TestClient(host).state(.poweredOn)
    await host.close()
  }

  @Test("a host's snapshot can be read at any time, also after it was closed")
  func snapshot() async throws {
    let host = try BluetoothHost(radio: .simulated(.init(isPopulated: false)))
    try await TestClient(host).state(.poweredOn)
    #expect(await host.snapshot().controller.state == .poweredOn)
    await host.close()
    _ = await host.snapshot()
    let radio = VirtualRadio(seed: 1)
    let virtual = radio.makeHost(name: "virtual")
    radio.advance(by: .seconds(1))
    #expect(await virtual.snapshot().controller.state == .poweredOn)
  }

  @Test("the default simulated radio has devices")
  func populated() async throws {
    let host = BluetoothHost.make(radio: nil, capturePath: nil, logger: RecordingLog().logger)
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
    let log = RecordingLog()
    let host = BluetoothHost.make(radio: "bogus", capturePath: nil, logger: log.logger)
    try await TestClient(host).state(.unsupported)
    #expect(host.problem?.hasPrefix("AMBIT_RADIO: \"bogus\" names no radio") == true)
    #expect(log.entries.map(\.level) == [.warning])
    await host.close()
  }

  @Test(
    "without permission there is no radio, and the reason is known",
    arguments: ["denied", "restricted", "perhaps"])
  func unauthorized(_ policy: String) async throws {
    let log = RecordingLog()
    let host = BluetoothHost.make(
      radio: "sim", authorization: policy, capturePath: nil, logger: log.logger)
    try await TestClient(host).state(.unauthorized)
    #expect(host.problem?.hasPrefix("AMBIT_AUTHORIZATION") == true)
    #expect(host.problem?.contains(policy) == true)
    #expect(log.entries.map(\.level) == [.warning])
    await host.close()
    #expect(
      BluetoothAuthorization.named(policy) == (policy == "restricted" ? .restricted : .denied))
  }

  @Test("a program that sets no permission has it")
  func authorized() async throws {
    let log = RecordingLog()
    for policy in [nil, "allowed"] {
      let host = BluetoothHost.make(
        radio: "sim:empty", authorization: policy, capturePath: nil, logger: log.logger)
      try await TestClient(host).state(.poweredOn)
      await host.close()
    }
  }

  @Test("a capture that cannot be written does not keep the radio from working")
  func badCapture() async throws {
    let log = RecordingLog()
    let host = BluetoothHost.make(
      radio: "sim:empty", capturePath: "/nonexistent/x", logger: log.logger)
    try await TestClient(host).state(.poweredOn)
    #expect(log.entries.first?.message.hasPrefix("AMBIT_CAPTURE: The capture") == true)
    await host.close()
  }

  @Test("a radio without a server is off, with the reason")
  func nobodyServes() async throws {
    let controller = try await FakeController()
    await controller.stop()
    let host = try BluetoothHost(radio: controller.radio)
    try await TestClient(host).state(.poweredOff)
    #expect(host.problem == "Nothing listens at \(controller.radio).")
    await host.close()
  }

  @Test("a host that is released closes its radio")
  func letsGo() async throws {
    let controller = try await FakeController()
    var host: BluetoothHost? = try BluetoothHost(radio: controller.radio)
    var client: TestClient? = host.map { TestClient($0) }
    let connection = try #require(await controller.accept())
    let isAlive = { [weak host] in host != nil }
    host = nil
    #expect(isAlive(), "a client keeps its host")
    #expect(client != nil)
    client = nil
    // The loop may be calling it.
    while isAlive() { await Task.yield() }
    await connection.waitUntilClosed()
    await controller.stop()
  }
}
