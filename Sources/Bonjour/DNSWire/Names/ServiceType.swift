/// The type of a service, such as `_http._tcp` (RFC 6763, §7).
public struct ServiceType: Hashable, Sendable, CustomStringConvertible {
  /// The transport protocol; all but TCP use `_udp` (RFC 6763, §4.1.2).
  public enum Transport: Hashable, Sendable {
    /// TCP.
    case tcp
    /// UDP, and any other protocol.
    case udp
  }

  /// The registered service name, without underscore, in its original case.
  public let name: String
  /// The transport protocol.
  public let transport: Transport

  /// Creates a type from a service name, such as `http`, and its transport.
  ///
  /// The name must have 1 to 15 letters, digits and hyphens, at least one letter, and no hyphen at
  /// an end or next to another (RFC 6335, §5.1).
  public init(name: some StringProtocol, transport: Transport) throws(DNSWireError) {
    guard Self.isValid(Array(name.utf8)) else { throw .invalidServiceType }
    self.name = String(name)
    self.transport = transport
  }

  /// Parses `_http._tcp`, optionally with a dot at the end.
  public init(text: some StringProtocol) throws(DNSWireError) {
    let name = try DNSName(text: text)
    guard let type = ServiceType(labelsOf: name), name.labelCount == 2 else {
      throw .invalidServiceType
    }
    self = type
  }

  /// Creates a type from the first two labels of `name`; nil if they aren't one.
  public init?(labelsOf name: DNSName) {
    var labels = name.labels
    guard let service = labels.next(), let transport = labels.next(),
      service.first == UInt8(ascii: "_"), Self.isValid(service.dropFirst())
    else { return nil }
    self.name = String(decoding: service.dropFirst(), as: UTF8.self)
    switch String(decoding: transport, as: UTF8.self).lowercased() {
    case "_tcp": self.transport = .tcp
    case "_udp": self.transport = .udp
    default: return nil
    }
  }

  /// `_http._tcp`
  public var description: String { "_\(name).\(transport == .tcp ? "_tcp" : "_udp")" }

  /// The two labels as a name. Browse queries are for this name followed by the domain.
  public var relativeName: DNSName {
    DNSName(stringLiteral: description)
  }

  /// `_http._tcp.local.`: the name whose PTR records list the services of this type in `domain`.
  public func name(in domain: DNSName) throws(DNSWireError) -> DNSName {
    try relativeName.appending(domain)
  }

  /// `_printer._sub._http._tcp.local.`: the name whose PTR records list the services of one subtype
  /// (RFC 6763, §7.1). The subtype is a label of any bytes; by convention it begins with an
  /// underscore.
  public func name(
    ofSubtype subtype: some StringProtocol, in domain: DNSName
  ) throws(DNSWireError) -> DNSName {
    try name(in: domain).prepending("_sub".utf8).prepending(Array(subtype.utf8))
  }

  /// Whether the types are equal, ignoring case.
  public static func == (a: ServiceType, b: ServiceType) -> Bool {
    a.transport == b.transport && a.name.lowercased() == b.name.lowercased()
  }

  /// Hashes the type without regard to case.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(name.lowercased())
    hasher.combine(transport)
  }

  private static func isValid(_ name: some BidirectionalCollection<UInt8>) -> Bool {
    let hyphen = UInt8(ascii: "-")
    guard (1...15).contains(name.count), name.first != hyphen, name.last != hyphen else {
      return false
    }
    var hasLetter = false
    var previous: UInt8 = 0
    for byte in name {
      switch ASCIIFolding.lower(byte) {
      case UInt8(ascii: "a")...UInt8(ascii: "z"): hasLetter = true
      case UInt8(ascii: "0")...UInt8(ascii: "9"): break
      case hyphen where previous != hyphen: break
      default: return false
      }
      previous = byte
    }
    return hasLetter
  }
}
