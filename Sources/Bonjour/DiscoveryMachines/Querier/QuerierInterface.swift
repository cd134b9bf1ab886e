public import DNSWire
public import Essentials

/// The identifier of a query, unique within a querier. The caller chooses it.
package struct QueryID: RawRepresentable, Hashable, Comparable, Sendable {
  /// The caller's number.
  package let rawValue: UInt64

  /// Creates an identifier from its number.
  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// Whether `a` has the smaller number.
  package static func < (a: QueryID, b: QueryID) -> Bool { a.rawValue < b.rawValue }
}

/// A query, which runs until the client stops it.
public enum QueryRequest: Hashable, Sendable {
  /// The records of a name, of one type or `any`.
  case records(DNSName, DNSType)
  /// The services of a type, or of one of its subtypes, in a domain (RFC 6763, §4 and §7.1).
  case browse(ServiceType, subtype: DNSLabel? = nil, domain: DNSName = .local)
  /// The host, port and TXT record of a service (RFC 6763, §5 and §6).
  case resolve(ServiceName)
  /// The addresses of a host.
  case addresses(DNSName, versions: Set<IPVersion>)
  /// The types of all services in a domain (RFC 6763, §9).
  case serviceTypes(domain: DNSName = .local)
  /// The domains that this link recommends (RFC 6763, §11).
  case domains(DomainUse)
}

/// Options of a query.
public struct QueryOptions: Hashable, Sendable {
  /// Whether names outside of this link's domains are queried by multicast, too. Otherwise such
  /// queries are refused.
  public var reachesBeyondLink: Bool
  /// The time after which the query ends with ``QueryError/timedOut``, regardless of results; nil
  /// for no timeout.
  public var timeout: TimeSpan?
  /// Whether queries for records also report the aliases (CNAME records) that lead to them.
  public var reportsAliases: Bool

  /// Creates options. By default, only names of this link are queried, without a timeout, and
  /// aliases are not reported.
  public init(
    reachesBeyondLink: Bool = false, timeout: TimeSpan? = nil, reportsAliases: Bool = false
  ) {
    self.reachesBeyondLink = reachesBeyondLink
    self.timeout = timeout
    self.reportsAliases = reportsAliases
  }
}

/// The purpose of a recommended domain (RFC 6763, §11).
public enum DomainUse: String, Hashable, CaseIterable, Sendable {
  /// To browse in.
  case browsing = "b"
  /// The default domain to browse in.
  case defaultBrowsing = "db"
  /// To register services in.
  case registration = "r"
  /// The default domain to register services in.
  case defaultRegistration = "dr"
  /// Domains that are browsed in automatically.
  case automaticBrowsing = "lb"

  /// The name of the PTR records for this purpose.
  public var name: DNSName { DNSName(stringLiteral: "\(rawValue)._dns-sd._udp.local.") }
}

/// The host, port and TXT record of a service.
public struct ServiceResolution: Hashable, Sendable {
  /// The name of the service.
  public var name: ServiceName
  /// The host name.
  public var host: DNSName
  /// The port.
  public var port: UInt16
  /// The TXT record; empty if the service has none.
  public var text: TXTRecord

  /// Creates a resolution.
  public init(name: ServiceName, host: DNSName, port: UInt16, text: TXTRecord) {
    self.name = name
    self.host = host
    self.port = port
    self.text = text
  }
}

/// A result of a query.
public enum QueryEvent: Hashable, Sendable {
  /// A record was received.
  case recordAdded(DNSRecord)
  /// A record is no longer valid.
  case recordRemoved(DNSRecord)
  /// The name has no record of that type: a negative answer (RFC 6762, §6.1).
  case recordAbsent(DNSType)
  /// A service was found.
  case serviceAdded(ServiceName)
  /// A service disappeared.
  case serviceRemoved(ServiceName)
  /// The host, port and TXT record of a service are known, or have changed.
  case resolved(ServiceResolution)
  /// An address of the host was found, with its TTL.
  case addressAdded(InetAddress, ttlSeconds: UInt32)
  /// The host no longer has that address.
  case addressRemoved(InetAddress)
  /// The host has no address of that version.
  case addressAbsent(IPVersion)
  /// The first service of that type was found.
  case typeAdded(ServiceType)
  /// The last service of that type was removed.
  case typeRemoved(ServiceType)
  /// A domain is recommended.
  case domainAdded(DNSName)
  /// A domain is no longer recommended.
  case domainRemoved(DNSName)
  /// The query ended with an error, in most cases before it began.
  case failed(QueryError)
}

/// The reason why a query ended.
public struct QueryError: Error, Hashable, Sendable {
  /// The kind of an error. Later versions may add more.
  public struct Code: Hashable, Sendable {
    fileprivate let rawValue: UInt8

    /// The name doesn't belong to this link: only names in `local.` and reverse mappings of
    /// link-local addresses are queried by multicast (RFC 6762, §3, §4 and §22.1).
    public static let notOnThisLink = Code(rawValue: 1)
    /// The name of the question would be too long.
    public static let nameTooLong = Code(rawValue: 2)
    /// The limit of queries is reached.
    public static let tooManyClients = Code(rawValue: 3)
    /// A query with this identifier is already running.
    public static let identifierInUse = Code(rawValue: 4)
    /// The query timed out.
    public static let timedOut = Code(rawValue: 5)
  }

  /// The errors of this version, for an exhaustive switch.
  package enum Reason: Hashable, Sendable {
    case notOnThisLink(DNSName)
    case nameTooLong, tooManyClients, identifierInUse, timedOut
  }

  package let reason: Reason

  /// The kind of the error.
  public var code: Code {
    switch reason {
    case .notOnThisLink: .notOnThisLink
    case .nameTooLong: .nameTooLong
    case .tooManyClients: .tooManyClients
    case .identifierInUse: .identifierInUse
    case .timedOut: .timedOut
    }
  }

  /// See ``Code/notOnThisLink``.
  public static func notOnThisLink(_ name: DNSName) -> QueryError {
    QueryError(reason: .notOnThisLink(name))
  }
  /// See ``Code/nameTooLong``.
  public static let nameTooLong = QueryError(reason: .nameTooLong)
  /// See ``Code/tooManyClients``.
  public static let tooManyClients = QueryError(reason: .tooManyClients)
  /// See ``Code/identifierInUse``.
  public static let identifierInUse = QueryError(reason: .identifierInUse)
  /// See ``Code/timedOut``.
  public static let timedOut = QueryError(reason: .timedOut)
}

extension DNSName {
  /// Whether the name is queried by multicast: it is in `local.`, or the reverse mapping of a
  /// link-local address (RFC 6762, §3 and §4).
  public var isOnThisLink: Bool { Self.linkDomains.contains { isWithin($0) } }

  private static let linkDomains: [DNSName] = [
    .local, "254.169.in-addr.arpa.", "8.e.f.ip6.arpa.", "9.e.f.ip6.arpa.", "a.e.f.ip6.arpa.",
    "b.e.f.ip6.arpa.",
  ]
}
