import Essentials

/// A PDU of the Security Manager Protocol (Core 5.4, Vol 3, Part H, §3).
///
/// Keys, random numbers and check values are in the order of the specification's figures and
/// functions, most significant byte first; on the wire they are the other way round.
package enum SMPPDU: Hashable, Sendable {
  /// The initiator requests pairing (§3.5.1).
  case pairingRequest(SMPPairingFeatures)
  /// The responder agrees to pair (§3.5.2).
  case pairingResponse(SMPPairingFeatures)
  /// A commitment to a random number (§3.5.3).
  case pairingConfirm(SMPValue)
  /// The random number that was committed to (§3.5.4).
  case pairingRandom(SMPValue)
  /// Pairing ends without a key (§3.5.5).
  case pairingFailed(SMPFailureReason)
  /// The sender's public key on P-256 (§3.5.6).
  case pairingPublicKey(x: SMPCoordinate, y: SMPCoordinate)
  /// Proof that both sides derived the same key (§3.5.7).
  case pairingDHKeyCheck(SMPValue)
  /// A keypress during the entry of a passkey (§3.5.8).
  case keypressNotification(SMPKeypress)
  /// The sender's long term key, of legacy pairing (§3.6.2).
  case encryptionInformation(longTermKey: SMPValue)
  /// The EDIV and Rand that identify the long term key (§3.6.3).
  case centralIdentification(encryptedDiversifier: UInt16, random: UInt64)
  /// The sender's identity resolving key (§3.6.4).
  case identityInformation(identityResolvingKey: SMPValue)
  /// The sender's identity address (§3.6.5).
  case identityAddressInformation(DeviceAddress)
  /// The sender's connection signature resolving key (§3.6.6).
  case signingInformation(signatureResolvingKey: SMPValue)
  /// The peripheral requests that the central encrypts or pairs (§3.6.7).
  case securityRequest(SMPAuthenticationRequirements)

  /// The first byte on the wire (§3.3).
  package var code: UInt8 {
    switch self {
    case .pairingRequest: 0x01
    case .pairingResponse: 0x02
    case .pairingConfirm: 0x03
    case .pairingRandom: 0x04
    case .pairingFailed: 0x05
    case .encryptionInformation: 0x06
    case .centralIdentification: 0x07
    case .identityInformation: 0x08
    case .identityAddressInformation: 0x09
    case .signingInformation: 0x0A
    case .securityRequest: 0x0B
    case .pairingPublicKey: 0x0C
    case .pairingDHKeyCheck: 0x0D
    case .keypressNotification: 0x0E
    }
  }
}

extension SMPPDU {
  /// Reads a whole PDU.
  ///
  /// Throws `unknownCode` for a code that the specification doesn't define, `invalidValue` for a
  /// field with a value that it reserves, and the other errors where the length isn't the code's.
  /// Reserved bits of bit fields are ignored, as the specification demands.
  package init(decoding bytes: ArraySlice<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    let code = try reader.byte()
    var pdu = try Self.pairing(code, &reader)
    if pdu == nil { pdu = try Self.keys(code, &reader) }
    guard let pdu else { throw .unknownCode(Int(code)) }
    guard reader.isAtEnd else { throw .trailingBytes(count: reader.count) }
    self = pdu
  }

  private static func pairing(
    _ code: UInt8, _ reader: inout ByteReader
  ) throws(WireError) -> SMPPDU? {
    switch code {
    case 0x01: .pairingRequest(try SMPPairingFeatures(decoding: &reader))
    case 0x02: .pairingResponse(try SMPPairingFeatures(decoding: &reader))
    case 0x03: .pairingConfirm(try SMPValue(decoding: &reader))
    case 0x04: .pairingRandom(try SMPValue(decoding: &reader))
    case 0x05: .pairingFailed(SMPFailureReason(rawValue: try reader.byte()))
    case 0x0C:
      .pairingPublicKey(
        x: try SMPCoordinate(decoding: &reader), y: try SMPCoordinate(decoding: &reader))
    case 0x0D: .pairingDHKeyCheck(try SMPValue(decoding: &reader))
    case 0x0E: .keypressNotification(try SMPKeypress(decoding: &reader))
    default: nil
    }
  }

  private static func keys(
    _ code: UInt8, _ reader: inout ByteReader
  ) throws(WireError) -> SMPPDU? {
    switch code {
    case 0x06: .encryptionInformation(longTermKey: try SMPValue(decoding: &reader))
    case 0x07:
      try decoding { () throws(Truncated) in
        .centralIdentification(
          encryptedDiversifier: try reader.uint16(), random: try reader.uint64())
      }
    case 0x08: .identityInformation(identityResolvingKey: try SMPValue(decoding: &reader))
    case 0x09: .identityAddressInformation(try reader.smpAddress())
    case 0x0A: .signingInformation(signatureResolvingKey: try SMPValue(decoding: &reader))
    case 0x0B: .securityRequest(SMPAuthenticationRequirements(rawValue: try reader.byte()))
    default: nil
    }
  }

  /// The encoded PDU.
  package var bytes: [UInt8] {
    var writer = ByteWriter(capacity: 65)
    writer.uint8(code)
    switch self {
    case .pairingRequest(let features), .pairingResponse(let features):
      features.encode(into: &writer)
    case .pairingConfirm(let value), .pairingRandom(let value), .pairingDHKeyCheck(let value),
      .encryptionInformation(let value), .identityInformation(let value),
      .signingInformation(let value):
      value.encode(into: &writer)
    case .pairingFailed(let reason): writer.uint8(reason.rawValue)
    case .pairingPublicKey(let x, let y):
      x.encode(into: &writer)
      y.encode(into: &writer)
    case .keypressNotification(let keypress): writer.uint8(keypress.rawValue)
    case .centralIdentification(let diversifier, let random):
      writer.uint16(diversifier)
      writer.uint64(random)
    case .identityAddressInformation(let address):
      writer.uint8(address.kind.rawValue)
      address.append(to: &writer)
    case .securityRequest(let requirements): writer.uint8(requirements.rawValue)
    }
    return writer.bytes
  }
}

extension ByteReader {
  /// The type of an address, then the address (§3.6.5).
  fileprivate mutating func smpAddress() throws(WireError) -> DeviceAddress {
    let type = try byte()
    let bits: UInt64
    do { bits = try littleEndian(6) } catch { throw WireError(error) }
    guard let kind = DeviceAddress.Kind(rawValue: type) else {
      throw .invalidValue(field: "address type", value: Int(type))
    }
    return DeviceAddress(bits: bits, kind: kind)
  }
}
