package import Essentials

/// An Ethernet frame in the form that packet sockets use: without preamble, VLAN tag and check
/// sequence.
package struct EthernetFrame: Hashable, Sendable {
  /// The size of the header in bytes.
  package static let headerByteCount = 14

  /// The address of the receiver.
  package var destination: MACAddress
  /// The address of the sender.
  package var source: MACAddress
  /// The type of the payload: ``ARPPacket/etherType`` for ARP.
  package var etherType: UInt16
  /// The payload, with the padding of short frames.
  package var payload: ArraySlice<UInt8>

  /// Creates a frame.
  package init(
    to destination: MACAddress, from source: MACAddress, etherType: UInt16,
    payload: ArraySlice<UInt8>
  ) {
    self.destination = destination
    self.source = source
    self.etherType = etherType
    self.payload = payload
  }

  /// Creates a broadcast frame with an ARP packet.
  package init(broadcasting packet: ARPPacket) {
    self.init(
      to: .broadcast, from: packet.senderHardware, etherType: ARPPacket.etherType,
      payload: packet.bytes[...])
  }

  /// Decodes a frame. The payload shares its storage with `bytes`.
  ///
  /// - Throws: `Truncated` if there are fewer than 14 bytes.
  package init(decoding bytes: ArraySlice<UInt8>) throws(Truncated) {
    var reader = ByteReader(bytes)
    destination = MACAddress(rawValue: try reader.bigEndian(6))
    source = MACAddress(rawValue: try reader.bigEndian(6))
    etherType = UInt16(truncatingIfNeeded: try reader.bigEndian(2))
    payload = reader.rest()
  }

  /// The bytes of the frame.
  package var bytes: [UInt8] {
    var writer = ByteWriter(capacity: Self.headerByteCount + payload.count)
    writer.bigEndian(destination.rawValue, count: 6)
    writer.bigEndian(source.rawValue, count: 6)
    writer.bigEndian(UInt64(etherType), count: 2)
    writer.append(payload)
    return writer.bytes
  }
}
