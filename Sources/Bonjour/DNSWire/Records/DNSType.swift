/// The type of a record, or the type that a question requests.
@frozen
public struct DNSType: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number on the wire.
  public let rawValue: UInt16

  /// Creates a type from its number. Every number is valid.
  @inlinable
  public init(rawValue: UInt16) {
    self.rawValue = rawValue
  }

  /// An IPv4 address (RFC 1035, §3.4.1).
  public static let a = DNSType(rawValue: 1)
  /// A name server (RFC 1035, §3.3.11).
  public static let ns = DNSType(rawValue: 2)
  /// The canonical name of an alias (RFC 1035, §3.3.1).
  public static let cname = DNSType(rawValue: 5)
  /// The start of a zone (RFC 1035, §3.3.13).
  public static let soa = DNSType(rawValue: 6)
  /// A pointer to another name (RFC 1035, §3.3.12). Lists the services of a type.
  public static let ptr = DNSType(rawValue: 12)
  /// The processor and operating system of a host (RFC 1035, §3.3.2).
  public static let hinfo = DNSType(rawValue: 13)
  /// A mail exchange (RFC 1035, §3.3.9).
  public static let mx = DNSType(rawValue: 15)
  /// Text; the keys and values of a service (RFC 6763, §6).
  public static let txt = DNSType(rawValue: 16)
  /// An IPv6 address (RFC 3596, §2.1).
  public static let aaaa = DNSType(rawValue: 28)
  /// The host and port of a service (RFC 2782).
  public static let srv = DNSType(rawValue: 33)
  /// The pseudo record of EDNS (RFC 6891).
  public static let opt = DNSType(rawValue: 41)
  /// The types of records that a name has (RFC 4034, §4; RFC 6762, §6.1).
  public static let nsec = DNSType(rawValue: 47)
  /// In a question: records of all types.
  public static let any = DNSType(rawValue: 255)

  /// The name of the type, or `TYPE` and its number.
  public var description: String {
    Self.names[self] ?? "TYPE\(rawValue)"
  }

  /// Parses the name of a type in any case, `TYPE` and a number, or a number; nil for any other
  /// text.
  public init?(text: some StringProtocol) {
    let name = text.uppercased()
    if let known = Self.names.first(where: { $0.value == name }) {
      self = known.key
    } else if let number = UInt16(name.hasPrefix("TYPE") ? String(name.dropFirst(4)) : name) {
      rawValue = number
    } else {
      return nil
    }
  }

  private static let names: [DNSType: String] = [
    .a: "A", .ns: "NS", .cname: "CNAME", .soa: "SOA", .ptr: "PTR", .hinfo: "HINFO", .mx: "MX",
    .txt: "TXT", .aaaa: "AAAA", .srv: "SRV", .opt: "OPT", .nsec: "NSEC", .any: "ANY",
  ]

  /// Whether `a` has the smaller number.
  public static func < (a: DNSType, b: DNSType) -> Bool { a.rawValue < b.rawValue }
}

/// The class of a record or a question, without the top bit, which Multicast DNS uses for other
/// purposes.
@frozen
public struct DNSClass: RawRepresentable, Hashable, Sendable {
  /// The number on the wire.
  public let rawValue: UInt16

  /// Creates a class from its number.
  @inlinable
  public init(rawValue: UInt16) {
    self.rawValue = rawValue
  }

  /// The Internet. Multicast DNS uses only this class.
  public static let `in` = DNSClass(rawValue: 1)
  /// In a question: records of all classes.
  public static let any = DNSClass(rawValue: 255)
}
