import BluetoothInterface
import BluetoothWire
import Essentials
import Simulation
import Testing

@testable import BluetoothMachines

/// A peer that paired, and then does what it likes with enhanced bearers.
@Suite("Enhanced bearers of a hostile central")
struct HostileBearerTests {
  private static let psm: UInt16 = 0x0027

  private let world: World
  private let victim: TestHost
  private let attacker: PairingAttacker
  private var peer: HostilePeer { attacker.peer }

  init() throws {
    world = World.pairing(seed: 1)
    victim = TestHost(named: "Victim", in: world)
    attacker = PairingAttacker(in: world, role: .central, victim: victim.controller.address)
    world.run(for: .milliseconds(200))
    let service = ServiceDefinition(
      uuid: 0x1815,
      characteristics: [
        CharacteristicDefinition(
          uuid: 0x2A56, properties: .read, permissions: .readable, value: [7, 7, 7])
      ])
    _ = try victim.complete { .addService(service, $0) }
    _ = try victim.complete { .startAdvertising(AdvertisingOptions(), $0) }
    for _ in 1...5 where peer.handle == nil {
      peer.connect(to: victim.controller.address)
      world.run(atMost: .seconds(10)) { [attacker] in attacker.peer.handle != nil }
      world.run(for: .milliseconds(500))
    }
    try #require(peer.handle != nil)
  }

  private func pair() {
    attacker.pairs()
    world.run(for: .seconds(5))
    #expect(attacker.isEncrypted)
  }

  /// Requests bearers, and returns the answer.
  private func ask(
    _ cids: [UInt16], mtu: UInt16 = 64, credits: UInt16 = 5
  ) throws -> L2CAPEnhancedConnectionResponse {
    peer.forgetHeard()
    peer.signal(
      .enhancedConnectionRequest(
        L2CAPEnhancedConnectionRequest(
          spsm: Self.psm, mtu: mtu, mps: 64, initialCredits: credits, sources: cids)),
      identifier: 9)
    world.run(for: .milliseconds(500))
    for signal in peer.signals where signal.identifier == 9 {
      if case .enhancedConnectionResponse(let response) = signal.signal { return response }
    }
    throw HostError.invalidResponse
  }

  private var bearerCount: Int { victim.snapshot.links.first?.enhancedBearerCount ?? 0 }

  private func frame(_ pdu: [UInt8], on cid: UInt16) {
    peer.frame([UInt8(pdu.count), 0] + pdu, on: cid)
  }

  /// The answers over a channel of the attacker's.
  private func answers(on cid: UInt16) -> [[UInt8]] {
    peer.heard.filter { $0.channel == cid }.map { Array($0.payload.dropFirst(2)) }
  }

  /// The fixed channel still serves.
  private func expectServed() {
    peer.forgetHeard()
    peer.attribute(.readRequest(handle: 3))
    world.run(for: .seconds(1))
    #expect(peer.attributes.first?.first == ATTOpcode.readResponse.rawValue)
    #expect(peer.handle != nil)
  }

  @Test("bearers are refused without encryption, without an enhanced request, and beyond the bound")
  func refused() throws {
    #expect(try ask([0x40]).result == .insufficientAuthentication)
    pair()
    peer.forgetHeard()
    peer.signal(
      .creditBasedConnectionRequest(
        L2CAPCreditBasedConnectionRequest(
          spsm: Self.psm, source: 0x40, mtu: 64, mps: 64, initialCredits: 1)), identifier: 8)
    world.run(for: .milliseconds(500))
    let plain = peer.signals.first { $0.identifier == 8 }?.signal
    #expect(plain == .creditBasedConnectionResponse(.refusal(.spsmNotSupported)))
    #expect(try ask([0x40], mtu: 63).result == .unacceptableParameters)
    let response = try ask([0x40, 0x41, 0x42, 0x43, 0x44])
    #expect(response.result == .noResources)
    #expect(response.destinations.filter { $0 != 0 }.count == 4 && bearerCount == 4)
    for number in UInt16(0)..<40 {
      let more = try ask([0x50 + number % 8])
      #expect(more.result == .noResources && more.destinations == [0])
    }
    #expect(bearerCount == 4)
    expectServed()
  }

  @Test("bearers that are opened and ended over and over leave nothing behind")
  func overAndOver() throws {
    pair()
    for _ in 0..<30 {
      let response = try ask([0x40, 0x41, 0x42])
      #expect(response.result == .success)
      for (local, remote) in zip([0x40, 0x41, 0x42] as [UInt16], response.destinations) {
        frame([0x0A, 3, 0], on: remote)
        peer.signal(.disconnectionRequest(destination: remote, source: local), identifier: 3)
      }
      world.run(for: .milliseconds(500))
      #expect(bearerCount == 0)
    }
    expectServed()
  }

  @Test("bearers serve one request at a time each, whatever else is sent over them")
  func served() throws {
    pair()
    let response = try ask([0x40, 0x41], credits: 60)
    let ends = response.destinations
    peer.forgetHeard()
    frame([0x0A, 3, 0], on: ends[0])
    frame([0x0A, 3, 0], on: ends[1])
    world.run(for: .milliseconds(500))
    #expect(answers(on: 0x40) == answers(on: 0x41) && answers(on: 0x40).first?.first == 0x0B)
    let rubbish: [[UInt8]] = [
      [], [0x00], [0x1E], [0x02, 0x17, 0x02], [0x0B, 1], [0xFF, 1, 2], [0xD2, 3, 0],
    ]
    for garbage in rubbish {
      if garbage.isEmpty { peer.frame([0, 0], on: ends[0]) } else { frame(garbage, on: ends[0]) }
      world.run(for: .milliseconds(100))
    }
    peer.forgetHeard()
    frame([0x0A, 3, 0], on: ends[0])
    world.run(for: .milliseconds(500))
    #expect(answers(on: 0x40).map(\.first) == [0x0B])
    expectServed()
  }

  @Test("bearers whose answers the central doesn't take are closed, and the link goes on")
  func takesNothing() throws {
    pair()
    let end = try #require(try ask([0x40], credits: 1).destinations.first)
    for _ in 0..<200 {
      frame([0x0A, 3, 0], on: end)
      world.run(for: .milliseconds(20))
    }
    world.run(for: .seconds(1))
    #expect(bearerCount == 0)
    expectServed()
  }

  @Test("bearers get longer answers after a reconfiguration, and no shorter ones")
  func reconfigured() throws {
    pair()
    let end = try #require(try ask([0x40], credits: 60).destinations.first)
    peer.signal(.reconfigureRequest(mtu: 200, mps: 200, sources: [0x40]), identifier: 4)
    world.run(for: .milliseconds(500))
    // A request of 101 bytes: nothing is there, but it fits.
    frame([0x20] + (0..<50).flatMap { _ in [3, 0] as [UInt8] }, on: end)
    world.run(for: .milliseconds(500))
    let longest = answers(on: 0x40).map(\.count).max() ?? 0
    #expect(longest > 64 && longest <= 200)
    expectServed()
  }
}
