import Essentials

/// A packet of a connection on the air, as a capture has it.
package struct LinkLayerPacket: Hashable, Sendable {
  /// The time of transmission, in microseconds since 1970.
  package var microseconds: Int64
  /// The access address of the connection (Core 5.4, Vol 6, Part B, §2.1.2).
  package var accessAddress: UInt32
  /// The sender's direction.
  package var direction: LinkCipher.Direction
  /// The PHY.
  package var phy: PHY
  /// The PDU (Core 5.4, Vol 6, Part B, §2.4): two octets of header, the payload and, where it is still
  /// encrypted, the MIC; without the CRC.
  package var bytes: [UInt8]
  /// Whether it was encrypted on the air and isn't here.
  package var isDecrypted: Bool

  /// A packet from its parts.
  package init(
    microseconds: Int64, accessAddress: UInt32, direction: LinkCipher.Direction, phy: PHY,
    bytes: [UInt8], isDecrypted: Bool = false
  ) {
    self.microseconds = microseconds
    self.accessAddress = accessAddress
    self.direction = direction
    self.phy = phy
    self.bytes = bytes
    self.isDecrypted = isDecrypted
  }
}

/// The file format of captures of the link layer that Wireshark opens: libpcap's, with its data link type
/// 256, LINKTYPE_BLUETOOTH_LE_LL_WITH_PHDR. All numbers are little-endian.
package enum LinkLayerCapture {
  /// The header of a file.
  package static let header: [UInt8] = {
    var writer = ByteWriter(capacity: headerByteCount)
    writer.uint32(magic)
    writer.uint16(2)
    writer.uint16(4)
    writer.uint64(0)
    writer.uint32(recordByteCountMax)
    writer.uint32(256)
    return writer.bytes
  }()

  private static let headerByteCount = 24
  private static let magic: UInt32 = 0xA1B2_C3D4
  private static let recordByteCountMax: UInt32 = 1_024
  /// Bytes before the PDU: reception metadata and access address. LE Coded has one more.
  private static let packetHeaderByteCount = 14
  private static let crcByteCount = 3

  private struct Flags: OptionSet {
    let rawValue: UInt16
    static let dewhitened = Flags(rawValue: 0x0001)
    static let decrypted = Flags(rawValue: 0x0008)
    static let referenceAccessAddress = Flags(rawValue: 0x0010)
    static let toPeripheral = Flags(rawValue: 0x0100)
    static let toCentral = Flags(rawValue: 0x0180)
    static let micChecked = Flags(rawValue: 0x1000)
    static let micRight = Flags(rawValue: 0x2000)
    static let le2M = Flags(rawValue: 0x4000)
    static let leCoded = Flags(rawValue: 0x8000)
    static let typeMask: UInt16 = 0x0380
    static let phyMask: UInt16 = 0xC000
  }

  /// The bytes of one record.
  package static func record(_ packet: LinkLayerPacket) -> [UInt8] {
    let isCoded = packet.phy == .leCoded
    let count =
      packetHeaderByteCount + (isCoded ? 1 : 0) + packet.bytes.count + crcByteCount
    var writer = ByteWriter(capacity: 16 + count)
    writer.uint32(UInt32(truncatingIfNeeded: packet.microseconds / 1_000_000))
    writer.uint32(UInt32(truncatingIfNeeded: packet.microseconds % 1_000_000))
    writer.uint32(UInt32(count))
    writer.uint32(UInt32(count))
    var flags: Flags = [.dewhitened, .referenceAccessAddress]
    flags.insert(packet.direction == .toPeripheral ? .toPeripheral : .toCentral)
    if packet.isDecrypted { flags.formUnion([.decrypted, .micChecked, .micRight]) }
    switch packet.phy {
    case .le1M: break
    case .le2M: flags.insert(.le2M)
    case .leCoded: flags.insert(.leCoded)
    }
    // Channel, strength, noise, errors in the access address: nothing is known of them.
    writer.uint32(0)
    writer.uint32(packet.accessAddress)
    writer.uint16(flags.rawValue)
    writer.uint32(packet.accessAddress)
    if isCoded { writer.uint8(0) }
    writer.append(packet.bytes)
    // The CRC is zero, since no flag marks it as checked.
    writer.append([UInt8](repeating: 0, count: crcByteCount))
    return writer.bytes
  }

  /// Reads the packets of a file, one after the other.
  package struct Reader: Sendable {
    private var reader: ByteReader

    /// Throws unless the bytes begin as such a file does.
    package init(_ file: ArraySlice<UInt8>) throws(WireError) {
      reader = ByteReader(file)
      let (found, type) = try decoding { () throws(Truncated) in
        let magic = try reader.uint32()
        _ = try reader.slice(16)
        return (magic, try reader.uint32())
      }
      guard found == magic else { throw .invalidValue(field: "magic number", value: Int(found)) }
      guard type == 256 else { throw .invalidValue(field: "data link type", value: Int(type)) }
    }

    /// The next packet of a connection, those of advertising left out; nil at the end. Throws where the
    /// file is cut or no such file.
    package mutating func next() throws(WireError) -> LinkLayerPacket? {
      while !reader.isAtEnd {
        if let packet = try record() { return packet }
      }
      return nil
    }

    private mutating func record() throws(WireError) -> LinkLayerPacket? {
      let (seconds, microseconds, count) = try decoding { () throws(Truncated) in
        let times = (try reader.uint32(), try reader.uint32())
        let count = try reader.uint32()
        _ = try reader.uint32()
        return (times.0, times.1, count)
      }
      guard count <= recordByteCountMax else { throw .invalidLength(Int(count)) }
      let bytes: ArraySlice<UInt8>
      do { bytes = try reader.slice(Int(count)) } catch { throw WireError(error) }
      var record = ByteReader(bytes)
      let (rawFlags, accessAddress) = try decoding { () throws(Truncated) in
        _ = try record.slice(8)
        return (try record.uint16(), try record.uint32())
      }
      let direction: LinkCipher.Direction
      switch rawFlags & Flags.typeMask {
      case Flags.toPeripheral.rawValue: direction = .toPeripheral
      case Flags.toCentral.rawValue: direction = .toCentral
      default: return nil
      }
      let phy: PHY =
        switch rawFlags & Flags.phyMask {
        case Flags.le2M.rawValue: .le2M
        case Flags.leCoded.rawValue: .leCoded
        default: .le1M
        }
      if phy == .leCoded { _ = try record.byte() }
      guard record.count >= 2 + crcByteCount else { throw .invalidLength(Int(count)) }
      return LinkLayerPacket(
        microseconds: Int64(seconds) * 1_000_000 + Int64(microseconds),
        accessAddress: accessAddress, direction: direction, phy: phy,
        bytes: Array(record.rest().dropLast(crcByteCount)),
        isDecrypted: Flags(rawValue: rawFlags).contains(.decrypted))
    }
  }
}
