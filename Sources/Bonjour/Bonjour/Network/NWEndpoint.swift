internal import DNSWire

/// An endpoint of a connection.
public enum NWEndpoint: Hashable, Sendable, CustomDebugStringConvertible {
  /// A port of a host.
  case hostPort(host: Host, port: Port)
  /// A Bonjour service, on one interface or on any.
  case service(name: String, type: String, domain: String, interface: NWInterface?)
  /// A UNIX domain socket.
  case unix(path: String)
  /// A URL.
  case url(URL)
  /// An endpoint of any other kind, by its description.
  case opaque(String)

  /// The interface on which the endpoint is; nil for any.
  public var interface: NWInterface? {
    switch self {
    case .hostPort(let host, _): host.interface
    case .service(_, _, _, let interface): interface
    case .unix, .url, .opaque: nil
    }
  }

  /// The endpoint for logs: `lamp.local:80`, `Lamp._http._tcp.local.`.
  public var debugDescription: String {
    switch self {
    case .hostPort(.ipv6(let address), let port): "\(address).\(port)"
    case .hostPort(let host, let port): "\(host):\(port)"
    case .service(let name, let type, let domain, let interface):
      name + "." + Self.dotted(type) + Self.dotted(domain)
        + (interface.map { "@\($0.name)" } ?? "")
    case .unix(let path): path
    case .url(let url): url.absoluteString
    case .opaque(let text): text
    }
  }

  private static func dotted(_ text: String) -> String {
    text.isEmpty || text.hasSuffix(".") ? text : text + "."
  }

  /// The service's name in wire format; nil if the endpoint isn't a service.
  var serviceName: ServiceName? {
    guard case .service(let name, let type, let domain, _) = self else { return nil }
    return try? ServiceName(name: name, type: type, domain: domain)
  }

  init(_ name: ServiceName, on interface: NWInterface?) {
    self = .service(
      name: name.instanceText, type: name.type.description, domain: name.domainText,
      interface: interface)
  }
}

extension NWEndpoint {
  /// A host, by name or address.
  public enum Host: Hashable, Sendable, CustomDebugStringConvertible, ExpressibleByStringLiteral {
    /// A host name, to be resolved on one interface or on any.
    case name(String, NWInterface?)
    /// An IPv4 address.
    case ipv4(IPv4Address)
    /// An IPv6 address.
    case ipv6(IPv6Address)

    /// Parses an IP address. Any other text is a host name.
    public init(_ string: String) {
      if let address = IPv4Address(string) {
        self = .ipv4(address)
      } else if let address = IPv6Address(string) {
        self = .ipv6(address)
      } else {
        let parts = ScopedText(string)
        self = .name(parts?.address ?? string, parts?.interface)
      }
    }

    /// Parses an IP address. Any other text is a host name.
    public init(stringLiteral string: String) { self.init(string) }

    /// The interface on which the host is; nil for any.
    public var interface: NWInterface? {
      switch self {
      case .name(_, let interface): interface
      case .ipv4(let address): address.interface
      case .ipv6(let address): address.interface
      }
    }

    /// Name or address, with the interface after a `%`.
    public var debugDescription: String {
      switch self {
      case .name(let name, let interface): ScopedText.text(name, interface)
      case .ipv4(let address): address.debugDescription
      case .ipv6(let address): address.debugDescription
      }
    }
  }

  /// A port.
  public struct Port: RawRepresentable, Hashable, Sendable, CustomDebugStringConvertible,
    ExpressibleByIntegerLiteral
  {
    /// The number.
    public let rawValue: UInt16

    /// Creates a port from its number. Never nil, although Apple's declaration is failable.
    public init?(rawValue: UInt16) { self.rawValue = rawValue }

    /// Creates a port from its number.
    public init(integerLiteral number: UInt16) { rawValue = number }

    /// Creates a port from its number, or from a well-known name such as `http`; nil for any other
    /// text.
    public init?(_ service: String) {
      guard let number = UInt16(service) ?? Self.names[service] else { return nil }
      rawValue = number
    }

    /// Any port: 0.
    public static let any: Port = 0
    /// 22
    public static let ssh: Port = 22
    /// 25
    public static let smtp: Port = 25
    /// 80
    public static let http: Port = 80
    /// 110
    public static let pop: Port = 110
    /// 143
    public static let imap: Port = 143
    /// 443
    public static let https: Port = 443
    /// 993
    public static let imaps: Port = 993
    /// 1080
    public static let socks: Port = 1_080

    private static let names: [String: UInt16] = [
      "ssh": 22, "smtp": 25, "http": 80, "pop": 110, "imap": 143, "https": 443, "imaps": 993,
      "socks": 1_080,
    ]

    /// The number.
    public var debugDescription: String { "\(rawValue)" }
  }
}

extension NWEndpoint.Host: CustomStringConvertible {
  /// Name or address, with the interface after a `%`.
  public var description: String { debugDescription }
}

extension NWEndpoint.Port: CustomStringConvertible {
  /// The number.
  public var description: String { debugDescription }
}
