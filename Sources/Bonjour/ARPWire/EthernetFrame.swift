public import Essentials

/// A frame of Ethernet, as packet sockets give and take it: without preamble, tag and check
/// sequence.
public struct EthernetFrame: Hashable, Sendable {
  /// How many bytes come before the payload.
  public static let headerByteCount = 14

  /// To whom it goes.
  public var destination: MACAddress
  /// The sender.
  public var source: MACAddress
  /// The type of the payload: ``ARPPacket/etherType`` for ARP.
  public var etherType: UInt16
  /// The payload, with the padding of short frames.
  public var payload: ArraySlice<UInt8>

  /// Puts a frame together.
  public init(
    to destination: MACAddress, from source: MACAddress, etherType: UInt16,
    payload: ArraySlice<UInt8>
  ) {
    self.destination = destination
    self.source = source
    self.etherType = etherType
    self.payload = payload
  }

  /// A frame with an ARP packet for everybody.
  public init(broadcasting packet: ARPPacket) {
    self.init(
      to: .broadcast, from: packet.senderHardware, etherType: ARPPacket.etherType,
      payload: packet.bytes[...])
  }

  /// Reads a frame; the payload shares its storage with `bytes`.
  ///
  /// - Throws: `Truncated` where there are fewer than 14 bytes.
  public init(decoding bytes: ArraySlice<UInt8>) throws(Truncated) {
    var reader = ByteReader(bytes)
    destination = MACAddress(rawValue: try reader.bigEndian(6))
    source = MACAddress(rawValue: try reader.bigEndian(6))
    etherType = UInt16(truncatingIfNeeded: try reader.bigEndian(2))
    payload = reader.rest()
  }

  /// The frame's bytes.
  public var bytes: [UInt8] {
    var writer = ByteWriter(capacity: Self.headerByteCount + payload.count)
    writer.bigEndian(destination.rawValue, count: 6)
    writer.bigEndian(source.rawValue, count: 6)
    writer.bigEndian(UInt64(etherType), count: 2)
    writer.append(payload)
    return writer.bytes
  }
}
