import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import PairingMachines

@Suite("Pairing with a hostile peer")
struct PairingHostileTests {
  private static let ends = [true, false]

  /// Replaces what one side sends.
  private static func replacing(
    fromCentral: Bool, _ change: @escaping (SMPPDU) -> SMPPDU?
  ) -> (Bool, [UInt8]) -> [[UInt8]] {
    { sender, bytes in
      guard sender == fromCentral, let pdu = try? SMPPDU(decoding: bytes[...]) else {
        return [bytes]
      }
      return (change(pdu)).map { [$0.bytes] } ?? [bytes]
    }
  }

  private func expectNoKeys(_ pair: PairingPair, _ comment: Comment? = nil) {
    #expect(pair.central.stored.isEmpty && pair.peripheral.stored.isEmpty, comment)
    #expect(pair.central.link.encryption == nil, comment)
    #expect(pair.peripheral.link.encryption == nil, comment)
  }

  @Test("a public key that is no point on the curve is refused", arguments: ends)
  func invalidCurve(_ fromCentral: Bool) {
    var pair = PairingPair()
    pair.tamper = Self.replacing(fromCentral: fromCentral) { pdu in
      guard case .pairingPublicKey(let x, _) = pdu else { return nil }
      return .pairingPublicKey(x: x, y: x)
    }
    pair.securesCentral()
    expectNoKeys(pair)
    let ends = fromCentral ? pair.peripheral.ends : pair.central.ends
    #expect(ends == [.pairingFailed(.invalidParameters)])
  }

  @Test("a host's own public key, reflected, is refused", arguments: ends)
  func reflectedKey(_ fromCentral: Bool) {
    var pair = PairingPair()
    var victims: SMPPDU?
    // The central's key comes first: the attacker as peripheral sends it back; as central it can't
    // know the peripheral's, so it fails at the check of the keys.
    pair.tamper = { sender, bytes in
      guard let pdu = try? SMPPDU(decoding: bytes[...]), case .pairingPublicKey = pdu else {
        return [bytes]
      }
      if sender { victims = pdu }
      return [(sender == fromCentral ? pdu : victims ?? pdu).bytes]
    }
    pair.securesCentral()
    if !fromCentral { return #expect(pair.central.ends == [nil]) }
    expectNoKeys(pair)
    #expect(pair.central.ends == [.pairingFailed(.invalidParameters)])
  }

  /// The public key for debugging (Core 5.4, Vol 3, Part H, §2.3.5.6.1).
  private static let debugX =
    SMPCoordinate(
      [
        0x20, 0xB0, 0x03, 0xD2, 0xF2, 0x97, 0xBE, 0x2C, 0x5E, 0x2C, 0x83, 0xA7, 0xE9, 0xF9, 0xA5,
        0xB9, 0xEF, 0xF4, 0x91, 0x11, 0xAC, 0xF4, 0xFD, 0xDB, 0xCC, 0x03, 0x01, 0x48, 0x0E, 0x35,
        0x9D, 0xE6,
      ] as [UInt8])

  @Test(
    "the public key for debugging, whose private key all know, is refused unless it is configured",
    arguments: ends, [false, true])
  func debugKey(_ fromCentral: Bool, _ isAccepted: Bool) throws {
    let x = try #require(Self.debugX)
    var configuration = HostConfiguration.pairing()
    #expect(!configuration.acceptsDebugKeys)
    configuration.acceptsDebugKeys = isAccepted
    var pair = PairingPair(central: configuration, peripheral: configuration)
    pair.tamper = Self.replacing(fromCentral: fromCentral) { pdu in
      guard case .pairingPublicKey(_, let y) = pdu else { return nil }
      return .pairingPublicKey(x: x, y: y)
    }
    var computed: [SMPCoordinate] = []
    pair.onComputation = { operation, _ in
      if case .sharedSecret(_, let peer) = operation { computed.append(peer.x) }
    }
    pair.securesCentral()
    let victim = fromCentral ? pair.peripheral : pair.central
    #expect(computed.contains(x) == isAccepted)
    #expect(
      victim.sent.contains(SMPPDU.pairingFailed(.invalidParameters).bytes) == !isAccepted)
    // The sender has another private key, so the pairing fails in the end.
    expectNoKeys(pair)
  }

