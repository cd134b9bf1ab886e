import Essentials

/// The overflow area of Core Bluetooth: service UUIDs that don't fit in the advertising data, hashed
/// into a bit mask that a scan for one of them can be compared with.
///
/// Apple's hash is not published, so this one is Ambit's own, and only Ambit finds it: manufacturer
/// data with the company identifier for internal use (0xFFFF: Bluetooth Assigned Numbers, §7.1), one
/// byte that identifies the format, and a Bloom filter of 112 bits with three bits for each UUID.
/// With three UUIDs in it, one of 2,000 others is a false positive; service discovery on the peer
/// detects it.
package struct OverflowArea: Sendable, Hashable {
  /// The company identifier in front of the area.
  package static let company: UInt16 = 0xFFFF
  /// The area as an advertising structure: length, type, company identifier, kind and mask.
  package static let structureByteCount = 5 + maskByteCount

  private static let kind: UInt8 = 0x41
  private static let maskByteCount = 14
  private static let bitsPerUUID: UInt64 = 3

  private var mask = [UInt8](repeating: 0, count: maskByteCount)

  /// Creates an area with these services.
  package init(_ services: [BluetoothUUID]) {
    for service in services {
      Self.forEachBit(of: service) { byte, bit in mask[byte] |= bit }
    }
  }

  /// Decodes the area from manufacturer-specific data; nil if it isn't one.
  package init?(company: UInt16, data: ArraySlice<UInt8>) {
    guard company == Self.company, data.count == 1 + Self.maskByteCount, data.first == Self.kind
    else { return nil }
    mask = Array(data.dropFirst())
  }

  /// Whether the area contains the service. May be true for another service with the same hash.
  package func contains(_ service: BluetoothUUID) -> Bool {
    var isThere = true
    Self.forEachBit(of: service) { byte, bit in
      if mask[byte] & bit == 0 { isThere = false }
    }
    return isThere
  }

  /// The area as an advertising structure.
  package var structure: [UInt8] {
    var writer = ByteWriter(capacity: Self.structureByteCount)
    writer.uint8(UInt8(Self.structureByteCount - 1))
    writer.uint8(AdvertisingDataType.manufacturerData.rawValue)
    writer.uint16(Self.company)
    writer.uint8(Self.kind)
    writer.append(mask)
    return writer.bytes
  }

  /// Names the bits of a service. Their numbers are three times 21 bits, from the lowest, of the 64-bit
  /// FNV-1a hash of the 128-bit UUID, most significant byte first; each modulo the bits of the mask.
  private static func forEachBit(
    of service: BluetoothUUID, _ body: (_ byte: Int, _ bit: UInt8) -> Void
  ) {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for half in [service.high, service.low] {
      for shift in stride(from: UInt64(56), through: 0, by: -8) {
        hash = (hash ^ (half >> shift & 0xFF)) &* 0x0000_0100_0000_01B3
      }
    }
    for number in 0..<bitsPerUUID {
      let position = Int((hash >> (21 * number) & 0x1F_FFFF) % UInt64(maskByteCount * 8))
      body(position / 8, 1 << UInt8(position % 8))
    }
  }
}
