import DNSWire

extension ReceivedMessage {
  /// Reads a datagram; nil where nobody has use for it: it is no message of the DNS, is about
  /// another operation than queries, reports an error (RFC 6762, §18.3 and §18.11), or comes from
  /// port 0, where no answer can go.
  public init?(
    decoding bytes: ArraySlice<UInt8>, on link: Link, from source: Endpoint, isMulticast: Bool
  ) {
    guard source.port != 0, let message = try? DNSMessage(decoding: bytes),
      message.header.operation == 0, message.header.responseCode == 0
    else { return nil }
    self.init(message, on: link, from: source, isMulticast: isMulticast)
  }
}
