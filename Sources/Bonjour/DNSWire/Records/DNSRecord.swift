public import Essentials

/// A resource record: data of a name (RFC 1035, §3.2).
public struct DNSRecord: Hashable, Sendable {
  /// The owner name of the record.
  public var name: DNSName
  /// The class; of an OPT record the size of UDP payload its sender takes.
  public var recordClass: DNSClass
  /// Whether the record is its name's and type's only one or one of a whole set, so that a cache
  /// forgets the others it had (RFC 6762, §10.2).
  public var flushesCache: Bool
  /// For how many seconds the record is valid; 0 in a goodbye.
  public var ttlSeconds: UInt32
  /// The data.
  public var data: DNSRecordData

  /// A record, by default of class IN.
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

  /// The type, which the data decides.
  public var type: DNSType { data.type }

  /// Whether name, class, type and data agree. TTL and cache-flush bit don't matter (RFC 6762,
  /// §7.1).
  public func saysTheSame(as other: DNSRecord) -> Bool {
    name == other.name && recordClass == other.recordClass && data == other.data
  }
}

/// The data of a record, by type.
///
/// Two are equal if they are the same on the wire without compression, but for the case of letters
/// in names.
public enum DNSRecordData: Hashable, Sendable {
  /// An IPv4 address.
  case a(Inet4Address)
  /// An IPv6 address.
  case aaaa(Inet6Address)
  /// Another name.
  case ptr(DNSName)
  /// The name that this one is an alias of.
  case cname(DNSName)
  /// A name server.
  case ns(DNSName)
  /// Host and port of a service.
  case srv(DNSService)
  /// Keys and values.
  case txt(TXTRecord)
  /// Processor and operating system, at most 255 bytes each.
  case hinfo(processor: [UInt8], system: [UInt8])
  /// Which types a name has.
  case nsec(next: DNSName, types: DNSTypeBitmap)
  /// Options of EDNS, each with code and length.
  case opt(options: [UInt8])
  /// Data of a type that has no case here, names in it without compression; or data that doesn't
  /// have the form that its type demands.
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

  /// Whether the data doesn't have the form that its type demands, so that it means nothing.
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
  /// Lower ones are tried first.
  public var priority: UInt16
  /// The share among those of one priority.
  public var weight: UInt16
  /// The port; 0 where a name is held without a service behind it.
  public var port: UInt16
  /// The host.
  public var target: DNSName

  /// A service at a port of a host.
  public init(priority: UInt16 = 0, weight: UInt16 = 0, port: UInt16, target: DNSName) {
    self.priority = priority
    self.weight = weight
    self.port = port
    self.target = target
  }
}

/// A question of a message.
public struct DNSQuestion: Hashable, Sendable {
  /// The name asked about.
  public var name: DNSName
  /// The type of records asked for; `any` for all.
  public var type: DNSType
  /// The class asked for; `any` for all.
  public var questionClass: DNSClass
  /// Whether an answer to the asker alone is welcome: the QU bit (RFC 6762, §5.4).
  public var wantsUnicastResponse: Bool

  /// A question, by default of class IN.
  public init(
    name: DNSName, type: DNSType, questionClass: DNSClass = .in, wantsUnicastResponse: Bool = false
  ) {
    self.name = name
    self.type = type
    self.questionClass = questionClass
    self.wantsUnicastResponse = wantsUnicastResponse
  }

  /// Whether a record of this name, class and type answers the question.
  public func isAnswered(by record: DNSRecord) -> Bool {
    (type == record.type || type == .any)
      && (questionClass == record.recordClass || questionClass == .any) && name == record.name
  }
}
