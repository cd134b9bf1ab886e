import BluetoothInterface
import BluetoothWire
import Essentials
import Simulation
import Testing

@testable import BluetoothMachines
@testable import PairingMachines

/// Each attack on pairing that has a name, as a script on the air against a host in either role.
@Suite("Attacks on pairing, on the air")
struct PairingAttackTests {
  private static let roles: [LinkInfo.Role] = [.central, .peripheral]

  // MARK: Public keys

  /// The y coordinate sent with the x coordinate of the victim's own public key.
  enum Reflection: CaseIterable {
    case whole, foreign
    /// The other point of the curve with this x.
    case mirrored
  }

  /// The prime of P-256 (FIPS 186-4, D.1.2.3) less the coordinate.
  private static func mirrored(_ y: SMPCoordinate) throws -> SMPCoordinate {
    let ones = [UInt8](repeating: 0xFF, count: 4)
    let prime = ones + [0, 0, 0, 1] + [UInt8](repeating: 0, count: 12) + ones + ones + ones
    var borrow = 0
    var bytes: [UInt8] = []
    for (minuend, subtrahend) in zip(prime, y.bytes).reversed() {
      let difference = Int(minuend) - Int(subtrahend) - borrow
      borrow = difference < 0 ? 1 : 0
      bytes.insert(UInt8(truncatingIfNeeded: difference), at: 0)
    }
    return try #require(SMPCoordinate(bytes))
  }

  @Test("a mirrored public key is a point of the curve")
  func mirroredKey() throws {
    let agreement = try #require(World.pairing(seed: 1).keyAgreement)
    let key = try #require(SMPCoordinate([UInt8](repeating: 5, count: 32)))
    guard case .publicKey(let point) = agreement.perform(.publicKey(privateKey: key)) else {
      Issue.record("no public key")
      return
    }
    let mirror = PublicKey(x: point.x, y: try Self.mirrored(point.y))
    let secret = agreement.perform(.sharedSecret(privateKey: key, peer: point))
    #expect(secret != .invalidKey)
    #expect(agreement.perform(.sharedSecret(privateKey: key, peer: mirror)) == secret)
  }

  @Test(
    "the victim's own public key, sent back with any y (CVE-2020-26558), is refused",
    arguments: Reflection.allCases)
  func reflectedKey(_ reflection: Reflection) throws {
    // Only a peripheral knows the other's key before it has to send its own.
    let scene = try PairingScene(.central, victimIO: .displayYesNo, attackerIO: .displayYesNo)
    var victims: (SMPCoordinate, SMPCoordinate)?
    scene.attacker.heard = { if case .pairingPublicKey(let x, let y) = $0 { victims = (x, y) } }
    scene.attacker.change = { pdu in
      guard case .pairingPublicKey(_, let y) = pdu, let victims else { return [pdu.bytes] }
      let sent: SMPCoordinate? =
        switch reflection {
        case .whole: victims.1
        case .foreign: y
        case .mirrored: try? Self.mirrored(victims.1)
        }
      guard let sent else { return [] }
      return [SMPPDU.pairingPublicKey(x: victims.0, y: sent).bytes]
    }
    scene.pair()
    #expect(victims != nil && scene.ends == [.pairingFailed(.invalidParameters)])
    scene.expectNothingWon()
  }

  @Test("a public key that is no point on the curve is refused", arguments: roles)
  func invalidCurve(_ role: LinkInfo.Role) throws {
    for kind in 0..<3 {
      let scene = try PairingScene(role)
      let zero = try #require(SMPCoordinate([UInt8](repeating: 0, count: 32)))
      scene.attacker.change = { pdu in
        guard case .pairingPublicKey(let x, let y) = pdu else { return [pdu.bytes] }
        // Another point, one of the curve y² = x³ (mod p), and the one with y = 0 of Biham and Neumann.
        let wrong: SMPPDU =
          kind == 0
          ? .pairingPublicKey(x: y, y: x)
          : kind == 1 ? .pairingPublicKey(x: zero, y: zero) : .pairingPublicKey(x: x, y: zero)
        return [wrong.bytes]
      }
      scene.pair()
      #expect(scene.ends == [.pairingFailed(.invalidParameters)], "kind \(kind)")
      #expect(scene.reasonsSent == [.invalidParameters])
      scene.expectNothingWon()
    }
  }

