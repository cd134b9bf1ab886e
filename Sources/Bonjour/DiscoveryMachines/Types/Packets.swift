public import DNSWire
public import Essentials

/// What RFC 6762 fixes for everybody.
public enum MulticastDNS {
  /// The port, for UDP over both versions of IP (§3).
  public static let port: UInt16 = 5353
  /// The time to live, or hop limit, that every packet is sent with (§11).
  public static let hopLimit: UInt8 = 255

  /// Where everybody on a link hears it.
  public static func group(_ version: IPVersion) -> Endpoint {
    Endpoint(address: .multicastDNS(version), port: port)
  }
}

/// An address and a port.
public struct Endpoint: Hashable, Sendable {
  /// The host, or the group.
  public var address: IPAddress
  /// The UDP port.
  public var port: UInt16

  /// An address and a port.
  public init(address: IPAddress, port: UInt16) {
    self.address = address
    self.port = port
  }
}

/// What a host knows about a datagram beside its bytes.
public struct PacketOrigin: Hashable, Sendable {
  /// Where it came in.
  public var interface: InterfaceID
  /// Who sent it.
  public var source: Endpoint
  /// Whom it was sent to: the group, or one of our addresses.
  public var destination: IPAddress
  /// Its time to live or hop limit on arrival; nil where the system didn't say.
  public var hopLimit: UInt8?

  /// The facts of a datagram.
  public init(
    interface: InterfaceID, source: Endpoint, destination: IPAddress, hopLimit: UInt8? = nil
  ) {
    self.interface = interface
    self.source = source
    self.destination = destination
    self.hopLimit = hopLimit
  }

  /// Whether it was sent to a group, so that everybody on the link saw it.
  public var isMulticast: Bool { destination.isMulticast }

  /// Whether it was sent by one who speaks Multicast DNS in full: from its port (RFC 6762, §6.7).
  public var isFromFullSpeaker: Bool { source.port == MulticastDNS.port }
}

/// A message that came in, read once for all machines.
public struct ReceivedMessage: Hashable, Sendable {
  /// The message.
  public var message: DNSMessage
  /// Where it came from.
  public var origin: PacketOrigin

  /// A message and where it came from.
  public init(_ message: DNSMessage, from origin: PacketOrigin) {
    self.message = message
    self.origin = origin
  }

  /// Reads a datagram; nil where nobody has use for it: it is no DNS message, no standard query or
  /// response to one, reports an error (RFC 6762, §18.3 and §18.11), or comes from port 0, where no
  /// answer can go.
  public init?(decoding bytes: ArraySlice<UInt8>, from origin: PacketOrigin) {
    guard origin.source.port != 0, let message = try? DNSMessage(decoding: bytes),
      message.header.operation == 0, message.header.responseCode == 0
    else { return nil }
    self.message = message
    self.origin = origin
  }
}

/// A datagram to send from port 5353, with the hop limit 255.
public struct OutgoingPacket: Hashable, Sendable {
  /// On which interface.
  public var interface: InterfaceID
  /// To whom.
  public var destination: Endpoint
  /// The message.
  public var bytes: [UInt8]

  /// A datagram.
  public init(interface: InterfaceID, destination: Endpoint, bytes: [UInt8]) {
    self.interface = interface
    self.destination = destination
    self.bytes = bytes
  }
}
