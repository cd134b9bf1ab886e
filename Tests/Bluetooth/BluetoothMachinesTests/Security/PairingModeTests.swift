import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import PairingMachines

@Suite("Pairing in restricted modes")
struct PairingModeTests {
  private static let roles = [true, false]

  private static func restricted(
    secureConnections: Bool = false, authentication: Bool = false
  ) -> HostConfiguration {
    var configuration = HostConfiguration.pairing(keyByteCountMin: 7)
    configuration.requiresSecureConnections = secureConnections
    configuration.requiresAuthentication = authentication
    return configuration
  }

  /// A pair in which one end is restricted.
  private static func pair(
    _ restricted: HostConfiguration, isCentral: Bool,
    other: HostConfiguration = .pairing(keyByteCountMin: 7),
    io: SMPIOCapability = .noInputNoOutput, otherIO: SMPIOCapability = .noInputNoOutput,
    bonds: ([Bond], [Bond]) = ([], [])
  ) -> PairingPair {
    PairingPair(
      central: isCentral ? restricted : other, peripheral: isCentral ? other : restricted,
      centralIO: isCentral ? io : otherIO, peripheralIO: isCentral ? otherIO : io, bonds: bonds)
  }

  private func expectRefused(_ pair: PairingPair, isCentral: Bool) {
    let end = isCentral ? pair.central : pair.peripheral
    #expect(end.sent.last == SMPPDU.pairingFailed(.authenticationRequirements).bytes)
    #expect(pair.central.stored.isEmpty && pair.peripheral.stored.isEmpty)
    #expect(!pair.central.link.isEncrypted && !pair.peripheral.link.isEncrypted)
  }

  @Test(
    "with LE Secure Connections only, legacy pairing is refused in either role", arguments: roles)
  func legacy(_ isCentral: Bool) {
    let restricted = Self.restricted(secureConnections: true)
    var refused = Self.pair(
      restricted, isCentral: isCentral,
      other: .pairing(secureConnections: false, keyByteCountMin: 7))
    refused.securesCentral()
    expectRefused(refused, isCentral: isCentral)
    var accepted = Self.pair(restricted, isCentral: isCentral)
    accepted.securesCentral()
    #expect(accepted.central.ends == [nil] && accepted.central.stored.count == 1)
  }

  @Test("with LE Secure Connections only, no key is shorter than 16 bytes", arguments: roles)
  func shortKey(_ isCentral: Bool) {
    var pair = Self.pair(Self.restricted(secureConnections: true), isCentral: isCentral)
    pair.tamper = { fromCentral, bytes in
      guard fromCentral != isCentral, bytes.first == 0x01 || bytes.first == 0x02 else {
        return [bytes]
      }
      var bytes = bytes
      bytes[4] = 15
      return [bytes]
    }
    pair.securesCentral()
    let end = isCentral ? pair.central : pair.peripheral
    #expect(end.sent.last == SMPPDU.pairingFailed(.encryptionKeySize).bytes)
  }

  @Test("with authentication only, Just Works is refused in either role", arguments: roles)
  func justWorks(_ isCentral: Bool) {
    let restricted = Self.restricted(authentication: true)
    for io in [SMPIOCapability.noInputNoOutput, .displayYesNo] {
      var refused = Self.pair(restricted, isCentral: isCentral, io: io)
      if isCentral, io == .noInputNoOutput {
        // Without an agent this host can't authenticate, so it doesn't begin.
        refused.securesCentral()
        #expect(refused.central.sent.isEmpty && refused.central.secured == [false])
        // The peripheral's request for it ends in the same way.
        refused.delivers(
          SMPPDU.securityRequest([.bonding, .secureConnections]).bytes, toCentral: true)
      } else {
        refused.securesCentral()
      }
      expectRefused(refused, isCentral: isCentral)
    }
    var accepted = Self.pair(
      restricted, isCentral: isCentral, io: .keyboardOnly, otherIO: .displayOnly)
    accepted.securesCentral()
    #expect(accepted.central.ends == [nil])
    #expect(accepted.central.link.encryption?.isAuthenticated == true)
  }

