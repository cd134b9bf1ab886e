public import DNSWire

/// Names one registration of a ``Responder``; its owner chooses it and never uses it again.
public struct RegistrationID: RawRepresentable, Hashable, Sendable {
  /// The number.
  public let rawValue: UInt64

  /// The registration of this number; 0 is the host's own.
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// The host's name and addresses, which are always registered.
  public static let host = RegistrationID(rawValue: 0)
}

/// What happens if another host has the name.
public enum ConflictPolicy: Hashable, Sendable {
  /// Another name is taken: "Name (2)".
  case rename
  /// The registration ends.
  case refuse
}

/// A service to register (RFC 6763, §4.1).
public struct ServiceRegistration: Hashable, Sendable {
  /// Limits.
  public enum Limits {
    /// The longest text, in bytes, that fits into the longest message of Multicast DNS beside the
    /// service's name, host and port, each of them as long as can be (RFC 6762, §17).
    public static let textByteCountMax = 8_192
  }

  /// Instance, type and domain.
  public var name: ServiceName
  /// The names under which some browse for this kind of the type only (RFC 6763, §7.1).
  public let subtypeNames: [DNSName]
  /// The host of the service; nil for this host, under its present name.
  public var host: DNSName?
  /// The port; 0 where only the name is to be held.
  public var port: UInt16
  /// Keys and values.
  public var text: TXTRecord
  /// The interface on which it is registered; nil for all.
  public var interface: InterfaceIndex?
  /// What happens if another host has the name.
  public var conflictPolicy: ConflictPolicy

  /// A service. Throws where a subtype makes no name, and for a text that no message could take.
  public init(
    _ name: ServiceName, subtypes: [String] = [], host: DNSName? = nil, port: UInt16,
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

  /// Throws for a text that no message could take.
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
    /// Only this host may: the name is probed.
    case unique
    /// Only this host may, which the caller knows already: the name is not probed.
    case knownUnique
  }

  /// The record; whether it flushes caches follows from the ownership.
  public var record: DNSRecord
  /// Whether other hosts may have records of the name and type.
  public var ownership: Ownership
  /// The interface on which it is registered; nil for all.
  public var interface: InterfaceIndex?

  /// A record.
  public init(_ record: DNSRecord, _ ownership: Ownership, interface: InterfaceIndex? = nil) {
    self.record = record
    self.record.flushesCache = ownership != .shared
    self.ownership = ownership
    self.interface = interface
  }
}
