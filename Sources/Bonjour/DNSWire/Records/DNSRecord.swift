public import Essentials

/// A DNS resource record (RFC 1035, §3.2).
public struct DNSRecord: Hashable, Sendable {
  /// The owner name of the record.
  public var name: DNSName
  /// The class. In an OPT record, the UDP payload size of the sender.
  public var recordClass: DNSClass
  /// The cache-flush bit: whether caches remove other records with this name and type (RFC 6762,
  /// §10.2).
  public var flushesCache: Bool
  /// The TTL in seconds; 0 in a goodbye record.
  public var ttlSeconds: UInt32
  /// The data.
  public var data: DNSRecordData

  /// Creates a record, by default of class IN.
  public init(
    name: DNSName, recordClass: DNSClass = .in, flushesCache: Bool = false, ttlSeconds: UInt32,
    data: DNSRecordData
  ) {
    self.name = name
    self.recordClass = recordClass
    self.flushesCache = flushesCache
    self.ttlSeconds = ttlSeconds
    self.data = data
  }

  /// The type of the data.
  public var type: DNSType { data.type }

  /// Whether name, class, type and data are equal, ignoring TTL and cache-flush bit (RFC 6762,
  /// §7.1).
  public func hasSameContent(as other: DNSRecord) -> Bool {
    name == other.name && recordClass == other.recordClass && data == other.data
  }
}

/// The data of a record, by type.
///
/// Two values are equal if they have the same wire format without compression, ignoring the case of
/// letters in names.
public enum DNSRecordData: Hashable, Sendable {
  /// An IPv4 address.
  case a(Inet4Address)
  /// An IPv6 address.
  case aaaa(Inet6Address)
  /// The name that this record points to.
  case ptr(DNSName)
  /// The canonical name, of which the record's name is an alias.
  case cname(DNSName)
  /// A name server.
  case ns(DNSName)
  /// The host and port of a service.
  case srv(DNSService)
  /// The keys and values of a service.
  case txt(TXTRecord)
  /// The processor and the operating system, at most 255 bytes each.
  case hinfo(processor: [UInt8], system: [UInt8])
  /// The types of records that the name has.
  case nsec(next: DNSName, types: DNSTypeBitmap)
  /// The options of EDNS, each with code and length.
  case opt(options: [UInt8])
  /// The data of a type that has no case here, with uncompressed names; or data that is malformed
  /// for its type.
  case opaque(DNSType, [UInt8])

  /// The record's type.
  public var type: DNSType {
    switch self {
    case .a: .a
    case .aaaa: .aaaa
    case .ptr: .ptr
    case .cname: .cname
    case .ns: .ns
    case .srv: .srv
    case .txt: .txt
    case .hinfo: .hinfo
    case .nsec: .nsec
    case .opt: .opt
    case .opaque(let type, _): type
    }
  }

  /// Whether the data is malformed for its type, so that it must be ignored.
  public var isMalformed: Bool {
    guard case .opaque(let type, _) = self else { return false }
    return Self.formedTypes.contains(type)
  }

  /// The types that have a case of their own.
  private static let formedTypes: Set<DNSType> = [
    .a, .aaaa, .ptr, .cname, .ns, .srv, .txt, .hinfo, .nsec, .opt,
  ]
}

/// The data of an SRV record: host and port of a service (RFC 2782).
public struct DNSService: Hashable, Sendable {
  /// The priority; lower values are tried first.
  public var priority: UInt16
  /// The weight among services with the same priority.
  public var weight: UInt16
  /// The port; 0 if the record only reserves a name.
  public var port: UInt16
  /// The host name.
  public var target: DNSName

  /// Creates the data of an SRV record.
  public init(priority: UInt16 = 0, weight: UInt16 = 0, port: UInt16, target: DNSName) {
    self.priority = priority
    self.weight = weight
    self.port = port
    self.target = target
  }
}

/// A question of a message: a name, a type and a class.
package struct DNSQuestion: Hashable, Sendable {
  /// The name.
  package var name: DNSName
  /// The type of the requested records; `any` for all.
  package var type: DNSType
  /// The class of the requested records; `any` for all.
  package var questionClass: DNSClass
  /// The QU bit: whether a unicast response is requested (RFC 6762, §5.4).
  package var wantsUnicastResponse: Bool

  /// Creates a question, by default of class IN.
  package init(
    name: DNSName, type: DNSType, questionClass: DNSClass = .in, wantsUnicastResponse: Bool = false
  ) {
    self.name = name
    self.type = type
    self.questionClass = questionClass
    self.wantsUnicastResponse = wantsUnicastResponse
  }

  /// Whether a record of this name, class and type answers the question.
  package func isAnswered(by record: DNSRecord) -> Bool {
    (type == record.type || type == .any)
      && (questionClass == record.recordClass || questionClass == .any) && name == record.name
  }
}
