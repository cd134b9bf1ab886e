package import DNSWire

/// The UDP port of Multicast DNS (RFC 6762, §3).
public let multicastDNSPort: UInt16 = 5353

/// A received message with its link and sender.
package struct ReceivedMessage: Hashable, Sendable {
  /// The message.
  package var message: DNSMessage
  /// The link on which it arrived.
  package var link: MulticastLink
  /// The sender.
  package var source: Endpoint
  /// Whether it was sent to the multicast group, rather than to a unicast address.
  package var isMulticast: Bool

  /// Creates a received message.
  package init(
    _ message: DNSMessage, on link: MulticastLink, from source: Endpoint, isMulticast: Bool
  ) {
    self.message = message
    self.link = link
    self.source = source
    self.isMulticast = isMulticast
  }
}

/// A packet to send from port 5353, with a TTL or hop limit of 255.
package struct OutgoingPacket: Hashable, Sendable {
  /// The destination of a packet.
  package enum Destination: Hashable, Sendable {
    /// The multicast group of Multicast DNS.
    case multicast
    /// One receiver.
    case unicast(Endpoint)
  }

  /// The payload of the UDP datagram.
  package var bytes: [UInt8]
  /// The link on which it is sent.
  package var link: MulticastLink
  /// The destination.
  package var destination: Destination

  /// Creates a packet.
  package init(_ bytes: [UInt8], on link: MulticastLink, to destination: Destination = .multicast) {
    self.bytes = bytes
    self.link = link
    self.destination = destination
  }
}
