/// The type of a service, such as `_http._tcp` (RFC 6763, §7).
///
/// A registered name has at most 15 letters, digits and hyphens (RFC 6335, §5.1). Devices publish
/// others, too, so the name may be any label that a domain name can carry;
/// ``conformsToRFC6335`` tells them apart.
public struct ServiceType: Hashable, Sendable, CustomStringConvertible {
  /// The transport protocol; all but TCP use `_udp` (RFC 6763, §4.1.2).
  public enum Transport: Hashable, Sendable {
    /// TCP.
    case tcp
    /// UDP, and any other protocol.
    case udp

    /// `_tcp` or `_udp`
    public var label: String { self == .tcp ? "_tcp" : "_udp" }

    fileprivate init?(label: ArraySlice<UInt8>) {
      switch String(decoding: label, as: UTF8.self).lowercased() {
      case "_tcp": self = .tcp
      case "_udp": self = .udp
      default: return nil
      }
    }
  }

  /// The label of the service name, with its underscore, in its original case.
  public let label: DNSLabel
  /// The transport protocol.
  public let transport: Transport

  /// The service name, without underscore, in its original case: 1 to 62 bytes of any value.
  public var name: ArraySlice<UInt8> { label.bytes.dropFirst() }

  /// Creates a type from a service name, such as `http`, and its transport. The name must have 1 to
  /// 62 bytes.
  public init(
    name: some Collection<UInt8>, transport: Transport
  ) throws(DNSWireError) {
    guard !name.isEmpty else { throw .invalidServiceType }
    label = try DNSLabel([UInt8(ascii: "_")] + name)
    self.transport = transport
  }

  /// Creates a type from a service name, such as `http`, and its transport. The name must have 1 to
  /// 62 bytes in UTF-8.
  public init(name: some StringProtocol, transport: Transport) throws(DNSWireError) {
    try self.init(name: Array(name.utf8), transport: transport)
  }

  /// Parses `_http._tcp`, optionally with a dot at the end and with the escapes of a name.
  public init(text: some StringProtocol) throws(DNSWireError) {
    try self.init(textBytes: text.utf8)
  }

  /// Parses the bytes of `_http._tcp`, optionally with a dot at the end and with the escapes of a
  /// name.
  init(textBytes: some Sequence<UInt8>) throws(DNSWireError) {
    let name = try DNSName(textBytes: textBytes)
    guard let type = ServiceType(labelsOf: name), name.labelCount == 2 else {
      throw .invalidServiceType
    }
    self = type
  }

  /// Creates a type from the first two labels of `name`; nil if they aren't one.
  public init?(labelsOf name: DNSName) {
    var labels = name.labels
    guard let service = labels.next(), service.first == UInt8(ascii: "_"), service.count > 1,
      let transport = labels.next().flatMap(Transport.init(label:))
    else { return nil }
    label = DNSLabel(unchecked: Array(service))
    self.transport = transport
  }

  /// `_http._tcp`, with the escapes of a name, and `\,` for a comma, which would begin subtypes.
  public var description: String {
    let label = "\(label)".split(separator: ",", omittingEmptySubsequences: false)
    return label.joined(separator: "\\,") + "." + transport.label
  }

  /// The two labels as a name. Browse queries are for this name followed by the domain.
  public var relativeName: DNSName {
    let labels = [label.bytes, Array(transport.label.utf8)]
    return DNSName(uncheckedWireBytes: labels.flatMap { [UInt8($0.count)] + $0 } + [0])
  }

  /// `_http._tcp.local.`: the name whose PTR records list the services of this type in `domain`.
  public func name(in domain: DNSName) throws(DNSWireError) -> DNSName {
    try relativeName.appending(domain)
  }

  /// `_printer._sub._http._tcp.local.`: the name whose PTR records list the services of one subtype
  /// (RFC 6763, §7.1). By convention a subtype begins with an underscore.
  public func name(
    ofSubtype subtype: DNSLabel, in domain: DNSName
  ) throws(DNSWireError) -> DNSName {
    try name(in: domain).prepending("_sub".utf8).prepending(subtype.bytes)
  }

  /// Whether the name has 1 to 15 letters, digits and hyphens, at least one letter, and no hyphen at
  /// an end or next to another (RFC 6335, §5.1). Other names are carried all the same, but some
  /// clients refuse them.
  public var conformsToRFC6335: Bool {
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

extension ServiceType {
  /// Parses a type with the subtypes behind it, as Apple's interfaces take it:
  /// `_http._tcp,_printer`. A comma or a dot that belongs to a subtype has a backslash before it.
  public static func parse(
    _ text: some StringProtocol
  ) throws(DNSWireError) -> (type: ServiceType, subtypes: [DNSLabel]) {
    try parse(Array(text.utf8))
  }

  /// Parses the bytes of a type with the subtypes behind it, which need not be UTF-8.
  public static func parse(
    _ text: [UInt8]
  ) throws(DNSWireError) -> (type: ServiceType, subtypes: [DNSLabel]) {
    var parts: [[UInt8]] = [[]]
    var isEscaped = false
    for byte in text {
      if byte == UInt8(ascii: ","), !isEscaped {
        parts.append([])
      } else {
        parts[parts.count - 1].append(byte)
      }
      isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
    }
    var subtypes: [DNSLabel] = []
    for part in parts.dropFirst() { subtypes.append(try DNSLabel(textBytes: part)) }
    return (try ServiceType(textBytes: parts[0]), subtypes)
  }
}
