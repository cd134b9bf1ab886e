extension HCIPacket {
  /// The packet with zeros in place of long term keys, identity resolving keys and signature resolving
  /// keys, so that a capture of it opens no other: those that commands give to the controller, and
  /// those that a Security Manager distributes (Core 5.4, Vol 3, Part H, §3.6).
  ///
  /// A Security Manager PDU with a key fits into the shortest ACL packet, and this host never splits it;
  /// that of a peer which does is not recognized.
  public var withoutKeys: HCIPacket {
    guard let keys = keyBytes, bytes.count >= keys.upperBound else { return self }
    var bytes = Array(bytes)
    for index in keys { bytes[index] = 0 }
    return HCIPacket(kind: kind, bytes: bytes[...])
  }

  /// Where keys are, counted from the start of the packet; nil where there are none.
  private var keyBytes: Range<Int>? {
    switch kind {
    case .command: commandKeyBytes
    case .acl: distributedKeyBytes
    case .event, .synchronous, .isochronous: nil
    }
  }

  private var commandKeyBytes: Range<Int>? {
    guard bytes.count > 2 else { return nil }
    let opcode = UInt16(bytes[bytes.startIndex]) | UInt16(bytes[bytes.startIndex + 1]) << 8
    return switch HCIOpcode(rawValue: opcode) {
    // After the header, handle, number and diversifier.
    case .leEnableEncryption: 15..<31
    case .leLongTermKeyRequestReply: 5..<21
    // Both keys, after the peer's address and its type.
    case .leAddDeviceToResolvingList: 10..<42
    default: nil
    }
  }

  private var distributedKeyBytes: Range<Int>? {
    guard bytes.count >= 25 else { return nil }
    let start = bytes.startIndex
    // The first fragment of a frame for the Security Manager, whose channel is 0x0006.
    guard bytes[start + 1] & 0x30 != 0x10, bytes[start + 6] == 0x06, bytes[start + 7] == 0,
      [0x06, 0x08, 0x0A].contains(bytes[start + 8])
    else { return nil }
    return 9..<25
  }
}
