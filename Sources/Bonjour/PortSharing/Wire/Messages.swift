package import DNSWire
package import DiscoveryMachines
import Essentials

/// A report to `BonjourHost` from the engine that runs the state machines.
package enum DiscoveryReport: Hashable, Sendable {
  /// A result of a query, with its interface, and whether more follow at once.
  case found(QueryID, QueryEvent, on: InterfaceIndex?, moreComing: Bool)
  /// The following results of this query, up to the first one without `moreComing`, are from the
  /// cache.
  case answersFromCache(QueryID)
  /// A service or record is registered under this name.
  case registered(RegistrationID, DNSName)
  /// The service or record is not registered, because another host has the name.
  case refused(RegistrationID, DNSName)
  /// The interfaces in use, with their names.
  case interfaces([InterfaceIndex: String])
}

/// The configuration of a host. Only hosts with the same configuration share an owner.
package struct SharedConfiguration: Hashable, Sendable {
  /// The host name without `.local`.
  package var hostName: String
  /// The interfaces to use; nil for all that are suitable.
  package var interfaceNames: Set<String>?

  /// Creates a configuration.
  package init(hostName: String, interfaceNames: Set<String>? = nil) {
    self.hostName = hostName
    self.interfaceNames = interfaceNames
  }
}

/// A message from a program to a hub, the owner of port 5353.
package enum ClientMessage: Hashable, Sendable {
  /// The first message: the protocol versions of the client, and its configuration.
  case hello(versions: ClosedRange<UInt16>, SharedConfiguration)
  /// A request.
  case request(DiscoveryRequest)
  /// A ping, which the owner answers with a pong.
  case ping
  /// The client has left an owner that did not answer, and goes on with its requests itself: its
  /// services and records must not be withdrawn. Since version 3.
  case leaving
}

/// A message from a hub, the owner of port 5353, to a program.
package enum OwnerMessage: Hashable, Sendable {
  /// The answer to a hello: the owner serves the client with this protocol version.
  case welcome(version: UInt16)
  /// The owner does not serve the client, or stops serving it. It closes the connection.
  case rejected(RejectionReason)
  /// A report of the machines.
  case report(DiscoveryReport)
  /// The answer to a ping.
  case pong

  /// The reason why a client is not served.
  package enum RejectionReason: UInt8, Hashable, Sendable, CaseIterable {
    /// There is no common version of the protocol.
    case otherVersion = 1
    /// The owner has another host name or other interfaces.
    case otherConfiguration = 2
    /// The limit of clients is reached, of this user or of all.
    case tooManyClients = 3
    /// The requests of the client, or of its user, exceed a limit.
    case tooManyRequests = 4
    /// The client sent an invalid message, or one that is not allowed.
    case invalidMessage = 5
    /// The hub's rules deny the client.
    case otherUser = 6
  }
}

/// The protocol between an owner and its clients.
package enum PortSharingProtocol {
  /// The supported versions.
  package static let versions: ClosedRange<UInt16> = 1...3
  /// The first version with ``DiscoveryReport/answersFromCache(_:)``.
  static let cacheVersion: UInt16 = 2
  /// The first version with ``ClientMessage/leaving``.
  package static let leavingVersion: UInt16 = 3
  /// The maximum length of a message in bytes: for a TXT record of maximum length, with names and
  /// subtypes.
  package static let messageByteCountMax = 1 << 17
}

/// The reason why bytes are not a valid message.
package enum PortSharingError: Error, Equatable, Sendable {
  /// The bytes end before a value does.
  case truncated(needed: Int, available: Int)
  /// There are bytes after the end of the message.
  case bytesLeft(Int)
  /// The length of a message exceeds the maximum.
  case messageTooLong(byteCount: Int)
  /// No value has this number.
  case unknownValue(UInt8)
  /// A name, type or text is not valid in DNS.
  case invalid(DNSWireError)
  /// A name is not that of a service.
  case notAService(DNSName)
  /// A text is not UTF-8.
  case notUTF8
}
