public import DNSWire

/// The identifier of a registration of a ``Responder``. Its owner chooses it and must not reuse it.
package struct RegistrationID: RawRepresentable, Hashable, Sendable {
  /// The number.
  package let rawValue: UInt64

  /// Creates an identifier from its number; 0 is the host's own registration.
  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// The registration of the host's name and addresses.
  package static let host = RegistrationID(rawValue: 0)
}

/// The behaviour if another host has the name.
package enum ConflictPolicy: Hashable, Sendable {
  /// The registration gets another name: "Name (2)".
  case rename
  /// The registration ends.
  case refuse
}

/// A service to register (RFC 6763, §4.1).
public struct ServiceRegistration: Hashable, Sendable {
  /// Limits.
  public enum Limits {
    /// The maximum length of the TXT record in bytes, with which it fits into the longest message
    /// of Multicast DNS together with a service name, host and port of maximum length (RFC 6762,
    /// §17).
    public static let textByteCountMax = 8_192
  }

  /// The instance name, type and domain.
  public var name: ServiceName
  /// The names of the subtypes under which the service can be browsed, too (RFC 6763, §7.1).
  public let subtypeNames: [DNSName]
  /// The host of the service; nil for this host, under its current name.
  public var host: DNSName?
  /// The port; 0 if only the name is reserved.
  public var port: UInt16
  /// The TXT record.
  public var text: TXTRecord
  /// The interface on which it is registered; nil for all.
  public var interface: InterfaceIndex?
  /// The behaviour if another host has the name.
  package var conflictPolicy: ConflictPolicy

  /// Creates a service. Throws if the name of a subtype is too long, or if the TXT record is too long.
  package init(
    _ name: ServiceName, subtypes: [DNSLabel] = [], host: DNSName? = nil, port: UInt16,
    text: TXTRecord = TXTRecord(), interface: InterfaceIndex? = nil,
    conflictPolicy: ConflictPolicy = .rename
  ) throws(DNSWireError) {
    try Self.check(text)
    self.name = name
    var names: [DNSName] = []
    for subtype in subtypes {
      names.append(try name.type.name(ofSubtype: subtype, in: name.domain))
    }
    subtypeNames = names
    self.host = host
    self.port = port
    self.text = text
    self.interface = interface
    self.conflictPolicy = conflictPolicy
  }

  /// Throws if the TXT record is too long.
  public static func check(_ text: TXTRecord) throws(DNSWireError) {
    guard text.wireBytes.count <= Limits.textByteCountMax else {
      throw .messageTooLong(byteCountMax: Limits.textByteCountMax)
    }
  }
}

/// A single record to register.
public struct RecordRegistration: Hashable, Sendable {
  /// Whether other hosts may have records of the name and type.
  public enum Ownership: Hashable, Sendable {
    /// Other hosts may have records of the name.
    case shared
    /// Only this host may have records of the name and type: the name is probed.
    case unique
    /// Only this host may have records of the name and type, as the caller knows already: the name
    /// is not probed.
    case knownUnique
  }

  /// The record. Its cache-flush bit is determined by `ownership`.
  public var record: DNSRecord
  /// Whether other hosts may have records of the name and type.
  public var ownership: Ownership
  /// The interface on which it is registered; nil for all.
  public var interface: InterfaceIndex?

  /// Creates a record to register.
  public init(_ record: DNSRecord, _ ownership: Ownership, interface: InterfaceIndex? = nil) {
    self.record = record
    self.record.flushesCache = ownership != .shared
    self.ownership = ownership
    self.interface = interface
  }
}
