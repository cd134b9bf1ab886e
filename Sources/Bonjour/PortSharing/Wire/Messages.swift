package import DNSWire
package import DiscoveryMachines
import Essentials

/// A report to `BonjourHost` from the engine that runs the state machines.
package enum DiscoveryReport: Hashable, Sendable {
  /// A result of a query, with its interface, and whether more follow at once.
  case found(QueryID, QueryEvent, on: InterfaceIndex?, moreComing: Bool)
  /// The results of this query that follow, up to the first after which no more is coming, are from
  /// the cache.
  case answersFromCache(QueryID)
  /// A service or record is registered under this name.
  case registered(RegistrationID, DNSName)
  /// Another host has the name: the service or record is not registered.
  case refused(RegistrationID, DNSName)
  /// The interfaces that take part, and what the system calls them.
  case interfaces([InterfaceIndex: String])
}

/// How a host takes part. Only hosts that want the same share one owner.
package struct SharedConfiguration: Hashable, Sendable {
  /// The host's name without `.local`.
  package var hostName: String
  /// The interfaces to use; nil for all that are suitable.
  package var interfaceNames: Set<String>?

  /// A name and the interfaces to use.
  package init(hostName: String, interfaceNames: Set<String>? = nil) {
    self.hostName = hostName
    self.interfaceNames = interfaceNames
  }
}

/// A message from a client to the owner of port 5353.
package enum ClientMessage: Hashable, Sendable {
  /// The first message: the versions of the protocol that the client speaks, and how it wants to
  /// take part.
  case hello(versions: ClosedRange<UInt16>, SharedConfiguration)
  /// A request.
  case request(DiscoveryRequest)
  /// A request for a pong.
  case ping
}

/// A message from the owner of port 5353 to a client.
package enum OwnerMessage: Hashable, Sendable {
  /// The answer to a hello: the client is served, in this version of the protocol.
  case welcome(version: UInt16)
  /// The client is not served, or no longer; the owner closes the connection.
  case rejected(RejectionReason)
  /// A report of the machines.
  case report(DiscoveryReport)
  /// A registration of the owner's own process, or a change of one, with the registered name. If
  /// the owner is killed, its successor sends goodbyes for them (RFC 6762, §10.1). From version 2
  /// on.
  case published(DiscoveryRequest)
  /// The answer to a ping.
  case pong

  /// Why a client is not served.
  package enum RejectionReason: UInt8, Hashable, Sendable, CaseIterable {
    /// There is no common version of the protocol.
    case otherVersion = 1
    /// The owner takes part under another name or on other interfaces.
    case otherConfiguration = 2
    /// There are too many clients, of this user or of all.
    case tooManyClients = 3
    /// The requests of the client, or of its user, exceed a limit.
    case tooManyRequests = 4
    /// The client sent an invalid message, or one that is not allowed.
    case invalidMessage = 5
    /// The owner does not serve the client's user.
    case otherUser = 6
  }
}

/// The protocol between an owner and its clients.
package enum PortSharingProtocol {
  /// The versions that are spoken here.
  package static let versions: ClosedRange<UInt16> = 1...2
  /// The first version with ``OwnerMessage/published(_:)`` and
  /// ``DiscoveryReport/answersFromCache(_:)``.
  static let publishedVersion: UInt16 = 2
  /// The longest message, in bytes: a TXT record of the greatest length, with names and subtypes.
  package static let messageByteCountMax = 1 << 17
}

/// Why bytes are not a valid message.
package enum PortSharingError: Error, Equatable, Sendable {
  /// They ended before a value did.
  case truncated(needed: Int, available: Int)
  /// There are more of them than the message has.
  case bytesLeft(Int)
  /// A message claims to be longer than any may be.
  case messageTooLong(byteCount: Int)
  /// There is no value that begins with this number.
  case unknownValue(UInt8)
  /// A name, a type or a text of the DNS has no valid form.
  case invalid(DNSWireError)
  /// A name is not a service's.
  case notAService(DNSName)
  /// A text is not UTF-8.
  case notUTF8
}
