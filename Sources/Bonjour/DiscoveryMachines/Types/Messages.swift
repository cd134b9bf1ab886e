public import DNSWire

/// The UDP port of Multicast DNS (RFC 6762, §3).
public let multicastDNSPort: UInt16 = 5353

/// A received message with its link and sender.
public struct ReceivedMessage: Hashable, Sendable {
  /// The message.
  public var message: DNSMessage
  /// The link on which it arrived.
  public var link: MulticastLink
  /// The sender.
  public var source: Endpoint
  /// Whether it was sent to the multicast group, rather than to a unicast address.
  public var isMulticast: Bool

  /// Creates a received message.
  public init(
    _ message: DNSMessage, on link: MulticastLink, from source: Endpoint, isMulticast: Bool
  ) {
    self.message = message
    self.link = link
    self.source = source
    self.isMulticast = isMulticast
  }
}

/// A packet to send from port 5353, with a TTL or hop limit of 255.
public struct OutgoingPacket: Hashable, Sendable {
  /// The destination of a packet.
  public enum Destination: Hashable, Sendable {
    /// The multicast group of Multicast DNS.
    case multicast
    /// One receiver.
    case unicast(Endpoint)
  }

  /// The payload of the UDP datagram.
  public var bytes: [UInt8]
  /// The link on which it is sent.
  public var link: MulticastLink
  /// The destination.
  public var destination: Destination

  /// Creates a packet.
  public init(_ bytes: [UInt8], on link: MulticastLink, to destination: Destination = .multicast) {
    self.bytes = bytes
    self.link = link
    self.destination = destination
  }
}