  @Test("a bond that is less secure than the mode is not used", arguments: roles, [true, false])
  func weakBond(_ isCentral: Bool, _ isLegacy: Bool) throws {
    let plain = HostConfiguration.pairing(secureConnections: !isLegacy)
    var first = PairingPair(central: plain, peripheral: plain)
    first.securesCentral()
    let bonds = (first.central.stored, first.peripheral.stored)
    var usual = PairingPair(bonds: bonds)
    let isUsed = usual.connects()
    #expect(isUsed && usual.peripheral.link.isEncrypted)
    let restricted = Self.restricted(secureConnections: isLegacy, authentication: !isLegacy)
    var pair = Self.pair(restricted, isCentral: isCentral, bonds: bonds)
    let isBegun = pair.connects()
    #expect(isBegun != isCentral)
    #expect(!pair.central.link.isEncrypted && !pair.peripheral.link.isEncrypted)
  }
}

@Suite("Refusals of pairings")
struct PairingRefusalTests {
  private static let request = SMPPDU.pairingRequest(
    SMPPairingFeatures(
      ioCapability: .noInputNoOutput, hasOutOfBandData: false,
      authenticationRequirements: [.bonding, .secureConnections],
      maximumEncryptionKeyByteCount: 16, initiatorKeys: [], responderKeys: []))

  @Test("a refused request of a peer is an event, once for each reason", arguments: [1, 10_000])
  func event(_ count: Int) {
    var pair = PairingPair(peripheral: .pairing(.never))
    for _ in 0..<count { pair.delivers(Self.request.bytes, toCentral: false) }
    #expect(pair.peripheral.ends == [.pairingFailed(.pairingNotSupported)])
    #expect(pair.peripheral.sent.count == count)
    pair.delivers(SMPPDU.securityRequest([.bonding]).bytes, toCentral: false)
    pair.delivers([0x01, 0x07], toCentral: false)
    #expect(pair.peripheral.ends.count == 2, "the second reason is Invalid Parameters")
  }

  @Test(
    "an operation for which this host may not pair is an event with the reason, once for each link",
    arguments: [SMPFailureReason.pairingNotSupported, .authenticationRequirements])
  func ownRefusal(_ reason: SMPFailureReason) {
    var configuration = HostConfiguration.pairing()
    if reason == .pairingNotSupported {
      configuration.pairingPolicy = .never
    } else {
      configuration.requiresAuthentication = true
    }
    for isCentral in [true, false] {
      var pair = PairingPair(
        central: isCentral ? configuration : .pairing(),
        peripheral: isCentral ? .pairing() : configuration)
      for _ in 0..<5 { if isCentral { pair.securesCentral() } else { pair.securesPeripheral() } }
      let end = isCentral ? pair.central : pair.peripheral
      #expect(end.ends == [.pairingFailed(reason)])
      #expect(end.secured == [Bool](repeating: false, count: 5) && end.sent.isEmpty)
      #expect((isCentral ? pair.peripheral : pair.central).ends.isEmpty)
    }
  }

  @Test("a value that needs a passkey is refused with that reason where nobody can be asked")
  func noAgent() {
    var pair = PairingPair()
    pair.securesCentral(.authentication)
    #expect(pair.central.ends == [.pairingFailed(.authenticationRequirements)])
    #expect(pair.central.secured == [false] && pair.central.sent.isEmpty)
    // A value that needs only encryption can still be read.
    pair.securesCentral()
    #expect(pair.central.secured == [false, true])
  }

  @Test("a peer's refusal holds for the operations of the link, and not for a client's request")
  func peersRefusal() {
    var pair = PairingPair(peripheral: .pairing(.never))
    for _ in 0..<5 { pair.securesCentral() }
    #expect(pair.central.ends == [.peerFailed(.pairingNotSupported)])
    #expect(pair.central.secured == [Bool](repeating: false, count: 5))
    pair.requestsPairing()
    #expect(pair.central.ends.count == 2)
    #expect(pair.central.completed == [.peerFailed(.pairingNotSupported)])
  }

  @Test(
    "a central that refuses a Security Request, or answers with what is refused, is asked once",
    arguments: [true, false])
  func centralsRefusal(_ isPeers: Bool) {
    var strict = HostConfiguration.pairing()
    strict.requiresSecureConnections = true
    var pair = PairingPair(
      central: isPeers ? .pairing(.never) : .pairing(secureConnections: false),
      peripheral: strict)
    for _ in 0..<5 { pair.securesPeripheral() }
    let requestCount = { (pair: PairingPair) in
      pair.peripheral.sent.count { $0.first == SMPPDU.securityRequest([]).bytes.first }
    }
    #expect(requestCount(pair) == 1)
    #expect(pair.peripheral.secured == [Bool](repeating: false, count: 5))
    pair.pass(.seconds(80))
    pair.requestsPairing(isCentral: false)
    #expect(requestCount(pair) == 2)
    let failure: SecurityFailure =
      isPeers ? .peerFailed(.pairingNotSupported) : .pairingFailed(.authenticationRequirements)
    #expect(pair.peripheral.completed == [failure])
  }

