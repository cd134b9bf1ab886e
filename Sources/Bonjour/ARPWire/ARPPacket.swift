public import Essentials

/// A packet of the Address Resolution Protocol for IPv4 on Ethernet (RFC 826), without the frame
/// around it.
public struct ARPPacket: Hashable, Sendable {
  /// The EtherType of ARP.
  public static let etherType: UInt16 = 0x0806
  /// The size of a packet in bytes; the bytes after it in a frame are padding.
  public static let byteCount = 28

  /// Whether a packet is a request or a reply.
  public enum Operation: UInt16, Sendable {
    /// Requests the hardware address of the target's protocol address.
    case request = 1
    /// The sender has the sender's protocol address.
    case reply = 2
  }

  /// Whether this is a request or a reply.
  public var operation: Operation
  /// The hardware address of the sender's interface.
  public var senderHardware: MACAddress
  /// The protocol address that the sender claims; 0.0.0.0 in a probe.
  public var senderAddress: Inet4Address
  /// The hardware address of the target; zero in a request.
  public var targetHardware: MACAddress
  /// The protocol address of the target.
  public var targetAddress: Inet4Address

  /// Creates a packet.
  public init(
    _ operation: Operation, senderHardware: MACAddress, senderAddress: Inet4Address,
    targetHardware: MACAddress = .zero, targetAddress: Inet4Address
  ) {
    self.operation = operation
    self.senderHardware = senderHardware
    self.senderAddress = senderAddress
    self.targetHardware = targetHardware
    self.targetAddress = targetAddress
  }

  /// An ARP Probe: requests `candidate` without a sender address, so that it does not change ARP
  /// caches (RFC 3927, §2.2.1).
  public static func probe(for candidate: Inet4Address, from hardware: MACAddress) -> ARPPacket {
    ARPPacket(
      .request, senderHardware: hardware, senderAddress: .any, targetAddress: candidate)
  }

  /// An ARP Announcement: claims `address` and updates stale ARP caches (RFC 3927, §2.4).
  public static func announcement(
    of address: Inet4Address, from hardware: MACAddress
  ) -> ARPPacket {
    ARPPacket(.request, senderHardware: hardware, senderAddress: address, targetAddress: address)
  }

  /// Whether it is an ARP Probe: a request without a sender address.
  public var isProbe: Bool { operation == .request && senderAddress == .any }
}

/// The reason why bytes are not an ARP packet for IPv4 on Ethernet.
package enum ARPError: Error, Equatable, Sendable {
  /// The bytes are shorter than a packet.
  case truncated(Truncated)
  /// The hardware type, protocol type or address lengths are not those of IPv4 on Ethernet.
  case unsupportedKind(hardware: UInt16, protocol: UInt16, lengths: UInt16)
  /// The operation is neither a request nor a reply.
  case unknownOperation(UInt16)
}

extension ARPPacket {
  private static let ethernet: UInt16 = 1
  private static let ipv4: UInt16 = 0x0800
  /// The lengths of a hardware and of a protocol address, one byte each.
  private static let lengths: UInt16 = 0x0604

  /// Decodes a packet. Bytes after it are padding of the frame, and are ignored.
  ///
  /// - Throws: ``ARPError``. No input traps.
  package init(decoding bytes: ArraySlice<UInt8>) throws(ARPError) {
    var reader = ByteReader(bytes)
    let hardware = UInt16(truncatingIfNeeded: try Self.number(2, from: &reader))
    let `protocol` = UInt16(truncatingIfNeeded: try Self.number(2, from: &reader))
    let lengths = UInt16(truncatingIfNeeded: try Self.number(2, from: &reader))
    guard hardware == Self.ethernet, `protocol` == Self.ipv4, lengths == Self.lengths else {
      throw .unsupportedKind(hardware: hardware, protocol: `protocol`, lengths: lengths)
    }
    let code = UInt16(truncatingIfNeeded: try Self.number(2, from: &reader))
    guard let operation = Operation(rawValue: code) else { throw .unknownOperation(code) }
    self.init(
      operation,
      senderHardware: try Self.hardware(from: &reader),
      senderAddress: try Self.address(from: &reader),
      targetHardware: try Self.hardware(from: &reader),
      targetAddress: try Self.address(from: &reader))
  }

  private static func hardware(from reader: inout ByteReader) throws(ARPError) -> MACAddress {
    MACAddress(rawValue: try number(6, from: &reader))
  }

  private static func address(from reader: inout ByteReader) throws(ARPError) -> Inet4Address {
    Inet4Address(rawValue: UInt32(truncatingIfNeeded: try number(4, from: &reader)))
  }

  private static func number(
    _ byteCount: Int, from reader: inout ByteReader
  ) throws(ARPError) -> UInt64 {
    do throws(Truncated) { return try reader.bigEndian(byteCount) } catch {
      throw .truncated(error)
    }
  }

  /// The 28 bytes of the packet.
  public var bytes: [UInt8] {
    var writer = ByteWriter(capacity: Self.byteCount)
    writer.bigEndian(UInt64(Self.ethernet), count: 2)
    writer.bigEndian(UInt64(Self.ipv4), count: 2)
    writer.bigEndian(UInt64(Self.lengths), count: 2)
    writer.bigEndian(UInt64(operation.rawValue), count: 2)
    writer.bigEndian(senderHardware.rawValue, count: 6)
    writer.bigEndian(UInt64(senderAddress.rawValue), count: 4)
    writer.bigEndian(targetHardware.rawValue, count: 6)
    writer.bigEndian(UInt64(targetAddress.rawValue), count: 4)
    return writer.bytes
  }
}
