public import DNSWire

/// The UDP port of Multicast DNS (RFC 6762, §3).
public let multicastDNSPort: UInt16 = 5353

/// A message that arrived.
public struct ReceivedMessage: Hashable, Sendable {
  /// The message.
  public var message: DNSMessage
  /// The link on which it arrived.
  public var link: MulticastLink
  /// The sender.
  public var source: Endpoint
  /// Whether it was sent to the group of Multicast DNS, rather than to this host alone.
  public var isMulticast: Bool

  /// A message and how it came.
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
  /// The receivers of a packet.
  public enum Destination: Hashable, Sendable {
    /// The group of Multicast DNS.
    case multicast
    /// One receiver.
    case unicast(Endpoint)
  }

  /// The payload of the UDP datagram.
  public var bytes: [UInt8]
  /// The destination.
  public var link: MulticastLink
  /// Its receivers.
  public var destination: Destination

  /// A packet and where it goes.
  public init(_ bytes: [UInt8], on link: MulticastLink, to destination: Destination = .multicast) {
    self.bytes = bytes
    self.link = link
    self.destination = destination
  }
}
