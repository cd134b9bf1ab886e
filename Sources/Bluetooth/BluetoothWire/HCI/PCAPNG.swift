import Essentials

/// Writes HCI packets in the format pcapng (draft-ietf-opsawg-pcapng), which Wireshark also takes from a
/// pipe. All numbers are little-endian.
package enum PCAPNG {
  /// The link type `LINKTYPE_BLUETOOTH_HCI_H4_WITH_PHDR`: a direction before each packet.
  package static let linkType: UInt16 = 201

  /// The beginning of a file: the section and its interface, with times in microseconds.
  package static let header: [UInt8] = {
    var section = ByteWriter(capacity: 16)
    section.uint32(0x1A2B_3C4D)
    // The version 1.0, and an unknown length.
    section.uint16(1)
    section.uint16(0)
    section.uint64(.max)
    var interface = ByteWriter(capacity: 8)
    interface.uint16(linkType)
    interface.uint16(0)
    // No limit of a packet's length.
    interface.uint32(0)
    return block(0x0A0D_0D0A, section.bytes) + block(1, interface.bytes)
  }()

  /// The block of one packet (Enhanced Packet Block).
  package static func record(
    _ packet: HCIPacket, direction: BTSnoop.Direction, microseconds: Int64
  ) -> [UInt8] {
    let length = UInt32(4 + 1 + packet.bytes.count)
    let time = UInt64(bitPattern: microseconds)
    var body = ByteWriter(capacity: 28 + packet.bytes.count)
    body.uint32(0)
    body.uint32(UInt32(truncatingIfNeeded: time >> 32))
    body.uint32(UInt32(truncatingIfNeeded: time))
    body.uint32(length)
    body.uint32(length)
    // 0 is sent, 1 is received; big-endian.
    body.bigEndian(UInt64(direction.rawValue), count: 4)
    body.uint8(packet.kind.rawValue)
    body.append(packet.bytes)
    return block(6, body.bytes)
  }

  private static func block(_ type: UInt32, _ body: [UInt8]) -> [UInt8] {
    let padding = (4 - body.count % 4) % 4
    let length = UInt32(12 + body.count + padding)
    var writer = ByteWriter(capacity: Int(length))
    writer.uint32(type)
    writer.uint32(length)
    writer.append(body)
    writer.append([UInt8](repeating: 0, count: padding))
    writer.uint32(length)
    return writer.bytes
  }
}
