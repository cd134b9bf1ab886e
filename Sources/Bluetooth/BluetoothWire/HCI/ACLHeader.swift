public import Essentials

/// The position of an ACL packet in an L2CAP frame (Core 5.4, Vol 4, Part E, §5.4.2).
public enum ACLBoundary: UInt8, Sendable {
  /// The first packet of a frame, from the host; it cannot be flushed.
  case firstNonFlushable = 0
  /// A packet that continues a frame.
  case continuing = 1
  /// The first packet of a frame, from the controller; from the host on a classic link only.
  case firstFlushable = 2

  /// Whether a frame begins with the packet.
  @inlinable
  public var isFirst: Bool { self != .continuing }
}

/// The four bytes before the data of an ACL packet (Core 5.4, Vol 4, Part E, §5.4.2).
public struct ACLHeader: Hashable, Sendable {
  /// The size in bytes.
  public static let byteCount = 4
  /// The connection.
  public var handle: UInt16
  /// Whether a frame begins.
  public var boundary: ACLBoundary
  /// The broadcast flag; 0 on LE.
  public var broadcast: UInt8
  /// The number of data bytes that follow.
  public var length: UInt16

  /// A header from its values.
  @inlinable
  public init(handle: UInt16, boundary: ACLBoundary, broadcast: UInt8 = 0, length: UInt16) {
    self.handle = handle
    self.boundary = boundary
    self.broadcast = broadcast
    self.length = length
  }

  /// Splits a packet into header and data, which shares the packet's storage. Throws unless the
  /// packet's length is the one in its header.
  public static func decode(
    from packet: ArraySlice<UInt8>
  ) throws(WireError) -> (header: ACLHeader, payload: ArraySlice<UInt8>) {
    var reader = ByteReader(packet)
    let (first, length) = try decoding { () throws(Truncated) in
      (try reader.uint16(), try reader.uint16())
    }
    guard let boundary = ACLBoundary(rawValue: UInt8(first >> 12 & 3)) else {
      throw .invalidValue(field: "packet boundary flag", value: 3)
    }
    guard reader.count >= Int(length) else {
      throw .truncated(needed: Int(length), available: reader.count)
    }
    guard reader.count == Int(length) else {
      throw .trailingBytes(count: reader.count - Int(length))
    }
    let header = ACLHeader(
      handle: first & 0xFFF, boundary: boundary, broadcast: UInt8(first >> 14), length: length)
    return (header, reader.rest())
  }

  /// Writes the header; the data follows it.
  @inlinable
  public func encode(into writer: inout ByteWriter) {
    writer.uint16(handle & 0xFFF | UInt16(boundary.rawValue) << 12 | UInt16(broadcast & 3) << 14)
    writer.uint16(length)
  }

  /// A whole packet with `payload`, at most 65,535 bytes.
  public static func packet(
    handle: UInt16, boundary: ACLBoundary, payload: some Collection<UInt8>
  ) -> HCIPacket {
    precondition(payload.count <= 0xFFFF, "an ACL packet has a length of two bytes")
    var writer = ByteWriter(capacity: byteCount + payload.count)
    let length = UInt16(truncatingIfNeeded: payload.count)
    ACLHeader(handle: handle, boundary: boundary, length: length).encode(into: &writer)
    writer.append(payload)
    return HCIPacket(kind: .acl, bytes: writer.bytes)
  }
}