  @Test(
    "a point whose private key is published or its negative is refused", arguments: roles,
    [false, true])
  func debugKey(_ role: LinkInfo.Role, _ isMirrored: Bool) throws {
    let agreement = try #require(World.pairing(seed: 1).keyAgreement)
    // The private key for debugging (Core 5.4, Vol 3, Part H, §2.3.5.6.1).
    let key = try #require(
      SMPCoordinate(
        [
          0x3F, 0x49, 0xF6, 0xD4, 0xA3, 0xC5, 0x5F, 0x38, 0x74, 0xC9, 0xB3, 0xE3, 0xD2, 0x10, 0x3F,
          0x50, 0x4A, 0xFF, 0x60, 0x7B, 0xEB, 0x40, 0xB7, 0x99, 0x58, 0x99, 0xB8, 0xA6, 0xCD, 0x3C,
          0x1A, 0xBD,
        ] as [UInt8]))
    guard case .publicKey(let point) = agreement.perform(.publicKey(privateKey: key)) else {
      Issue.record("no public key")
      return
    }
    let y = isMirrored ? try Self.mirrored(point.y) : point.y
    let scene = try PairingScene(role)
    scene.attacker.change = { pdu in
      guard case .pairingPublicKey = pdu else { return [pdu.bytes] }
      return [SMPPDU.pairingPublicKey(x: point.x, y: y).bytes]
    }
    scene.pair()
    #expect(scene.ends == [.pairingFailed(.invalidParameters)])
    #expect(scene.reasonsSent == [.invalidParameters])
    scene.expectNothingWon()
  }

  @Test("commitments that are sent back prove nothing", arguments: [true, false])
  func reflectedCommitment(_ isSecure: Bool) throws {
    let scene = try PairingScene(
      .central, victimIO: .displayOnly, attackerIO: .keyboardOnly, usesSecureConnections: isSecure)
    scene.attacker.answer = { _ in .passkey(1) }
    var confirm: SMPValue?
    scene.attacker.heard = { if case .pairingConfirm(let value) = $0 { confirm = value } }
    scene.attacker.change = { pdu in
      guard case .pairingConfirm = pdu, let confirm else { return [pdu.bytes] }
      return [SMPPDU.pairingConfirm(confirm).bytes]
    }
    scene.pair()
    #expect(confirm != nil && scene.ends == [.pairingFailed(.confirmValueFailed)])
    scene.expectNothingWon()
  }

  // MARK: People

  @Test("a passkey that was used once is worth nothing the next time, which comes later and later")
  func passkeyReuse() throws {
    let scene = try PairingScene(.peripheral, victimIO: .displayOnly, attackerIO: .keyboardOnly)
    // An attacker read the first one from the display, too, and broke the pairing off at its end.
    var shown: UInt32 = 0
    scene.attacker.answer = { _ in
      for case (.displayPasskey(let number), _) in scene.prompts { shown = number }
      return .passkey(shown)
    }
    scene.attacker.change = { pdu in
      if case .pairingDHKeyCheck = pdu { return [SMPPDU.pairingFailed(.unspecifiedReason).bytes] }
      return [pdu.bytes]
    }
    scene.pair()
    #expect(scene.ends.count == 1 && scene.prompts.count == 1)
    let first = shown
    scene.attacker.change = { [$0.bytes] }
    scene.attacker.answer = { _ in .passkey(first) }
    var delay: Int64 = 2
    for attempt in 2...4 {
      scene.world.run(for: .seconds(delay))
      scene.attacker.reset()
      let endCount = scene.ends.count
      scene.pair(for: .zero)
      scene.world.run(atMost: .seconds(3)) { scene.ends.count > endCount }
      #expect(scene.prompts.count == attempt, "each has a passkey of its own")
      #expect(scene.ends.last == .some(.pairingFailed(.confirmValueFailed)))
      // At once again: refused, without a passkey that could be tried.
      scene.attacker.reset()
      scene.pair(for: .milliseconds(500))
      #expect(scene.reasonsSent.last == .repeatedAttempts && scene.prompts.count == attempt)
      delay *= 2
    }
    scene.expectNothingWon()
  }

  // MARK: Check of the keys

  @Test("a check value with one other bit is refused with DHKey Check Failed", arguments: roles)
  func alteredKeyCheck(_ role: LinkInfo.Role) throws {
    for bit in [0, 7, 64, 127] {
      let scene = try PairingScene(role, seed: UInt64(bit) + 1)
      scene.attacker.change = { pdu in
        guard case .pairingDHKeyCheck(let value) = pdu else { return [pdu.bytes] }
        return [SMPPDU.pairingDHKeyCheck(SMPValue(number: value.number ^ 1 << UInt128(bit))).bytes]
      }
      scene.pair()
      #expect(scene.ends == [.pairingFailed(.dhKeyCheckFailed)], "bit \(bit)")
      #expect(scene.reasonsSent.map(\.rawValue) == [0x0B], "bit \(bit)")
      scene.expectNothingWon("bit \(bit)")
    }
  }

  // MARK: Features

  @Test("a key shorter than the minimum is not agreed to (KNOB)", arguments: roles, [7, 15])
  func keySize(_ role: LinkInfo.Role, _ byteCount: Int) throws {
    let scene = try PairingScene(role)
    scene.attacker.change = { pdu in
      switch pdu {
      case .pairingRequest(var features):
        features.maximumEncryptionKeyByteCount = byteCount
        return [SMPPDU.pairingRequest(features).bytes]
      case .pairingResponse(var features):
        features.maximumEncryptionKeyByteCount = byteCount
        return [SMPPDU.pairingResponse(features).bytes]
      default: return [pdu.bytes]
      }
    }
    scene.pair()
    #expect(scene.reasonsSent == [.encryptionKeySize])
    scene.expectNothingWon()
  }

  @Test("no key is derived for the other transport, whatever the peer requests (BLURtooth)")
  func crossTransport() throws {
    let scene = try PairingScene(.peripheral)
    scene.attacker.change = { pdu in
      guard case .pairingRequest(var features) = pdu else { return [pdu.bytes] }
      features.initiatorKeys.insert(.linkKey)
      features.responderKeys.insert(.linkKey)
      return [SMPPDU.pairingRequest(features).bytes]
    }
    scene.pair()
    let responses = scene.attacker.received.compactMap {
      if case .pairingResponse(let features) = $0 { features } else { nil }
    }
    #expect(responses.count == 1)
    #expect(responses.allSatisfy { !$0.initiatorKeys.contains(.linkKey) })
    #expect(responses.allSatisfy { !$0.responderKeys.contains(.linkKey) })
    #expect(responses.allSatisfy { !$0.authenticationRequirements.contains(.ct2) })
  }

  // MARK: Bonds

  private static func bond(isAuthenticated: Bool, isSecureConnections: Bool = true) -> Bond {
    let key = LongTermKey(SMPValue(number: 0x1234_5678_9ABC_DEF0))
    return Bond(
      identity: DeviceAddress(bits: 0xF00, kind: .public), centralKey: key, peripheralKey: key,
      isAuthenticated: isAuthenticated, isSecureConnections: isSecureConnections)
  }

  @Test(
    "an impostor of a bonded peer gets nothing for weaker keys than the peer's (BLURtooth)",
    arguments: roles, [true, false])
  func weakerPairing(_ role: LinkInfo.Role, _ isLegacy: Bool) throws {
    let bond = Self.bond(isAuthenticated: !isLegacy)
    // As the central the victim encrypts first; the attacker reports that it has lost the key,
    // which ends the link. So it comes to a pairing only as the peripheral.
    let scene = try PairingScene(
      role, usesSecureConnections: !isLegacy, address: 0xF00, bonds: [bond])
    scene.pair()
    scene.expectNothingWon()
    if role == .peripheral {
      #expect(scene.reasonsSent == [.authenticationRequirements])
    } else {
      #expect(scene.attacker.received.isEmpty)
    }
  }

  @Test(
    "a peer without the keys of a bond is not believed and gets no data (BLESA)",
    arguments: [true, false])
  func reconnectionWithoutEncryption(_ answersKeyRequest: Bool) throws {
    let world = World.pairing(seed: 5)
    let victim = TestHost(named: "Victim", in: world, bonds: [Self.bond(isAuthenticated: false)])
    let attacker = PairingAttacker(
      in: world, role: .peripheral, victim: victim.controller.address, address: 0xF00)
    attacker.givesKey = answersKeyRequest
    var wasAsked = false
    attacker.peer.answer = { _ in
      wasAsked = true
      return [[0x0B, 0x66]]
    }
    world.run(for: .milliseconds(200))
    let peer = attacker.peer.address
    victim.send(.connect(peer, ConnectOptions()))
    _ = world.run(atMost: .seconds(5)) { attacker.peer.handle != nil }
    // Its data before it has proved anything: a notification, an indication, a value.
    for pdu: [UInt8] in [[0x1B, 3, 0, 0x66], [0x1D, 3, 0, 0x66], [0x0B, 0x66]] {
      attacker.peer.attribute(pdu)
    }
    victim.send(.gatt(peer, .read(3), RequestToken(rawValue: 1)))
    victim.send(.gatt(peer, .writeWithoutResponse(3, [1, 2, 3]), RequestToken(rawValue: 2)))
    world.run(for: .seconds(45))
    #expect(!wasAsked && attacker.peer.attributes.isEmpty)
    let isKeyMissing = victim.events.contains {
      if case .disconnected(peer, .security(let failure)?, _) = $0 {
        failure == .keyMissing || failure == .encryptionFailed(.linkResponseTimeout)
          || failure == .encryptionFailed(.instantPassed)
      } else {
        false
      }
    }
    let isLost = victim.events.contains {
      if case .disconnected(peer, _, _) = $0 { true } else { false }
    }
    #expect(isKeyMissing || (!answersKeyRequest && isLost))
    let values = victim.events.contains { if case .valueUpdated = $0 { true } else { false } }
    #expect(!values)
  }

  @Test(
    "a central with a bonded one's address reads nothing protected, and is asked nothing (BLESA)")
  func impostorCentral() throws {
    let scene = try PairingScene(
      .peripheral, address: 0xF00, bonds: [Self.bond(isAuthenticated: false)])
    let peer = scene.attacker.peer.address
    // Every handle, read and written.
    for handle in UInt16(1)...30 {
      scene.attacker.peer.attribute(.readRequest(handle: handle))
      scene.world.run(for: .milliseconds(100))
      scene.attacker.peer.attribute(.writeRequest(handle: handle, value: [9]))
      scene.world.run(for: .milliseconds(100))
    }
    #expect(
      !scene.attacker.peer.attributes.contains {
        $0.contains(7) && $0.first == 0x0B && $0.count == 4
      })
    // This host's own client waits until the peer has proved that it is the one.
    scene.attacker.peer.forgetHeard()
    scene.victim.send(.connect(peer, ConnectOptions()))
    scene.victim.send(.gatt(peer, .writeWithoutResponse(3, [1, 2, 3]), RequestToken(rawValue: 8)))
    scene.attacker.change = { _ in [] }
    scene.world.run(for: .seconds(35))
    let requests = scene.attacker.peer.attributes.filter {
      ATTOpcode(rawValue: $0.first ?? 0).isForClient == false
    }
    #expect(requests.isEmpty, "\(requests)")
    #expect(
      scene.attacker.received.contains {
        if case .securityRequest = $0 { true } else { false }
      })
    #expect(scene.attacker.peer.handle == nil, "it proved nothing for 30 s")
  }

  @Test("the PDUs of an honest pairing, replayed, win nothing", arguments: [true, false])
  func replayed(_ isSecure: Bool) throws {
    let honest = try PairingScene(.peripheral, seed: 8, usesSecureConnections: isSecure)
    var recorded: [[UInt8]] = []
    honest.attacker.change = { pdu in
      recorded.append(pdu.bytes)
      return [pdu.bytes]
    }
    honest.pair()
    #expect(honest.ends == [nil] && recorded.count > 3)
    let scene = try PairingScene(.peripheral, seed: 9, usesSecureConnections: isSecure)
    scene.attacker.change = { _ in [] }
    for pdu in recorded {
      scene.attacker.says(pdu)
      scene.world.run(for: .milliseconds(200))
    }
    scene.world.run(for: .seconds(5))
    #expect(scene.ends.count == 1 && scene.ends.first != .some(nil))
    scene.expectNothingWon()
  }

  // MARK: Ends

  @Test("every reason for which a peer ends a pairing ends it, and is reported", arguments: roles)
  func reasons(_ role: LinkInfo.Role) throws {
    for code in Array(UInt8(0x01)...0x10) + [0x00, 0x42, 0xFF] {
      let scene = try PairingScene(role, seed: UInt64(code) + 1)
      let reason = SMPFailureReason(rawValue: code)
      var hasFailed = false
      scene.attacker.change = { pdu in
        switch pdu {
        case .pairingPublicKey where !hasFailed, .pairingConfirm where !hasFailed:
          hasFailed = true
          return [SMPPDU.pairingFailed(reason).bytes]
        default: return hasFailed ? [] : [pdu.bytes]
        }
      }
      scene.pair()
      #expect(scene.ends == [.peerFailed(reason)], "reason \(code)")
      scene.expectNothingWon("reason \(code)")
    }
  }

  @Test(
    "a peer that falls silent costs 30 s, and its link takes no pairing after that",
    arguments: roles)
  func silence(_ role: LinkInfo.Role) throws {
    for step in 2...4 {
      let scene = try PairingScene(role, seed: UInt64(step))
      var count = 0
      scene.attacker.change = { pdu in
        count += 1
        return count >= step ? [] : [pdu.bytes]
      }
      scene.pair(for: .seconds(29))
      #expect(scene.ends.isEmpty, "step \(step)")
      scene.world.run(for: .seconds(3))
      #expect(scene.ends == [.timeout], "step \(step)")
      let receivedCount = scene.attacker.received.count
      scene.attacker.change = { [$0.bytes] }
      scene.attacker.reset()
      scene.pair()
      let isAnswered = scene.attacker.received.count > receivedCount
      #expect(!isAnswered, "step \(step)")
      scene.expectNothingWon()
    }
  }

  @Test("PDUs that don't belong where they come are refused with the specification's reasons")
  func reasonsSent() throws {
    // A Pairing Request whose fields are not allowed, one to a central, a key before its time.
    let cases: [(LinkInfo.Role, [[UInt8]], SMPFailureReason)] = [
      (.peripheral, [[0x01, 0x07, 0, 1, 16, 0, 0]], .invalidParameters),
      (.peripheral, [[0x01, 0x03, 0, 1]], .invalidParameters),
      (.central, [[0x01, 0x03, 0, 1, 16, 0, 0]], .commandNotSupported),
      (.peripheral, [[0x0B, 0x01]], .commandNotSupported),
      (.peripheral, [[0x01, 0x03, 0, 1, 6, 0, 0]], .invalidParameters),
      (
        .peripheral, [[0x01, 0x03, 0, 9, 16, 0, 0], [0x06] + [UInt8](repeating: 1, count: 16)],
        .unspecifiedReason
      ),
      (.peripheral, [[0x01, 0x03, 1, 9, 16, 0, 0]], .outOfBandNotAvailable),
    ]
    for (number, (role, pdus, reason)) in cases.enumerated() {
      let scene = try PairingScene(role, seed: UInt64(number) + 20)
      for pdu in pdus {
        scene.attacker.says(pdu)
        scene.world.run(for: .seconds(1))
      }
      #expect(scene.reasonsSent.last == reason, "case \(number)")
      scene.expectNothingWon("case \(number)")
    }
  }
}
