public import DNSWire
public import DiscoveryMachines
import Essentials

/// What a host of Bonjour wants from whoever runs the machines for it. The numbers are the host's own.
public enum HostRequest: Hashable, Sendable {
  /// Look for something, on one interface or on all.
  case ask(QueryID, QueryRequest, on: InterfaceIndex?, options: QueryOptions = QueryOptions())
  /// Look for it no more.
  case stopAsking(QueryID)
  /// Doubt a record, on one interface or on all.
  case doubt(DNSRecord, on: InterfaceIndex?)
  /// Publish a service.
  case publish(RegistrationID, ServiceRegistration)
  /// Publish a record.
  case publishRecord(RegistrationID, RecordRegistration)
  /// Change the keys and values of a service.
  case updateText(RegistrationID, TXTRecord)
  /// Change the data of a single record.
  case updateRecord(RegistrationID, DNSRecordData, ttlSeconds: UInt32)
  /// Give a service one more record of its name, or change that, or take it away (nil). The number
  /// tells a service's further records apart.
  case setFurtherRecord(RegistrationID, UInt32, DNSRecordData?, ttlSeconds: UInt32)
  /// Withdraw what was published, with a goodbye.
  case withdraw(RegistrationID)
}

/// What a host is told by whoever runs the machines for it.
public enum HostReport: Hashable, Sendable {
  /// Something was found, or is gone; with the interface where it was heard, and whether more
  /// follows at once.
  case found(QueryID, QueryEvent, on: InterfaceIndex?, moreComing: Bool)
  /// What is published goes under this name.
  case published(RegistrationID, DNSName)
  /// Another host has the name: it is not published.
  case refused(RegistrationID, DNSName)
  /// The interfaces that take part, and what the system calls them.
  case interfaces([InterfaceIndex: String])
}

/// How a host takes part. Only hosts that want the same share one owner.
public struct SharedConfiguration: Hashable, Sendable {
  /// The host's name without `.local`.
  public var hostName: String
  /// The interfaces to use; nil for all that are suitable.
  public var interfaceNames: Set<String>?

  /// A name and the interfaces to use.
  public init(hostName: String, interfaceNames: Set<String>? = nil) {
    self.hostName = hostName
    self.interfaceNames = interfaceNames
  }
}

/// What a client says to the owner of port 5353.
public enum ClientMessage: Hashable, Sendable {
  /// The first message: the versions of the protocol that the client speaks, and how it wants to
  /// take part.
  case hello(versions: ClosedRange<UInt16>, SharedConfiguration)
  /// It wants something.
  case request(HostRequest)
  /// It wants to know whether the owner still works.
  case ping
}

/// What the owner of port 5353 says to a client.
public enum OwnerMessage: Hashable, Sendable {
  /// The answer to a hello: the client is served, in this version of the protocol.
  case welcome(version: UInt16)
  /// The client is not served, or no longer; the owner closes the connection.
  case turnedAway(Refusal)
  /// Something happened.
  case report(HostReport)
  /// The owner works.
  case pong

  /// Why a client is not served.
  public enum Refusal: UInt8, Hashable, Sendable, CaseIterable {
    /// They speak no common version of the protocol.
    case otherVersion = 1
    /// The owner takes part under another name or on other interfaces.
    case otherConfiguration = 2
    /// There are too many clients, of this user or of all.
    case tooManyClients = 3
    /// The client, or its user, wants too much at once.
    case tooMuchWanted = 4
    /// The client said what makes no sense.
    case misunderstood = 5
    /// The owner does not serve the client's user.
    case otherUser = 6
  }
}

/// The protocol between an owner and its clients.
public enum SharingProtocol {
  /// The versions that are spoken here.
  public static let versions: ClosedRange<UInt16> = 1...1
  /// The longest message, in bytes: a TXT record of the greatest length, with names and subtypes.
  public static let messageByteCountMax = 1 << 17
}

/// Why bytes are no message.
public enum SharingError: Error, Equatable, Sendable {
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
  /// A name is none of a service.
  case notAService(DNSName)
  /// A text is not UTF-8.
  case notUTF8
}
