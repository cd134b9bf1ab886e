/// Overwrites long term keys, identity resolving keys and signature resolving keys with zeros, so
/// that other captures can't be decrypted with them: those in commands to the controller, and those
/// that a Security Manager distributes (Core 5.4, Vol 3, Part H, §3.6), even if its PDU is split
/// into several packets.
///
/// One redactor must process all packets between a host and a controller, in their order.
package struct KeyRedactor: Sendable {
  /// An L2CAP frame that has begun, in one direction of one connection.
  private struct Frame: Sendable {
    /// Its first bytes: length, channel, and the code of a Security Manager PDU.
    var start: [UInt8] = []
    /// How many of its bytes have come.
    var byteCount = 0

    static let startByteCount = 5

    /// The position of the key in the frame; nil if it has none, or if that isn't known yet.
    var keyBytes: Range<Int>? {
      guard start.count == Self.startByteCount, start[2] == 0x06, start[3] == 0,
        [0x06, 0x08, 0x0A].contains(start[4])
      else { return nil }
      return Self.startByteCount..<Self.startByteCount + 16
    }

    /// Whether nothing that follows of it can be of a key.
    var isOver: Bool {
      start.count == Self.startByteCount && byteCount >= (keyBytes?.upperBound ?? 0)
    }
  }

  private struct Stream: Hashable {
    let handle: UInt16
    let isFromHost: Bool
  }

  /// Of each connection and direction the frame whose key may still come; there are 4,096 handles.
  private var frames: [Stream: Frame] = [:]

  /// A redactor at the start of a capture.
  package init() {}

  /// The packet without its keys.
  package mutating func redacted(_ packet: HCIPacket, isFromHost: Bool) -> HCIPacket {
    let keys: Range<Int>?
    switch packet.kind {
    case .command: keys = Self.keyBytes(ofCommand: packet.bytes)
    case .acl: keys = keyBytes(ofData: packet.bytes, isFromHost: isFromHost)
    case .event, .synchronous, .isochronous: keys = nil
    }
    guard let keys, !keys.isEmpty else { return packet }
    var bytes = Array(packet.bytes)
    for index in keys { bytes[index] = 0 }
    return HCIPacket(kind: packet.kind, bytes: bytes[...])
  }

  /// Where the keys of a command are, counted from the start of the packet.
  private static func keyBytes(ofCommand bytes: ArraySlice<UInt8>) -> Range<Int>? {
    guard bytes.count > 2 else { return nil }
    let opcode = UInt16(bytes[bytes.startIndex]) | UInt16(bytes[bytes.startIndex + 1]) << 8
    let keys: Range<Int>? =
      switch HCIOpcode(rawValue: opcode) {
      // After the header, handle, number and diversifier.
      case .leEnableEncryption: 15..<31
      case .leLongTermKeyRequestReply: 5..<21
      // Both keys, after the peer's address and its type.
      case .leAddDeviceToResolvingList: 10..<42
      // A key, and what it encrypts.
      case .leEncrypt: 3..<19
      default: nil
      }
    // Of one that is cut all that is there.
    return keys?.clamped(to: 0..<bytes.count)
  }

  /// Where the key of a Security Manager PDU is, or the part of it that this packet brings.
  private mutating func keyBytes(
    ofData bytes: ArraySlice<UInt8>, isFromHost: Bool
  ) -> Range<Int>? {
    guard let (header, payload) = try? ACLHeader.decode(from: bytes) else { return nil }
    let stream = Stream(handle: header.handle, isFromHost: isFromHost)
    var frame = Frame()
    if !header.boundary.isFirst {
      guard let begun = frames[stream] else { return nil }
      frame = begun
    }
    let offset = ACLHeader.byteCount - frame.byteCount
    frame.start += payload.prefix(Frame.startByteCount - frame.start.count)
    frame.byteCount += payload.count
    frames[stream] = frame.isOver ? nil : frame
    guard let keys = frame.keyBytes else { return nil }
    return (keys.lowerBound + offset..<keys.upperBound + offset)
      .clamped(to: ACLHeader.byteCount..<bytes.count)
  }
}
