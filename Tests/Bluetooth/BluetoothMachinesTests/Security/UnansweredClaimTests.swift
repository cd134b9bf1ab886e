import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import PairingMachines

/// Peers that name the identity of another, or are at its address, where a person is asked and does not
/// answer.
@Suite("Claims that nobody answers")
struct UnansweredClaimTests {
  private static let key = SMPValue(number: 9)
  private static let roles = [true, false]

  /// A private address that the key makes.
  private static let address = DeviceAddress.resolvable(
    identityResolvingKey: AES128(key: key.number), random: 0x41_2345)

  /// The bond of the device whose identity is claimed.
  private static let bond = Bond(
    identity: .peer(0x99), centralKey: LongTermKey(SMPValue(number: 5)),
    peripheralKey: LongTermKey(SMPValue(number: 5)), isAuthenticated: false,
    isSecureConnections: true)

  /// Pairs by Just Works with a peer that distributes nothing but an identity, as far as that.
  private static func pair(isCentral: Bool) -> PairingPair {
    var pair =
      isCentral
      ? PairingPair(centralIO: .displayOnly, bonds: ([bond], []), peripheralAddress: address)
      : PairingPair(peripheralIO: .displayOnly, bonds: ([], [bond]), centralAddress: address)
    pair.answer = { _, _, _ in nil }
    pair.tamper = { fromCentral, bytes in
      guard fromCentral != isCentral else { return [bytes] }
      switch try? SMPPDU(decoding: bytes[...]) {
      // The check of the keys covers no distribution, so the peer can go on.
      case .pairingRequest(var features):
        features.initiatorKeys = .identityKey
        return [SMPPDU.pairingRequest(features).bytes]
      case .pairingResponse(var features):
        features.responderKeys = .identityKey
        return [SMPPDU.pairingResponse(features).bytes]
      case .signingInformation: return []
      default: return [bytes]
      }
    }
    pair.securesCentral()
    return pair
  }

  /// The peer names the identity.
  private static func claim(_ pair: inout PairingPair, isCentral: Bool) {
    pair.delivers(
      SMPPDU.identityInformation(identityResolvingKey: key).bytes, toCentral: isCentral)
    pair.delivers(SMPPDU.identityAddressInformation(bond.identity).bytes, toCentral: isCentral)
  }

  private static func end(_ pair: PairingPair, isCentral: Bool) -> PairingPair.End {
    isCentral ? pair.central : pair.peripheral
  }

  /// What keeps a question from being answered.
  enum Cause: CaseIterable, Sendable {
    case nobodyAnswers
    case agentLeaves
    case agentHasLeft
    case peerSendsMore
    case peerSendsNonsense
    case encryptionEnds
    case linkEnds
  }

  @Test(
    "a claim that is not answered, for whatever cause, is reported as refused and ends the link",
    arguments: Cause.allCases, roles)
  func atTheEnd(_ cause: Cause, _ isCentral: Bool) throws {
    var pair = Self.pair(isCentral: isCentral)
    if cause == .agentHasLeft { pair.leavesAgent(isCentral: isCentral) }
    Self.claim(&pair, isCentral: isCentral)
    let hasQuestion =
      Self.end(pair, isCentral: isCentral).prompts == [
        .replaceBond(Self.bond.identity)
      ]
    #expect(hasQuestion == (cause != .agentHasLeft))
    // The central has all keys by now, and believes that it is bonded until it hears otherwise.
    #expect(isCentral || pair.central.stored.count == (hasQuestion ? 1 : 0))
    switch cause {
    case .nobodyAnswers: pair.pass(.seconds(31))
    case .agentLeaves: pair.leavesAgent(isCentral: isCentral)
    case .agentHasLeft: break
    case .peerSendsMore:
      for _ in 0..<3 { pair.delivers(SMPPDU.pairingRandom(Self.key).bytes, toCentral: isCentral) }
    case .peerSendsNonsense: pair.delivers([0x03, 0x01], toCentral: isCentral)
    case .encryptionEnds: pair.switchesEncryptionOff(isCentral: isCentral)
    case .linkEnds: pair.closes(isCentral: isCentral)
    }
    let end = Self.end(pair, isCentral: isCentral)
    #expect(end.unkept == [.claimed] && end.host.counters.unkeptBonds == 1)
    #expect(end.ends.count == 1 && end.ends != [nil])
    #expect(end.stored.isEmpty && end.host.bonds.bonds == [Self.bond])
    #expect((end.disconnection == nil) == (cause == .linkEnds))
  }

  @Test("a bond that the peer rejects after the pairing is over is removed, and reported as failed")
  func rejectedAfterwards() {
    var pair = Self.pair(isCentral: false)
    Self.claim(&pair, isCentral: false)
    #expect(pair.central.ends == [nil] && pair.central.stored.count == 1)
    pair.leavesAgent(isCentral: false)
    #expect(pair.central.ends == [nil, .peerFailed(.keyRejected)])
    #expect(pair.central.stored.isEmpty)
    // A second Key Rejected changes nothing.
    pair.delivers(SMPPDU.pairingFailed(.keyRejected).bytes, toCentral: true)
    #expect(pair.central.ends.count == 2)
  }

  @Test("a peer that gives its claim up keeps the link", arguments: roles)
  func givenUp(_ isCentral: Bool) {
    var pair = Self.pair(isCentral: isCentral)
    Self.claim(&pair, isCentral: isCentral)
    pair.delivers(SMPPDU.pairingFailed(.unspecifiedReason).bytes, toCentral: isCentral)
    let end = Self.end(pair, isCentral: isCentral)
    #expect(end.ends == [.peerFailed(.unspecifiedReason)])
    #expect(end.unkept.isEmpty && end.disconnection == nil)
  }

  @Test(
    "a claim that is not answered before the pairing is reported, too, and leaves the link as it is",
    arguments: [true, false])
  func atTheBeginning(_ agentLeaves: Bool) {
    let (pair, bond) = Self.asked { pair in
      if agentLeaves { pair.leavesAgent(isCentral: false) } else { pair.pass(.seconds(31)) }
    }
    #expect(pair.peripheral.ends == [agentLeaves ? .pairingFailed(.keyRejected) : .timeout])
    #expect(pair.peripheral.unkept == [.unconfirmed] && pair.peripheral.disconnection == nil)
    #expect(pair.peripheral.host.bonds.bonds == [bond])
  }

  @Test("a peer that goes before its claim was answered leaves nothing to report")
  func gone() {
    let (pair, bond) = Self.asked { $0.closes(isCentral: false) }
    #expect(pair.peripheral.ends == [.disconnected])
    #expect(pair.peripheral.unkept.isEmpty && pair.peripheral.host.counters.unkeptBonds == 0)
    #expect(pair.peripheral.host.bonds.bonds == [bond])
  }

  /// A central at the address of a bonded device requests to pair, and something happens before the answer.
  private static func asked(_ happening: (inout PairingPair) -> Void) -> (PairingPair, Bond) {
    let bond = Bond(
      identity: PairingPair.centralAddress, centralKey: Self.bond.centralKey,
      peripheralKey: Self.bond.peripheralKey, isAuthenticated: false, isSecureConnections: true)
    var pair = PairingPair(peripheralIO: .displayOnly, bonds: ([], [bond]))
    pair.answer = { _, _, _ in nil }
    pair.securesCentral()
    #expect(pair.peripheral.prompts == [.replaceBond(bond.knownAddress)])
    happening(&pair)
    return (pair, bond)
  }
}
