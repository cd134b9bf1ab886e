public import Essentials

/// The header of a basic L2CAP frame (Core 5.4, Vol 3, Part A, §3.1).
@frozen
public struct L2CAPHeader: Hashable, Sendable {
  /// The size of the header in bytes.
  public static let byteCount = 4

  /// The number of bytes that follow the header.
  public var length: UInt16
  /// The channel, as the receiver numbers it.
  public var channel: UInt16

  /// A header for `length` bytes of payload.
  @inlinable
  public init(length: UInt16, channel: UInt16) {
    self.length = length
    self.channel = channel
  }

  /// Reads a header. The remaining bytes may be fewer or more than `length`; the caller, which
  /// reassembles fragments, has to check that.
  @inlinable
  public init(decoding reader: inout ByteReader) throws(WireError) {
    guard let (length, channel) = L2CAPHeader.fields(reader.remaining) else {
      throw .truncated(needed: L2CAPHeader.byteCount, available: reader.count)
    }
    reader.remaining = reader.remaining[(reader.remaining.startIndex + 4)...]
    self.init(length: length, channel: channel)
  }

  /// Appends the header.
  @inlinable
  public func encode(into writer: inout ByteWriter) {
    writer.uint16(length)
    writer.uint16(channel)
  }

  @usableFromInline
  static func fields(_ bytes: ArraySlice<UInt8>) -> (length: UInt16, channel: UInt16)? {
    guard bytes.count >= byteCount else { return nil }
    let start = bytes.startIndex
    return (
      UInt16(bytes[start]) | UInt16(bytes[start + 1]) << 8,
      UInt16(bytes[start + 2]) | UInt16(bytes[start + 3]) << 8
    )
  }
}

/// Channel identifiers on an LE-U logical link (Core 5.4, Vol 3, Part A, §2.1).
package enum L2CAPChannelIdentifier {
  /// The attribute protocol.
  package static let attribute: UInt16 = 0x0004
  /// LE signalling.
  package static let signalling: UInt16 = 0x0005
  /// The security manager.
  package static let security: UInt16 = 0x0006
  /// Channels that are opened and closed while the link is connected.
  package static let dynamic: ClosedRange<UInt16> = 0x0040...0x007F
}
