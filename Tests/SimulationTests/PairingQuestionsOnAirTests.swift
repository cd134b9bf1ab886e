import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Simulation
import Testing

@Suite("Questions of pairings, on the air")
struct PairingQuestionsOnAirTests {
  private static let value: BluetoothUUID = 0x2A99

  private func prompts(_ host: TestHost) -> [(peer: DeviceAddress, id: PairingPromptID)] {
    host.events.compactMap {
      if case .pairingPrompt(let peer, _, let id) = $0 { (peer, id) } else { nil }
    }
  }

  private func ends(_ host: TestHost) -> [SecurityFailure?] {
    host.events.compactMap { event -> SecurityFailure?? in
      if case .pairingEnded(_, let failure) = event { .some(failure) } else { nil }
    }
  }

  @Test("a question of a silent stranger doesn't delay those of other peers")
  func sideBySide() throws {
    let world = World.pairing(seed: 41)
    var configuration = HostConfiguration()
    configuration.pairingPolicy = .ask
    let safe = TestHost(named: "Safe", in: world, configuration: configuration)
    world.run(for: .milliseconds(100))
    safe.send(.setPairingAgent(.displayYesNo))
    var options = AdvertisingOptions()
    options.data = [5, 0x09] + "Safe".utf8
    _ = try safe.complete { .startAdvertising(options, $0) }
    let centrals = (1...3).map { number in
      TestHost(
        named: "Central \(number)", in: world, at: Position(x: Double(number)),
        address: DeviceAddress(bits: UInt64(number), kind: .public))
    }
    for central in centrals {
      let peer = try central.connect(to: "Safe")
      central.send(.pair(peer, RequestToken(rawValue: 900)))
      world.run(for: .seconds(1))
    }
    let open = prompts(safe)
    #expect(open.map(\.peer) == centrals.map(\.controller.address))
    #expect(Set(open.map(\.id)).count == 3)
    // The owner is the last; the others' questions stay open.
    let owner = try #require(open.last)
    safe.send(.answerPairing(owner.id, .accept))
    // An optimized build would release them after their last use.
    withExtendedLifetime(centrals) { world.run(for: .seconds(2)) }
    #expect(ends(safe) == [nil])
    #expect(safe.bonds.map(\.identity) == [owner.peer])
    withExtendedLifetime(centrals) { world.run(for: .seconds(30)) }
    #expect(ends(safe) == [nil, .timeout, .timeout])
    #expect(prompts(safe).count == 3)
  }

  @Test("five protected values put one question, and one no is the answer for all of them")
  func oneNo() throws {
    let world = World.pairing(seed: 42)
    let device = world.addDevice(named: "Safe", at: Position(x: 2)) { safe in
      safe.ioCapability = .displayOnly
      let service = safe.addService(0x1815)
      for number in UInt16(0)..<5 {
        service.addCharacteristic(
          BluetoothUUID(0xFF00 + number), [.read], value: [1], requiresEncryption: true)
      }
    }
    let host = TestHost(in: world)
    host.send(.setPairingAgent(.keyboardOnly))
    let peer = try host.connect(to: "Safe")
    #expect(peer == device.controller.address)
    let table = try host.characteristics(of: peer)
    let handles = try (UInt16(0)..<5).map { number in
      try #require(table[BluetoothUUID(0xFF00 + number)]).valueHandle
    }
    for (index, handle) in handles.enumerated() {
      host.send(.gatt(peer, .read(handle), RequestToken(rawValue: 900 + UInt64(index))))
    }
    world.run(for: .seconds(2))
    let question = try #require(prompts(host).first)
    host.send(.answerPairing(question.id, .reject))
    world.run(for: .seconds(5))
    let failures = host.events.count {
      if case .completed(let token, .failure) = $0 { token.rawValue >= 900 } else { false }
    }
    #expect(failures == 5 && prompts(host).count == 1)
    // A client that requests the pairing itself puts the question again.
    host.send(.pair(peer, RequestToken(rawValue: 999)))
    world.run(for: .seconds(2))
    #expect(prompts(host).count == 2)
  }
}
