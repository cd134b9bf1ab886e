/// The cryptographic functions of pairing (Core 5.4, Vol 3, Part H, §2.2).
///
/// All numbers are most significant byte first, as the specification writes them.
package enum PairingFunctions {
  /// The confirm value of legacy pairing, c1 (§2.2.3).
  ///
  /// - Parameters:
  ///   - temporaryKey: TK; of a passkey its number, of Just Works zero.
  ///   - random: The number that is committed to.
  ///   - request: The Pairing Request as it went over the wire.
  ///   - response: The Pairing Response as it went over the wire.
  ///   - initiator: The address that the initiator connected with.
  ///   - responder: The address that the responder was connected at.
  package static func legacyConfirmValue(
    temporaryKey: SMPValue, random: SMPValue, request: SMPPDU, response: SMPPDU,
    initiator: DeviceAddress, responder: DeviceAddress
  ) -> SMPValue {
    let cipher = AES128(key: temporaryKey.number)
    let first =
      response.bytes.reversed() + request.bytes.reversed()
      + [responder.kind.rawValue, initiator.kind.rawValue]
    let second = [0, 0, 0, 0] + initiator.bigEndianBytes + responder.bigEndianBytes
    return SMPValue(
      number: cipher.encrypt(cipher.encrypt(random.number ^ number(first)) ^ number(second)))
  }

  /// The short term key of legacy pairing, s1 (§2.2.4).
  package static func shortTermKey(
    temporaryKey: SMPValue, responderRandom: SMPValue, initiatorRandom: SMPValue
  ) -> SMPValue {
    let half = UInt128(UInt64.max)
    let block = (responderRandom.number & half) << 64 | initiatorRandom.number & half
    return SMPValue(number: AES128(key: temporaryKey.number).encrypt(block))
  }

  /// The confirm value of LE Secure Connections, f4 (§2.2.6).
  ///
  /// - Parameters:
  ///   - own: The x coordinate of the public key of the committing device: U.
  ///   - other: The x coordinate of the other public key: V.
  ///   - random: The number that is committed to: X.
  ///   - passkeyBit: A bit of a passkey with 0x80, else zero: Z.
  package static func confirmValue(
    own: SMPCoordinate, other: SMPCoordinate, random: SMPValue, passkeyBit: UInt8
  ) -> SMPValue {
    cmac(random, own.bytes + other.bytes + [passkeyBit])
  }

  /// The keys of LE Secure Connections, f5 (§2.2.7): one for check values, and the long term key.
  ///
  /// - Parameter diffieHellmanKey: W, the x coordinate of the shared point.
  package static func keys(
    diffieHellmanKey: SMPCoordinate, initiatorRandom: SMPValue, responderRandom: SMPValue,
    initiator: DeviceAddress, responder: DeviceAddress
  ) -> (macKey: SMPValue, longTermKey: SMPValue) {
    let salt: [UInt8] = [
      0x6C, 0x88, 0x83, 0x91, 0xAA, 0xF5, 0xA5, 0x38,
      0x60, 0x37, 0x0B, 0xDB, 0x5A, 0x60, 0x83, 0xBE,
    ]
    var secret = diffieHellmanKey.bytes
    defer { overwrite(&secret) }
    let key = AES128(key: AES128(key: salt).cmac(secret) as UInt128)
    let bitCount: [UInt8] = [0x01, 0x00]
    let rest =
      Array("btle".utf8) + initiatorRandom.bytes + responderRandom.bytes
      + initiator.typedBytes + responder.typedBytes + bitCount
    return (SMPValue(number: key.cmac([0] + rest)), SMPValue(number: key.cmac([1] + rest)))
  }

  /// The check value of LE Secure Connections, f6 (§2.2.8).
  ///
  /// - Parameters:
  ///   - macKey: The key for check values: W.
  ///   - random: The sender's random number: N1.
  ///   - peerRandom: The receiver's random number: N2.
  ///   - shared: The passkey or the out-of-band number, else zero: R.
  ///   - features: The sender's features.
  ///   - sender: The sender's address.
  ///   - receiver: The receiver's address.
  package static func checkValue(
    macKey: SMPValue, random: SMPValue, peerRandom: SMPValue, shared: SMPValue,
    features: SMPPairingFeatures, sender: DeviceAddress, receiver: DeviceAddress
  ) -> SMPValue {
    let capabilities: [UInt8] = [
      features.authenticationRequirements.rawValue, features.hasOutOfBandData ? 1 : 0,
      features.ioCapability.rawValue,
    ]
    return cmac(
      macKey,
      random.bytes + peerRandom.bytes + shared.bytes + capabilities + sender.typedBytes
        + receiver.typedBytes)
  }

  /// The number that people compare, g2 (§2.2.9): six digits.
  package static func comparisonNumber(
    initiator: SMPCoordinate, responder: SMPCoordinate, initiatorRandom: SMPValue,
    responderRandom: SMPValue
  ) -> UInt32 {
    let hash = cmac(initiatorRandom, initiator.bytes + responder.bytes + responderRandom.bytes)
    return hash.bytes.suffix(4).reduce(0) { $0 << 8 | UInt32($1) } % 1_000_000
  }

  /// Converts a key to another purpose, h6 (§2.2.10).
  ///
  /// - Parameter identifier: Four characters that name the purpose, such as `lebr`.
  package static func converted(_ key: SMPValue, identifier: String) -> SMPValue {
    cmac(key, Array(identifier.utf8))
  }

  /// Converts a key to another purpose, h7 (§2.2.11).
  package static func converted(_ key: SMPValue, salt: SMPValue) -> SMPValue {
    var secret = key.bytes
    defer { overwrite(&secret) }
    return cmac(salt, secret)
  }

  private static func cmac(_ key: SMPValue, _ message: [UInt8]) -> SMPValue {
    SMPValue(number: AES128(key: key.number).cmac(message))
  }

  private static func number(_ bytes: some Sequence<UInt8>) -> UInt128 {
    bytes.reduce(0) { $0 << 8 | UInt128($1) }
  }
}

extension DeviceAddress {
  fileprivate var bigEndianBytes: [UInt8] {
    (0..<6).map { UInt8(truncatingIfNeeded: bits >> (40 - 8 * $0)) }
  }

  /// 56 bits: the type, then the address (§2.2.7).
  fileprivate var typedBytes: [UInt8] { [kind.rawValue] + bigEndianBytes }
}
