public import DNSWire
public import Essentials

/// What a client's query is called, in a space of its own for each querier; the caller chooses.
public struct QueryID: RawRepresentable, Hashable, Comparable, Sendable {
  /// The caller's number.
  public let rawValue: UInt64

  /// The query with that number.
  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// Whether `a` has the smaller number.
  public static func < (a: QueryID, b: QueryID) -> Bool { a.rawValue < b.rawValue }
}

/// A query, which runs until the client stops it.
public enum QueryRequest: Hashable, Sendable {
  /// The records of a name, of one type or `any`.
  case records(DNSName, DNSType)
  /// The services of a type, or of one of its subtypes, in a domain (RFC 6763, §4 and §7.1).
  case browse(ServiceType, subtype: String? = nil, domain: DNSName = .local)
  /// Host, port and text of a service (RFC 6763, §5 and §6).
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
  /// Whether names that are not of this link are queried on it all the same; otherwise they are
  /// refused.
  public var reachesBeyondLink: Bool
  /// After how long the query ends with ``QueryError/timedOut``, whatever was found; nil for never.
  public var timeout: TimeSpan?
  /// Whether queries for records report the aliases that lead to them, too.
  public var reportsAliases: Bool

  /// By default on the link only, without timeout, and without reporting aliases.
  public init(
    reachesBeyondLink: Bool = false, timeout: TimeSpan? = nil, reportsAliases: Bool = false
  ) {
    self.reachesBeyondLink = reachesBeyondLink
    self.timeout = timeout
    self.reportsAliases = reportsAliases
  }
}

/// What a domain is recommended for (RFC 6763, §11).
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

  /// The name of its PTR records.
  public var name: DNSName { DNSName(stringLiteral: "\(rawValue)._dns-sd._udp.local.") }
}

/// The host, port and TXT record of a service.
public struct ServiceResolution: Hashable, Sendable {
  /// Which service.
  public var name: ServiceName
  /// Its host.
  public var host: DNSName
  /// Its port there.
  public var port: UInt16
  /// The TXT record; without entries if there is none.
  public var text: TXTRecord

  /// A service with its location and TXT record.
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
  /// It is no longer valid.
  case recordRemoved(DNSRecord)
  /// The name has no record of that type: a negative answer (RFC 6762, §6.1).
  case recordAbsent(DNSType)
  /// A service is there.
  case serviceAdded(ServiceName)
  /// It no longer is.
  case serviceRemoved(ServiceName)
  /// The host, port and TXT record of a service are known, or have changed.
  case resolved(ServiceResolution)
  /// An address of the host, and for how many seconds it is valid.
  case addressAdded(InetAddress, ttlSeconds: UInt32)
  /// The host no longer has that address.
  case addressRemoved(InetAddress)
  /// The host has no address of that version.
  case addressAbsent(IPVersion)
  /// There are services of that type.
  case typeAdded(ServiceType)
  /// There no longer are.
  case typeRemoved(ServiceType)
  /// A domain is recommended.
  case domainAdded(DNSName)
  /// It no longer is.
  case domainRemoved(DNSName)
  /// The query ended, in most cases before it began.
  case failed(QueryError)
}

/// Why a query ended.
public enum QueryError: Error, Hashable, Sendable {
  /// The name is not one of this link: only names in `local.` and of link-local addresses are
  /// queried by multicast (RFC 6762, §3, §4 and §22.1).
  case notOnThisLink(DNSName)
  /// The name of the question would be too long.
  case nameTooLong
  /// There are too many clients.
  case tooManyClients
  /// There is a query with that number.
  case identifierInUse
  /// Its time was over.
  case timedOut
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
