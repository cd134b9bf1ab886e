import BluetoothHost
import BluetoothInterface
import BluetoothWire
import Glibc
import HubHost
import HubMachines
import HubWire
import SimulatedRadio
import Testing

@Suite("Programs of a hub on the link of an open pairing", .timeLimit(.minutes(5)))
struct OpenPairingTests {
  @Test("A program that answers no question of its pairing delays no other program on its link")
  func question() async throws {
    SimulatedRadio.install()
    let folder = try temporaryFolder()
    let path = folder + "/hub"
    let host = try BluetoothHost(radio: .standard)
    let server = try await HubServer.start(at: .path(path), host)
    let silent = try await TestProgram.served("silent", at: path)
    let peer = try await silent.connectLock()
    let other = try await TestProgram.served("other", at: path)
    #expect(try await other.connectLock() == peer)
    // The lock displays a passkey. The other program is the last to register.
    for program in [silent, other] { try await program.send(.setPairingAgent(.keyboardOnly)) }
    #expect(try await other.ask { .barrier($0) } == .done)
    let lockState = BluetoothUUID(high: 0x7C3B_0005_92F1_4E0B, low: 0x8B1E_5D0A_4C1F_2E6D)
    let state = try await silent.value(lockState, of: peer)
    let refused = RequestToken(rawValue: 1_000_000)
    try await silent.send(.gatt(peer, .read(state), refused))
    let prompt = try await silent.first { event in
      if case .pairingPrompt(peer, _, let id) = event { id } else { nil }
    }

    let model = try await other.value(0x2A24, of: peer)
    let reply = try await other.ask { .gatt(peer, .read(model), $0) }
    #expect(reply == .value(Array("Lock 1".utf8)))
    guard case .rssi = try await other.ask({ .readRSSI(peer, $0) }) else {
      Issue.record("no signal strength")
      return
    }
    // The question has been open all the time.
    try await silent.send(.answerPairing(prompt, .reject))
    let result = try await silent.first { event in
      if case .completed(refused, let result) = event { result } else { nil }
    }
    #expect(throws: HostError.self) { try result.get() }
    await server.close()
    await host.close()
    unlink(path + ".lock")
    rmdir(folder)
  }
}

extension TestProgram {
  /// Finds the simulated lock by its name, and connects it.
  fileprivate func connectLock() async throws -> DeviceAddress {
    try await first { $0 == .stateChanged(.poweredOn) ? () : nil }
    try await send(.startScan(ScanOptions()))
    let name = Array("Front door".utf8)
    let peer = try await first { event -> DeviceAddress? in
      guard case .discovered(let report) = event else { return nil }
      let data = report.data + report.scanResponse
      return data.indices.contains { data[$0...].starts(with: name) } ? report.address : nil
    }
    try await send(.stopScan)
    try await send(.connect(peer, ConnectOptions()))
    try await first { $0 == .connected(peer) ? () : nil }
    return peer
  }

  /// Discovers the handle of a characteristic's value.
  fileprivate func value(_ uuid: BluetoothUUID, of peer: DeviceAddress) async throws -> UInt16 {
    guard
      case .characteristics(let found) = try await ask({
        .gatt(peer, .discoverCharacteristics(in: .all, nil), $0)
      })
    else { return try #require(nil as UInt16?, "no characteristics") }
    return try #require(found.first { $0.uuid == uuid }).valueHandle
  }
}
