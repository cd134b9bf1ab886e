import BluetoothInterface
import BluetoothWire
import Essentials
import Simulation
import Testing

@testable import BluetoothMachines
@testable import PairingMachines

/// Devices at private addresses that name the same identity address: its owner, another device, or the owner
/// after a reset.
@Suite("Owners of an identity, on the air")
struct IdentityOnAirTests {
  private static let identity = DeviceAddress(bits: 0xA0, kind: .public)
  private static let value: BluetoothUUID = 0x2A99

  /// A peripheral with a protected value.
  private func peripheral(
    in world: World, _ agent: SMPIOCapability?, _ replacement: BondReplacement = .ask
  ) throws -> TestHost {
    var configuration = HostConfiguration()
    configuration.bondReplacement = replacement
    let host = TestHost(named: "Safe", in: world, configuration: configuration)
    world.run(for: .milliseconds(100))
    let definition = ServiceDefinition(
      uuid: 0x1815, isPrimary: true,
      characteristics: [
        CharacteristicDefinition(
          uuid: Self.value, properties: [.read], permissions: .readEncryptionRequired, value: [1])
      ])
    _ = try host.complete { .addService(definition, $0) }
    var options = AdvertisingOptions()
    options.data = [5, 0x09] + "Safe".utf8
    _ = try host.complete { .startAdvertising(options, $0) }
    if let agent { host.send(.setPairingAgent(agent)) }
    return host
  }

  /// A central with a key of its own for private addresses, and the identity of the others.
  private func central(
    _ name: String, in world: World, _ agent: SMPIOCapability? = nil
  ) -> TestHost {
    var configuration = HostConfiguration()
    configuration.usesPrivateAddress = true
    let host = TestHost(
      named: name, in: world, at: Position(x: 1), configuration: configuration,
      address: Self.identity)
    world.run(for: .milliseconds(100))
    if let agent { host.send(.setPairingAgent(agent)) }
    return host
  }

  /// Pairs, with this answer to each prompt, if any, and ends the link.
  private func pair(
    _ central: TestHost, with safe: TestHost, answer: PairingAnswer? = .accept, seconds: Int = 5
  ) throws {
    safe.forgetEvents()
    central.forgetEvents()
    let peer = try central.connect(to: "Safe")
    central.send(.pair(peer, RequestToken(rawValue: 900)))
    var answered: [PairingPromptID: Int] = [:]
    for _ in 0..<seconds * 10 {
      central.world.run(for: .milliseconds(100))
      guard let answer else { continue }
      for (index, host) in [central, safe].enumerated() {
        for case .pairingPrompt(_, _, let id) in host.events
        where answered.updateValue(index, forKey: key(id, index)) == nil {
          host.send(.answerPairing(id, answer))
        }
      }
    }
    central.send(.disconnect(peer))
    central.world.run(for: .seconds(2))
  }

  private func key(_ id: PairingPromptID, _ host: Int) -> PairingPromptID {
    PairingPromptID(rawValue: id.rawValue << 1 | UInt64(host))
  }

  /// Whether the central's next link is encrypted with its bond.
  private func returns(_ central: TestHost, to safe: TestHost) throws -> Bool {
    central.forgetEvents()
    safe.forgetEvents()
    let peer = try central.find("Safe")
    central.send(.connect(peer, ConnectOptions()))
    central.world.run(for: .seconds(3))
    defer {
      central.send(.disconnect(peer))
      central.world.run(for: .seconds(2))
    }
    var isEncrypted = false
    for case .linkUpdated(let info) in central.events { isEncrypted = info.isEncrypted }
    return isEncrypted && pairingEnds(safe).isEmpty
  }

  private func pairingEnds(_ host: TestHost) -> [SecurityFailure?] {
    host.events.compactMap { event -> SecurityFailure?? in
      if case .pairingEnded(_, let failure) = event { .some(failure) } else { nil }
    }
  }

  private func unkept(_ host: TestHost) -> [BondRejection] {
    host.events.compactMap { if case .bondNotKept(_, let reason) = $0 { reason } else { nil } }
  }

  private func replacements(_ host: TestHost) -> [DeviceAddress] {
    host.events.compactMap {
      if case .pairingPrompt(_, .replaceBond(let bonded), _) = $0 { bonded } else { nil }
    }
  }

  @Test(
    "a stranger by Just Works doesn't keep an identity from its owner, whom people authenticate")
  func squatter() throws {
    let world = World.pairing(seed: 31)
    let safe = try peripheral(in: world, .displayYesNo)
    let stranger = central("Stranger", in: world)
    try pair(stranger, with: safe)
    #expect(safe.bonds.map(\.identity) == [Self.identity])
    let phone = central("Phone", in: world, .displayYesNo)
    try pair(phone, with: safe)
    #expect(pairingEnds(safe) == [nil] && pairingEnds(phone) == [nil])
    #expect(replacements(safe).isEmpty && unkept(safe).isEmpty)
    #expect(safe.bonds.last?.isAuthenticated == true && safe.snapshot.bondCount == 1)
    #expect(try returns(phone, to: safe))
    #expect(try !returns(stranger, to: safe))
    #expect(try returns(phone, to: safe))
  }

