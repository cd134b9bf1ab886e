import DNSWire

extension ReceivedMessage {
  /// Decodes a datagram. Nil if it must be ignored, because it isn't a DNS message, its opcode is
  /// not that of a query, it has an error code (RFC 6762, §18.3 and §18.11), or it comes from port
  /// 0, to which no answer can be sent.
  package init?(
    decoding bytes: ArraySlice<UInt8>, on link: MulticastLink, from source: Endpoint,
    isMulticast: Bool
  ) {
    guard source.port != 0, let message = try? DNSMessage(decoding: bytes),
      message.header.operation == 0, message.header.responseCode == 0
    else { return nil }
    self.init(message, on: link, from: source, isMulticast: isMulticast)
  }
}