  @Test("a refusal of the peer does not hold any more after a pairing")
  func refusalBeforePairing() {
    var pair = PairingPair(peripheralIO: .displayOnly)
    // The central does not get the Security Request, so that it can still pair.
    pair.tamper = { fromCentral, bytes in fromCentral ? [bytes] : [] }
    pair.securesPeripheral()
    pair.tamper = { [$1] }
    pair.delivers(SMPPDU.pairingFailed(.pairingNotSupported).bytes, toCentral: false)
    pair.securesPeripheral(.authentication)
    #expect(pair.peripheral.sent.count == 1)
    pair.securesCentral()
    #expect(pair.peripheral.link.isEncrypted)
    let count = pair.peripheral.sent.count
    pair.securesPeripheral(.authentication)
    #expect(pair.peripheral.sent.count > count)
  }

  @Test("a refusal of the peer does not take the place of the user's")
  func bothRefusals() {
    let other = ClientID(rawValue: 99)
    var pair = PairingPair(peripheral: .pairing(.ask), peripheralIO: .displayOnly)
    pair.answer = { _, _, _ in .reject }
    pair.delivers(Self.request.bytes, toCentral: false)
    #expect(pair.peripheral.prompts == [.consent])
    // Another user's operation needs protection, and the peer refuses.
    pair.registersAgent(other, isCentral: false)
    pair.tamper = { fromCentral, bytes in
      fromCentral ? [SMPPDU.pairingFailed(.pairingNotSupported).bytes] : [bytes]
    }
    pair.pass(.seconds(80))
    for _ in 0..<2 { pair.securesPeripheral() }
    #expect(pair.peripheral.secured == [false, false])
    #expect(
      pair.peripheral.sent.last
        == SMPPDU.securityRequest([.bonding, .mitmProtection, .secureConnections]).bytes)
    // The first user's decision holds.
    pair.registersAgent(.one, isCentral: false)
    pair.delivers(Self.request.bytes, toCentral: false)
    #expect(pair.peripheral.prompts == [.consent])
    #expect(pair.peripheral.sent.last == SMPPDU.pairingFailed(.repeatedAttempts).bytes)
  }

  @Test("a failure that another attempt may mend is no refusal")
  func failure() {
    var pair = PairingPair()
    pair.tamper = { fromCentral, bytes in
      bytes.first == 0x0D && fromCentral ? [bytes.dropLast() + [bytes[16] ^ 1]] : [bytes]
    }
    pair.securesCentral()
    #expect(pair.central.ends == [.peerFailed(.dhKeyCheckFailed)])
    pair.tamper = { [$1] }
    pair.pass(.seconds(2))
    pair.securesCentral()
    #expect(pair.central.ends == [.peerFailed(.dhKeyCheckFailed), nil])
  }

  @Test(
    "one no of a user is enough for a link, whichever side requests again",
    arguments: [true, false])
  func usersRefusal(_ isCentral: Bool) {
    let asking = HostConfiguration.pairing(.ask)
    var pair = PairingPair(
      central: isCentral ? asking : .pairing(), peripheral: isCentral ? .pairing() : asking,
      centralIO: isCentral ? .displayOnly : .noInputNoOutput,
      peripheralIO: isCentral ? .noInputNoOutput : .displayOnly)
    pair.answer = { _, _, _ in .reject }
    for _ in 0..<5 {
      pair.pass(.seconds(80))
      if isCentral { pair.securesCentral() } else { pair.securesPeripheral() }
      pair.delivers(
        isCentral ? SMPPDU.securityRequest([.bonding]).bytes : Self.request.bytes,
        toCentral: isCentral)
    }
    let end = isCentral ? pair.central : pair.peripheral
    #expect(end.prompts == [.consent])
    #expect(end.sent.last == SMPPDU.pairingFailed(.repeatedAttempts).bytes)
    // Another agent may decide otherwise.
    pair.registersAgent(ClientID(rawValue: 99), isCentral: isCentral)
    pair.answer = { _, _, _ in .accept }
    pair.pass(.seconds(80))
    pair.securesCentral()
    #expect(pair.central.link.isEncrypted == isCentral)
  }
}
