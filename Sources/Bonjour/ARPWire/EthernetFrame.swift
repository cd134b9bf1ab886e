public import Essentials

/// An Ethernet frame in the form that packet sockets use: without preamble, VLAN tag and check
/// sequence.
public struct EthernetFrame: Hashable, Sendable {
  /// The size of the header in bytes.
  public static let headerByteCount = 14

  /// The address of the receiver.
  public var destination: MACAddress
  /// The address of the sender.
  public var source: MACAddress
  /// The type of the payload: ``ARPPacket/etherType`` for ARP.
  public var etherType: UInt16
  /// The payload, with the padding of short frames.
  public var payload: ArraySlice<UInt8>

  /// Creates a frame.
  public init(
    to destination: MACAddress, from source: MACAddress, etherType: UInt16,
    payload: ArraySlice<UInt8>
  ) {
    self.destination = destination
    self.source = source
    self.etherType = etherType
    self.payload = payload
  }

  /// Creates a broadcast frame with an ARP packet.
  public init(broadcasting packet: ARPPacket) {
    self.init(
      to: .broadcast, from: packet.senderHardware, etherType: ARPPacket.etherType,
      payload: packet.bytes[...])
  }

  /// Decodes a frame. The payload shares its storage with `bytes`.
  ///
  /// - Throws: `Truncated` if there are fewer than 14 bytes.
  public init(decoding bytes: ArraySlice<UInt8>) throws(Truncated) {
    var reader = ByteReader(bytes)
    destination = MACAddress(rawValue: try reader.bigEndian(6))
    source = MACAddress(rawValue: try reader.bigEndian(6))
    etherType = UInt16(truncatingIfNeeded: try reader.bigEndian(2))
    payload = reader.rest()
  }

  /// The bytes of the frame.
  public var bytes: [UInt8] {
    var writer = ByteWriter(capacity: Self.headerByteCount + payload.count)
    writer.bigEndian(destination.rawValue, count: 6)
    writer.bigEndian(source.rawValue, count: 6)
    writer.bigEndian(UInt64(etherType), count: 2)
    writer.append(payload)
    return writer.bytes
  }
}
