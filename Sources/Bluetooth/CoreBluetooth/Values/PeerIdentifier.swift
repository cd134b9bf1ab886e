package import BluetoothWire

/// A peer's identifier and its address: one made from the other, so that identifiers stay the same
/// from run to run without anything being stored.
///
/// An identifier is a UUID of version 8 (RFC 9562, §5.8): `414D4249-5400-8000-80KK-AAAAAAAAAAAA`
/// with the address kind (00 public, 01 random) and the 48 bits of the address.
package enum PeerIdentifier {
  private static let prefix: [UInt8] = [0x41, 0x4D, 0x42, 0x49, 0x54, 0x00, 0x80, 0x00, 0x80]

  /// The identifier of the peer with this address.
  package static func uuid(of address: DeviceAddress) -> UUID {
    let b = (0..<6).map { UInt8(truncatingIfNeeded: address.bits >> (40 - 8 * $0)) }
    let p = prefix
    return UUID(
      uuid: (
        p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], address.kind.rawValue,
        b[0], b[1], b[2], b[3], b[4], b[5]
      ))
  }

  /// The address in an identifier; nil if the UUID was not made from one.
  package static func address(in identifier: UUID) -> DeviceAddress? {
    let bytes = withUnsafeBytes(of: identifier.uuid) { [UInt8]($0) }
    guard bytes.starts(with: prefix), let kind = DeviceAddress.Kind(rawValue: bytes[9]) else {
      return nil
    }
    return DeviceAddress(bits: bytes[10...].reduce(0) { $0 << 8 | UInt64($1) }, kind: kind)
  }
}
