/// The type of a record, or the types that a question is for.
@frozen
public struct DNSType: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number on the wire.
  public let rawValue: UInt16

  /// A type from its number; every number is valid, known or not.
  @inlinable
  public init(rawValue: UInt16) {
    self.rawValue = rawValue
  }

  /// An IPv4 address (RFC 1035, §3.4.1).
  public static let a = DNSType(rawValue: 1)
  /// A name server (RFC 1035, §3.3.11).
  public static let ns = DNSType(rawValue: 2)
  /// The name that this one is an alias of (RFC 1035, §3.3.1).
  public static let cname = DNSType(rawValue: 5)
  /// The start of a zone (RFC 1035, §3.3.13).
  public static let soa = DNSType(rawValue: 6)
  /// Another name (RFC 1035, §3.3.12): what lists the services of a type.
  public static let ptr = DNSType(rawValue: 12)
  /// Processor and operating system of a host (RFC 1035, §3.3.2).
  public static let hinfo = DNSType(rawValue: 13)
  /// A mail exchange (RFC 1035, §3.3.9).
  public static let mx = DNSType(rawValue: 15)
  /// Text, for a service keys and values (RFC 6763, §6).
  public static let txt = DNSType(rawValue: 16)
  /// An IPv6 address (RFC 3596, §2.1).
  public static let aaaa = DNSType(rawValue: 28)
  /// Host and port of a service (RFC 2782).
  public static let srv = DNSType(rawValue: 33)
  /// The pseudo record of EDNS (RFC 6891).
  public static let opt = DNSType(rawValue: 41)
  /// Which types a name has (RFC 4034, §4; RFC 6762, §6.1).
  public static let nsec = DNSType(rawValue: 47)
  /// In a question: records of every type.
  public static let any = DNSType(rawValue: 255)

  /// The type's name, `TYPE` and the number where this module has none.
  public var description: String {
    Self.names[self] ?? "TYPE\(rawValue)"
  }

  /// Reads a type's name in any case, `TYPE` and a number, or the number alone; nil for anything
  /// else.
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

/// The class of a record or a question, without the top bit that Multicast DNS uses otherwise.
@frozen
public struct DNSClass: RawRepresentable, Hashable, Sendable {
  /// The number on the wire.
  public let rawValue: UInt16

  /// A class from its number.
  @inlinable
  public init(rawValue: UInt16) {
    self.rawValue = rawValue
  }

  /// The Internet; everything in Multicast DNS is of this class.
  public static let `in` = DNSClass(rawValue: 1)
  /// In a question: records of every class.
  public static let any = DNSClass(rawValue: 255)
}
