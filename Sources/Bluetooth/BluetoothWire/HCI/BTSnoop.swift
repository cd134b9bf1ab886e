import Essentials

/// The file format of HCI captures that Wireshark and Android use: a header, then a record for each
/// packet, all numbers big-endian (RFC 1761 with Bluetooth's data link types).
package enum BTSnoop {
  /// The direction of a packet.
  package enum Direction: UInt32, Sendable {
    /// A command, or data that is sent.
    case hostToController = 0
    /// An event, or data that was received.
    case controllerToHost = 1
  }

  /// A packet of a capture.
  package struct Record: Hashable, Sendable {
    /// The packet.
    package var packet: HCIPacket
    /// The direction.
    package var direction: Direction
    /// The time in microseconds since 1970.
    package var microseconds: Int64
    /// The number of packets lost before it, as far as the writer knew.
    package var dropCount: UInt32

    /// A packet of a capture.
    package init(
      packet: HCIPacket, direction: Direction, microseconds: Int64, dropCount: UInt32 = 0
    ) {
      self.packet = packet
      self.direction = direction
      self.microseconds = microseconds
      self.dropCount = dropCount
    }
  }

  /// The header of a file.
  package static let header: [UInt8] = {
    var writer = ByteWriter(capacity: 16)
    writer.append(magic)
    writer.bigEndian(version, count: 4)
    writer.bigEndian(dataLinkH4, count: 4)
    return writer.bytes
  }()

  private static let magic = "btsnoop\0".utf8
  private static let version: UInt64 = 1
  /// HCI UART (H4): each record begins with the packet indicator.
  private static let dataLinkH4: UInt64 = 1002
  /// The timestamp of 1 January 1970; timestamps count microseconds from the year 0.
  private static let epoch: Int64 = 0x00DC_DDB3_0F2F_8000
  /// A longer record is damage: it is more than an ACL packet of full length.
  private static let recordLengthMax = 1 + 4 + 0xFFFF

  /// The bytes of one record.
  package static func record(
    _ packet: HCIPacket, direction: Direction, microseconds: Int64
  ) -> [UInt8] {
    var writer = ByteWriter(capacity: 25 + packet.bytes.count)
    let length = UInt64(1 + packet.bytes.count)
    let isControl = packet.kind == .command || packet.kind == .event
    writer.bigEndian(length, count: 4)
    writer.bigEndian(length, count: 4)
    writer.bigEndian(UInt64(direction.rawValue | (isControl ? 2 : 0)), count: 4)
    writer.bigEndian(0, count: 4)
    writer.bigEndian(UInt64(bitPattern: microseconds &+ epoch), count: 8)
    writer.uint8(packet.kind.rawValue)
    writer.append(packet.bytes)
    return writer.bytes
  }

  /// Reads a capture record by record; the packets share the file's storage.
  package struct Reader: Sendable {
    private var reader: ByteReader

    /// Reads the header. Throws where the bytes are no capture of H4 packets.
    package init(_ file: ArraySlice<UInt8>) throws(WireError) {
      reader = ByteReader(file)
      let (start, version, link) = try decoding { [reader] () throws(Truncated) in
        var reader = reader
        return (try reader.slice(8), try reader.bigEndian(4), try reader.bigEndian(4))
      }
      guard start.elementsEqual(magic) else {
        throw .invalidValue(field: "btsnoop identification", value: Int(start.first ?? 0))
      }
      guard version == BTSnoop.version else {
        throw .invalidValue(field: "btsnoop version", value: Int(version))
      }
      guard link == dataLinkH4 else {
        throw .invalidValue(field: "btsnoop data link type", value: Int(link))
      }
      reader.remaining = reader.remaining.dropFirst(16)
    }

    /// The next record; nil at the end of the file. Throws where the file was cut in a record, as
    /// when its writer was killed; what came before is good.
    package mutating func next() throws(WireError) -> Record? {
      if reader.isAtEnd { return nil }
      let original: UInt64, included: UInt64, flags: UInt64, drops: UInt64, time: UInt64
      do throws(Truncated) {
        original = try reader.bigEndian(4)
        included = try reader.bigEndian(4)
        flags = try reader.bigEndian(4)
        drops = try reader.bigEndian(4)
        time = try reader.bigEndian(8)
      } catch { throw WireError(error) }
      guard included >= 1, included <= recordLengthMax, included <= original else {
        throw .invalidLength(Int(included))
      }
      let bytes: ArraySlice<UInt8>
      do throws(Truncated) {
        bytes = try reader.slice(Int(included))
      } catch { throw WireError(error) }
      let indicator = bytes.first ?? 0
      guard let kind = HCIPacket.Kind(rawValue: indicator) else {
        throw .unknownCode(Int(indicator))
      }
      return Record(
        packet: HCIPacket(kind: kind, bytes: bytes.dropFirst()),
        direction: flags & 1 == 0 ? .hostToController : .controllerToHost,
        microseconds: Int64(bitPattern: time) &- epoch,
        dropCount: UInt32(truncatingIfNeeded: drops))
    }
  }
}