  @Test("a stranger doesn't take the identity of an authenticated peer, and learns of that")
  func lateSquatter() throws {
    let world = World.pairing(seed: 32)
    let safe = try peripheral(in: world, .displayYesNo)
    let phone = central("Phone", in: world, .displayYesNo)
    try pair(phone, with: safe)
    let stranger = central("Stranger", in: world)
    try pair(stranger, with: safe)
    #expect(pairingEnds(safe) == [.pairingFailed(.keyRejected)] && unkept(safe) == [.weaker])
    #expect(safe.unkeptBonds == [.weaker])
    expectEnd(of: stranger)
    #expect(try returns(phone, to: safe))
  }

  /// The other side of a refused bond, which may have completed the pairing, loses the link.
  private func expectEnd(of central: TestHost) {
    let isDisconnected = central.events.contains {
      if case .disconnected(_, .some, _) = $0 { true } else { false }
    }
    #expect(isDisconnected)
  }

  @Test(
    "a phone after a reset replaces its bond with the consent of a person",
    arguments: [
      PairingAnswer.accept, .reject,
    ])
  func reset(_ answer: PairingAnswer) throws {
    let world = World.pairing(seed: 33)
    let safe = try peripheral(in: world, .displayYesNo)
    let before = central("Phone", in: world)
    try pair(before, with: safe)
    let known = try #require(safe.bonds.first?.knownAddress)
    before.controller.powerOff()
    let after = central("Same phone, reset", in: world)
    try pair(after, with: safe, answer: answer)
    #expect(replacements(safe) == [known])
    if answer == .accept {
      #expect(pairingEnds(safe) == [nil] && safe.snapshot.bondCount == 1)
      #expect(try returns(after, to: safe))
    } else {
      #expect(pairingEnds(safe) == [.pairingFailed(.keyRejected)] && unkept(safe) == [.claimed])
      expectEnd(of: after)
      before.controller.powerOn()
      after.controller.powerOff()
      #expect(try returns(before, to: safe))
    }
  }

  @Test("a phone whose claim nobody answers loses the link, though its pairing has succeeded")
  func unanswered() throws {
    let world = World.pairing(seed: 38)
    let safe = try peripheral(in: world, .displayYesNo)
    let before = central("Phone", in: world)
    try pair(before, with: safe)
    before.controller.powerOff()
    let after = central("Same phone, reset", in: world)
    try pair(after, with: safe, answer: nil, seconds: 35)
    #expect(replacements(safe).count == 1 && pairingEnds(after) == [nil])
    #expect(pairingEnds(safe) == [.timeout] && unkept(safe) == [.claimed])
    #expect(safe.unkeptBonds == [.claimed])
    expectEnd(of: after)
  }

  @Test("two authenticated devices that name one identity need a person's decision, too")
  func authenticatedClaim() throws {
    let world = World.pairing(seed: 34)
    let safe = try peripheral(in: world, .displayYesNo)
    let first = central("First", in: world, .displayYesNo)
    try pair(first, with: safe)
    let second = central("Second", in: world, .displayYesNo)
    try pair(second, with: safe)
    #expect(replacements(safe).count == 1 && pairingEnds(safe) == [nil])
    #expect(try returns(second, to: safe))
    #expect(try !returns(first, to: safe))
  }

  @Test(
    "without a person the first device keeps its bond, unless the configuration lets any replace it",
    arguments: BondReplacement.allCases)
  func withoutAgent(_ replacement: BondReplacement) throws {
    let world = World.pairing(seed: 35)
    let safe = try peripheral(in: world, nil, replacement)
    let first = central("First", in: world)
    try pair(first, with: safe)
    let second = central("Second", in: world)
    try pair(second, with: safe)
    let isReplaced = replacement == .always
    #expect(pairingEnds(safe) == [isReplaced ? nil : .pairingFailed(.keyRejected)])
    #expect(unkept(safe) == (isReplaced ? [] : [.claimed]))
    #expect(try returns(isReplaced ? second : first, to: safe))
    #expect(try !returns(isReplaced ? first : second, to: safe))
  }

  @Test("no question is put to a person where the configuration forbids it")
  func never() throws {
    let world = World.pairing(seed: 36)
    let safe = try peripheral(in: world, .displayYesNo, .never)
    try pair(central("First", in: world), with: safe)
    try pair(central("Second", in: world), with: safe)
    #expect(replacements(safe).isEmpty && unkept(safe) == [.claimed])
  }

  @Test(
    "a stranger that is connected with its bond loses its proof when the owner takes the identity")
  func connectedSquatter() throws {
    let world = World.pairing(seed: 37)
    let safe = try peripheral(in: world, .displayYesNo)
    let stranger = central("Stranger", in: world)
    try pair(stranger, with: safe)
    let peer = try stranger.find("Safe")
    stranger.send(.connect(peer, ConnectOptions()))
    world.run(for: .seconds(2))
    let phone = central("Phone", in: world, .displayYesNo)
    try pair(phone, with: safe)
    #expect(safe.bonds.last?.isAuthenticated == true && safe.snapshot.bondCount == 1)
    #expect(try returns(phone, to: safe))
  }
}
