import Essentials

/// An AltBeacon, the open format (AltBeacon Protocol Specification v1.0).
package struct AltBeacon: Hashable, Sendable {
  /// The size of the manufacturer-specific data in bytes, including the company identifier.
  package static let byteCount = 26

  /// What follows the company identifier, most significant byte first.
  static let code: UInt64 = 0xBEAC
  static let identifierByteCount = 20

  /// The company that made it.
  package var company: UInt16
  /// 20 bytes; by convention the first 16 are a UUID and the others two numbers, as an iBeacon's are.
  package var identifier: [UInt8]
  /// Strength that a receiver one metre away measures, in dBm.
  package var powerAtOneMetre: Int8
  /// A byte for the company's own use.
  package var reserved: UInt8

  /// A beacon from its parts; nil unless the identifier has 20 bytes.
  package init?(company: UInt16, identifier: [UInt8], powerAtOneMetre: Int8, reserved: UInt8 = 0) {
    guard identifier.count == Self.identifierByteCount else { return nil }
    self.company = company
    self.identifier = identifier
    self.powerAtOneMetre = powerAtOneMetre
    self.reserved = reserved
  }

  /// Reads manufacturer data, company identifier included.
  package init(decoding bytes: ArraySlice<UInt8>) throws(WireError) {
    guard bytes.count <= Self.byteCount else {
      throw .trailingBytes(count: bytes.count - Self.byteCount)
    }
    var reader = ByteReader(bytes)
    let (company, code) = try decoding { () throws(Truncated) in
      (try reader.uint16(), try reader.bigEndian(2))
    }
    guard code == Self.code else { throw .unknownCode(Int(code)) }
    self.company = company
    (identifier, powerAtOneMetre, reserved) = try decoding { () throws(Truncated) in
      (
        Array(try reader.slice(Self.identifierByteCount)), try reader.int8(),
        try reader.uint8()
      )
    }
  }

  /// The manufacturer data, company identifier included.
  package var manufacturerData: [UInt8] {
    var writer = ByteWriter(capacity: Self.byteCount)
    writer.uint16(company)
    writer.bigEndian(Self.code, count: 2)
    writer.append(identifier)
    writer.int8(powerAtOneMetre)
    writer.uint8(reserved)
    return writer.bytes
  }

  /// The identifier as what an iBeacon has instead.
  package var asIBeacon: IBeacon? {
    try? IBeacon(decoding: identifier[...] + [UInt8(bitPattern: powerAtOneMetre)])
  }
}