  @Test("commitments that are sent back are refused", arguments: [true, false])
  func reflectedConfirm(_ isSecure: Bool) {
    let configuration = HostConfiguration.pairing(secureConnections: isSecure)
    var pair = PairingPair(
      central: configuration, peripheral: configuration, centralIO: .displayOnly,
      peripheralIO: .keyboardOnly)
    var confirm: [UInt8] = []
    pair.tamper = { fromCentral, bytes in
      guard bytes.first == 0x03 else { return [bytes] }
      if fromCentral { confirm = bytes }
      return [confirm]
    }
    pair.securesCentral()
    expectNoKeys(pair)
    #expect(pair.central.ends == [.pairingFailed(.confirmValueFailed)])
  }

  @Test("no key shorter than the minimum is agreed to", arguments: ends, [7, 15])
  func keySize(_ fromCentral: Bool, _ byteCount: Int) {
    var pair = PairingPair()
    pair.tamper = Self.replacing(fromCentral: fromCentral) { pdu in
      switch pdu {
      case .pairingRequest(var features):
        features.maximumEncryptionKeyByteCount = byteCount
        return .pairingRequest(features)
      case .pairingResponse(var features):
        features.maximumEncryptionKeyByteCount = byteCount
        return .pairingResponse(features)
      default: return nil
      }
    }
    pair.securesCentral()
    expectNoKeys(pair)
    let ends = fromCentral ? pair.peripheral : pair.central
    #expect(ends.sent.last == SMPPDU.pairingFailed(.encryptionKeySize).bytes)
  }

