import BluetoothWire

/// A basic L2CAP frame on its way out.
///
/// It is built with room for the HCI header before it, so that a frame which fits into one ACL
/// packet becomes that packet without being copied.
public struct OutgoingFrame: Sendable {
  /// Reported by the scheduler once the controller has the frame's last fragment.
  public var tag: SendTag?

  /// The HCI ACL header's place, the L2CAP header and the payload.
  var packet: [UInt8]

  /// A frame with a payload of at most 65,535 bytes.
  public init(channel: UInt16, payload: some Collection<UInt8>, tag: SendTag? = nil) {
    self.init(channel: channel, payloadCount: payload.count, tag: tag)
    packet.append(contentsOf: payload)
  }

  /// A frame whose payload of `payloadCount` bytes is appended to `packet` afterwards.
  init(channel: UInt16, payloadCount: Int, tag: SendTag?) {
    precondition(payloadCount <= UInt16.max, "a frame's length field has 16 bits")
    self.tag = tag
    packet = []
    packet.reserveCapacity(
      OutgoingFrame.aclHeaderByteCount + L2CAPHeader.byteCount + payloadCount)
    for _ in 0..<OutgoingFrame.aclHeaderByteCount { packet.append(0) }
    packet.append(UInt8(truncatingIfNeeded: payloadCount))
    packet.append(UInt8(truncatingIfNeeded: payloadCount >> 8))
    packet.append(UInt8(truncatingIfNeeded: channel))
    packet.append(UInt8(truncatingIfNeeded: channel >> 8))
  }

  static let aclHeaderByteCount = 4

  /// The frame with its L2CAP header, without the room for the HCI header.
  public var bytes: ArraySlice<UInt8> { packet[OutgoingFrame.aclHeaderByteCount...] }

  /// How many bytes the frame has with its L2CAP header.
  public var byteCount: Int { packet.count - OutgoingFrame.aclHeaderByteCount }
}
