import BluetoothWire

/// An outgoing basic L2CAP frame.
///
/// It has space for the HCI header before it, so that a frame that fits into one ACL packet is sent
/// without being copied.
@usableFromInline
package struct OutgoingFrame: Sendable {
  /// The tag that the scheduler reports when the controller has the frame's last fragment.
  package var tag: SendTag?

  /// The HCI ACL header's place, the L2CAP header and the payload.
  @usableFromInline var packet: [UInt8]

  /// Creates a frame with a payload of at most 65,535 bytes.
  @inlinable
  package init(channel: UInt16, payload: some Collection<UInt8>, tag: SendTag? = nil) {
    self.init(channel: channel, payloadCount: payload.count, tag: tag)
    packet.append(contentsOf: payload)
  }

  /// A frame whose payload of `payloadCount` bytes is appended to `packet` afterwards.
  @usableFromInline
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

  /// The frame with its L2CAP header, without the space for the HCI header.
  package var bytes: ArraySlice<UInt8> { packet[OutgoingFrame.aclHeaderByteCount...] }

  /// The size of the frame with its L2CAP header.
  package var byteCount: Int { packet.count - OutgoingFrame.aclHeaderByteCount }
}