  @Test(
    "a shorter key, where it is allowed, is as short as agreed at both ends",
    arguments: [true, false])
  func shortKey(_ isSecure: Bool) throws {
    let configuration = HostConfiguration.pairing(
      secureConnections: isSecure, keyByteCountMin: 7)
    var pair = PairingPair(central: configuration, peripheral: configuration)
    pair.tamper = { _, bytes in
      // A legacy pairing would notice that the features were changed on their way.
      guard isSecure, bytes.first == 0x01 || bytes.first == 0x02 else { return [bytes] }
      var bytes = bytes
      bytes[4] = 7
      return [bytes]
    }
    pair.securesCentral()
    guard isSecure else { return #expect(pair.central.ends == [nil]) }
    let bond = try #require(pair.central.stored.first)
    #expect(bond.keyByteCount == 7)
    #expect(bond.centralKey?.value.bytes.prefix(9) == [0, 0, 0, 0, 0, 0, 0, 0, 0])
    #expect(bond.centralKey == pair.peripheral.stored.first?.peripheralKey)
  }

  @Test("features that were changed on their way are found out", arguments: ends, [true, false])
  func changedFeatures(_ ofCentral: Bool, _ isSecure: Bool) {
    let configuration = HostConfiguration.pairing(secureConnections: isSecure)
    var pair = PairingPair(
      central: configuration, peripheral: configuration, centralIO: .keyboardDisplay,
      peripheralIO: .keyboardDisplay)
    // An attacker in the middle wants Just Works.
    pair.tamper = Self.replacing(fromCentral: ofCentral) { pdu in
      switch pdu {
      case .pairingRequest(var features):
        features.ioCapability = .noInputNoOutput
        return .pairingRequest(features)
      case .pairingResponse(var features):
        features.ioCapability = .noInputNoOutput
        return .pairingResponse(features)
      default: return nil
      }
    }
    pair.securesCentral()
    pair.pass(.seconds(31))
    expectNoKeys(pair)
  }

  @Test("two that are led to different methods over one exchange of keys agree on none")
  func methodsApart() {
    // The central compares a number; to the peripheral it seems to show a passkey. What each side's
    // user sees is entered at the other, and the same values go on between them.
    for number: UInt32 in [0, 123_456, 999_999] {
      var pair = PairingPair(centralIO: .displayYesNo, peripheralIO: .keyboardDisplay)
      pair.tamper = { fromCentral, bytes in
        guard case .pairingRequest(var features)? = try? SMPPDU(decoding: bytes[...]) else {
          // Each waits for the other's commitment: the attacker makes one up.
          let commitment = SMPPDU.pairingConfirm(SMPValue(number: 5)).bytes
          return bytes.first == 0x0C && !fromCentral ? [bytes, commitment] : [bytes]
        }
        features.ioCapability = .displayOnly
        return [SMPPDU.pairingRequest(features).bytes]
      }
      pair.answer = { _, _, prompt in
        if case .enterPasskey = prompt { .passkey(number) } else { .accept }
      }
      pair.securesCentral()
      pair.pass(.seconds(31))
      #expect(pair.peripheral.prompts == [.enterPasskey])
      #expect(pair.central.ends.count == 1 && pair.central.ends != [nil])
      #expect(pair.peripheral.ends.count == 1 && pair.peripheral.ends != [nil])
      expectNoKeys(pair)
    }
  }

  @Test(
    "no peer replaces an authenticated bond by Just Works, or a secure bond by a legacy one"
  )
  func weakerBond() throws {
    var strong = PairingPair(centralIO: .keyboardOnly, peripheralIO: .displayOnly)
    strong.securesCentral()
    let bond = try #require(strong.peripheral.stored.first)
    #expect(bond.isAuthenticated)
    // The central lost its bond, or is another device.
    var pair = PairingPair(bonds: ([], [bond]))
    pair.securesCentral()
    #expect(pair.central.ends == [.peerFailed(.authenticationRequirements)])
    #expect(pair.peripheral.stored.isEmpty)
    #expect(pair.peripheral.host.bonds.bond(of: PairingPair.centralAddress) == bond)
    var legacy = PairingPair(
      central: .pairing(secureConnections: false), centralIO: .keyboardOnly,
      peripheralIO: .displayOnly, bonds: ([], [bond]))
    legacy.securesCentral()
    #expect(legacy.central.ends == [.peerFailed(.authenticationRequirements)])
    // With what the first had to show, it may.
    var same = PairingPair(
      centralIO: .keyboardOnly, peripheralIO: .displayOnly, bonds: ([], [bond]))
    same.securesCentral()
    #expect(same.peripheral.stored.count == 1)
  }

  private static func justWorksBond() throws -> Bond {
    var first = PairingPair()
    first.securesCentral()
    return try #require(first.peripheral.stored.first)
  }

  @Test(
    "a bond by Just Works is replaced by Just Works only if a person or the configuration allows it",
    arguments: BondReplacement.allCases, [nil, true, false])
  func unprovenPeer(_ replacement: BondReplacement, _ isAccepted: Bool?) throws {
    let bond = try Self.justWorksBond()
    var configuration = HostConfiguration.pairing()
    configuration.bondReplacement = replacement
    var pair = PairingPair(
      peripheral: configuration,
      peripheralIO: isAccepted == nil ? .noInputNoOutput : .displayOnly, bonds: ([], [bond]))
    pair.answer = { _, _, _ in isAccepted == true ? .accept : .reject }
    pair.securesCentral()
    let hasQuestion = replacement == .ask && isAccepted != nil
    #expect(pair.peripheral.prompts == (hasQuestion ? [.replaceBond(bond.knownAddress)] : []))
    if replacement == .always || hasQuestion && isAccepted == true {
      #expect(pair.peripheral.stored.count == 1 && pair.central.ends == [nil])
    } else {
      #expect(pair.central.ends == [.peerFailed(.keyRejected)])
      #expect(pair.peripheral.unkept == [.unconfirmed])
      #expect(pair.peripheral.host.bonds.bonds == [bond])
      expectNoKeys(pair)
    }
  }

  @Test("a bonded peer's place is not given to one that pairs without bonding, either")
  func unprovenWithoutBonding() throws {
    var pair = PairingPair(bonds: ([], [try Self.justWorksBond()]))
    pair.tamper = Self.replacing(fromCentral: true) { pdu in
      guard case .pairingRequest(var features) = pdu else { return nil }
      features.authenticationRequirements.remove(.bonding)
      return .pairingRequest(features)
    }
    pair.securesCentral()
    #expect(pair.peripheral.sent == [SMPPDU.pairingFailed(.keyRejected).bytes])
    expectNoKeys(pair)
  }

  @Test("a peer that has proved its bond on the link may pair anew", arguments: [true, false])
  func provenPeer(_ hasProved: Bool) throws {
    var first = PairingPair()
    first.securesCentral()
    var pair = PairingPair(bonds: (first.central.stored, first.peripheral.stored))
    if hasProved {
      let isEncrypting = pair.connects()
      #expect(isEncrypting)
    }
    let features = SMPPairingFeatures(
      ioCapability: .noInputNoOutput, hasOutOfBandData: false,
      authenticationRequirements: [.bonding, .secureConnections],
      maximumEncryptionKeyByteCount: 16, initiatorKeys: [], responderKeys: [])
    pair.delivers(SMPPDU.pairingRequest(features).bytes, toCentral: false)
    #expect(pair.peripheral.link.isPairing == hasProved)
    #expect(pair.peripheral.unkept == (hasProved ? [] : [.unconfirmed]))
  }

  @Test("a proof ends with the bond: one that is removed during a pairing counts no more")
  func proofOfRemovedBond() throws {
    let bond = try Self.justWorksBond()
    var evidence = BondEvidence(hasProvedBond: true)
    var pair = PairingPair(bonds: ([], [bond]))
    let peer = PairingPair.centralAddress
    #expect(pair.peripheral.host.claim(bond, by: peer, evidence) == .granted)
    evidence.hasProvedBond = false
    #expect(pair.peripheral.host.claim(bond, by: peer, evidence) == .refused(.unconfirmed))
    let kept = pair.peripheral.host.keep(bond, of: peer)
    #expect(kept == .failure(.unconfirmed))
  }

  /// A peripheral that claims an identity after pairing by Just Works; its key made its address.
  private func claiming(
    _ identity: DeviceAddress, from address: DeviceAddress, key: SMPValue, bonds: [Bond]
  ) -> PairingPair {
    var pair = PairingPair(bonds: (bonds, []), peripheralAddress: address)
    pair.tamper = { fromCentral, bytes in
      guard !fromCentral else { return [bytes] }
      switch try? SMPPDU(decoding: bytes[...]) {
      case .pairingResponse(var features):
        features.responderKeys = .identityKey
        // The check of the keys covers no distribution, so the peripheral can go on.
        return [SMPPDU.pairingResponse(features).bytes]
      case .signingInformation: return []
      default: return [bytes]
      }
    }
    pair.securesCentral()
    pair.delivers(SMPPDU.identityInformation(identityResolvingKey: key).bytes, toCentral: true)
    pair.delivers(SMPPDU.identityAddressInformation(identity).bytes, toCentral: true)
    return pair
  }

  @Test("a peer that claims the identity of an authenticated one does not get its place")
  func claimedIdentity() throws {
    let victim = DeviceAddress.peer(0x99)
    let key = SMPValue(number: 9)
    let longTermKey = LongTermKey(SMPValue(number: 5))
    let bond = Bond(
      identity: victim, centralKey: longTermKey, peripheralKey: longTermKey, isAuthenticated: true,
      isSecureConnections: true)
    let hash = AES128(key: key.bytes).addressHash(of: 0x41_2345)
    let own = DeviceAddress(bits: 0x41_2345 << 24 | UInt64(hash), kind: .random)
    let refused = claiming(victim, from: own, key: key, bonds: [bond])
    #expect(refused.central.stored.isEmpty)
    #expect(refused.central.ends == [.pairingFailed(.keyRejected)])
    #expect(refused.central.unkept == [.weaker])
    #expect(refused.central.disconnection == .pairingFailed(.keyRejected))
    #expect(refused.central.host.bonds.bond(of: victim) == bond)
    // The identity of no other bond: the peer is known by it from now on.
    let other = claiming(.peer(0x98), from: own, key: key, bonds: [bond])
    #expect(other.central.stored.map(\.identity) == [.peer(0x98)])
    #expect(other.central.host.bonds.bond(of: own)?.identity == .peer(0x98))
    // With a key that did not make its address, or an address that doesn't change, it claims nothing.
    // A private address that nothing resolves would never be found again: there is no bond.
    for (address, stored) in [
      (DeviceAddress(bits: own.bits ^ 1, kind: .random), []), (.peer(0x97), [.peer(0x97)]),
    ] as [(DeviceAddress, [DeviceAddress])] {
      let pair = claiming(victim, from: address, key: key, bonds: [bond])
      #expect(pair.central.stored.map(\.identity) == stored)
      #expect(pair.central.host.bonds.bond(of: victim) == bond)
    }
  }

  @Test("keys that come before encryption, twice, or unasked end the pairing")
  func untimelyKeys() {
    for pdu in [
      SMPPDU.encryptionInformation(longTermKey: SMPValue(number: 1)),
      .identityInformation(identityResolvingKey: SMPValue(number: 1)),
      .centralIdentification(encryptedDiversifier: 1, random: 1),
    ] {
      var pair = PairingPair()
      pair.tamper = { _, bytes in bytes.first == 0x0D ? [] : [bytes] }
      pair.securesCentral()
      pair.delivers(pdu.bytes, toCentral: true)
      #expect(pair.central.ends == [.pairingFailed(.unspecifiedReason)])
      expectNoKeys(pair)
    }
  }

  @Test(
    "a peer that falls silent at any step costs 30 s, then the link takes no pairing any more",
    arguments: ends, [true, false])
  func silence(_ ofCentral: Bool, _ isSecure: Bool) {
    let configuration = HostConfiguration.pairing(secureConnections: isSecure)
    for step in 1..<12 {
      var pair = PairingPair(
        central: configuration, peripheral: configuration, centralIO: .keyboardOnly,
        peripheralIO: .displayOnly)
      var count = 0
      pair.tamper = { fromCentral, bytes in
        if fromCentral == ofCentral { count += 1 }
        return fromCentral == ofCentral && count >= step ? [] : [bytes]
      }
      pair.securesCentral()
      let before = (pair.central.ends, pair.peripheral.ends)
      guard before.0.isEmpty || before.1.isEmpty else { return }
      pair.pass(.seconds(29))
      #expect(pair.central.ends == before.0 && pair.peripheral.ends == before.1)
      pair.pass(.seconds(31))
      for (end, ends) in [(pair.central, before.0), (pair.peripheral, before.1)] {
        // The peripheral of a central whose first PDU was lost knows of nothing.
        if end.sent.isEmpty { continue }
        #expect(end.ends == (ends.isEmpty ? [.timeout] : ends), "step \(step)")
        #expect(end.stored.isEmpty || end.ends == [nil])
      }
      // Silent during the distribution of keys: the link is protected all the same.
      let isEncrypted = pair.central.link.isEncrypted
      #expect(pair.central.secured == [isEncrypted])
      guard !isEncrypted, before.0.isEmpty else { continue }
      let sentCount = pair.central.sent.count
      pair.securesCentral()
      #expect(pair.central.sent.count == sentCount && pair.central.secured == [false, false])
    }
  }

  @Test("a pairing that a person ends while the link is being encrypted leaves no protected link")
  func rejectedWhileEncrypting() {
    var pair = PairingPair(centralIO: .keyboardOnly, peripheralIO: .displayOnly)
    // The controllers take their time: the central's never reports that the link is encrypted.
    pair.encrypts = false
    pair.securesCentral()
    #expect(pair.central.link.isPairing && pair.peripheral.link.isPairing)
    pair.leavesAgent(isCentral: false)
    #expect(pair.peripheral.ends == [.pairingFailed(.unspecifiedReason)])
    pair.report(.success, to: [false])
    #expect(pair.peripheral.link.encryption == nil)
  }

  @Test("a prompt without a client that can answer ends the pairing at once")
  func leftBeforeQuestion() {
    var pair = PairingPair(
      central: .pairing(secureConnections: false), peripheral: .pairing(secureConnections: false),
      centralIO: .keyboardOnly, peripheralIO: .displayOnly)
    var response: [UInt8] = []
    pair.tamper = { fromCentral, bytes in
      if !fromCentral, response.isEmpty {
        response = bytes
        return []
      }
      return [bytes]
    }
    pair.securesCentral()
    pair.leavesAgent(isCentral: true)
    #expect(pair.central.ends.isEmpty && pair.central.prompts.isEmpty)
    pair.delivers(response, toCentral: true)
    #expect(pair.central.ends == [.pairingFailed(.unspecifiedReason)])
    #expect(pair.peripheral.ends == [.peerFailed(.unspecifiedReason)])
  }

  @Test("a link whose pairing timed out reports that for each later request")
  func afterTimeout() {
    var pair = PairingPair()
    pair.tamper = { fromCentral, bytes in fromCentral ? [bytes] : [] }
    pair.securesCentral()
    pair.pass(.seconds(31))
    pair.securesCentral()
    #expect(pair.central.ends == [.timeout] && pair.central.secured == [false, false])
    #expect(pair.central.completed.allSatisfy { $0 == .timeout })
  }

  @Test("keypresses buy a silent peer no time")
  func keypresses() {
    var pair = PairingPair(centralIO: .keyboardOnly, peripheralIO: .displayOnly)
    pair.tamper = { fromCentral, bytes in fromCentral ? [bytes] : [] }
    pair.securesCentral()
    for _ in 0..<4 {
      pair.pass(.seconds(10))
      pair.delivers(SMPPDU.keypressNotification(.digitEntered).bytes, toCentral: true)
    }
    #expect(pair.central.ends == [.timeout])
  }

  @Test("encryption that is switched off ends the link")
  func encryptionOff() {
    var pair = PairingPair()
    pair.securesCentral()
    pair.switchesEncryptionOff(isCentral: true)
    #expect(pair.central.link.encryption == nil && pair.central.disconnection != nil)
  }

  @Test(
    "a peer that begins pairings and breaks them off, or its link, has to wait, too",
    arguments: ends)
  func brokenOff(_ endsLink: Bool) {
    var pair = PairingPair()
    for attempt in 0..<3 {
      pair.tamper = { fromCentral, bytes in fromCentral ? [] : [bytes] }
      pair.delivers(
        SMPPDU.securityRequest([.bonding, .secureConnections]).bytes, toCentral: true)
      if endsLink {
        pair.reconnects()
      } else {
        pair.delivers(SMPPDU.pairingFailed(.unspecifiedReason).bytes, toCentral: true)
      }
      #expect(pair.central.ends.count == 1, "attempt \(attempt)")
    }
    pair.pass(.seconds(1))
    pair.delivers(SMPPDU.securityRequest([.bonding, .secureConnections]).bytes, toCentral: true)
    #expect(pair.central.link.isPairing)
  }

  @Test("whatever a peer sends, in whatever order, leaves no key and no state behind")
  func randomPDUs() {
    for seed in 0..<400 {
      var random = SeededGenerator(seed: UInt64(seed))
      let isSecure = Bool.random(using: &random)
      let configuration = HostConfiguration.pairing(secureConnections: isSecure)
      var pair = PairingPair(
        central: configuration, peripheral: configuration,
        centralIO: SMPIOCapability.allCases.randomElement(using: &random) ?? .displayOnly,
        peripheralIO: SMPIOCapability.allCases.randomElement(using: &random) ?? .displayOnly,
        seed: UInt64(seed))
      let isVictimCentral = Bool.random(using: &random)
      // What the honest peer sends is lost now and then; in its place comes anything.
      pair.tamper = { fromCentral, bytes in
        guard fromCentral != isVictimCentral else { return [bytes] }
        return (0..<Int.random(in: 0...2, using: &random)).map { _ in
          Self.anyPDU(bytes, using: &random)
        }
      }
      pair.securesCentral()
      for _ in 0..<20 {
        let pdu = Self.anyPDU([0x04] + [UInt8](repeating: 1, count: 16), using: &random)
        pair.delivers(pdu, toCentral: isVictimCentral)
      }
      pair.pass(.seconds(61))
      let victim = isVictimCentral ? pair.central : pair.peripheral
      #expect(!victim.link.isPairing, "seed \(seed)")
      #expect(victim.stored.isEmpty || victim.link.encryption != nil, "seed \(seed)")
      #expect(victim.link.nextWake == nil, "seed \(seed)")
    }
  }

  private static func anyPDU(_ honest: [UInt8], using random: inout SeededGenerator) -> [UInt8] {
    let kind = Int.random(in: 0...5, using: &random)
    if kind < 3 { return honest }
    if kind == 3, !honest.isEmpty {
      var changed = honest
      changed[Int.random(in: 0..<changed.count, using: &random)] ^=
        1 << UInt8.random(in: 0...7, using: &random)
      return changed
    }
    if kind == 4 { return Array(honest.prefix(Int.random(in: 0...honest.count, using: &random))) }
    let code = UInt8.random(in: 0...0x10, using: &random)
    let count = [0, 1, 6, 7, 10, 16, 64].randomElement(using: &random) ?? 0
    return [code] + (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
  }
}
