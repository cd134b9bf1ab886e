internal import Essentials

/// An IP address, of version 4 or 6.
public protocol IPAddress: Hashable, Sendable, CustomDebugStringConvertible {
  /// The bytes in network order.
  var rawValue: Data { get }
  /// The interface that the address is scoped to; nil for any.
  var interface: NWInterface? { get }
  /// Whether it is a loopback address.
  var isLoopback: Bool { get }
  /// Whether it is a link-local address.
  var isLinkLocal: Bool { get }
  /// Whether it is a multicast address.
  var isMulticast: Bool { get }

  /// Creates an address from its bytes; nil for the wrong number of bytes.
  init?(_ rawValue: Data, _ interface: NWInterface?)
  /// Parses an address; nil if the text isn't one.
  init?(_ string: String)
}

/// An IPv4 address.
public struct IPv4Address: IPAddress {
  let value: Inet4Address
  /// The interface that the address is scoped to; nil for any.
  public let interface: NWInterface?

  init(_ value: Inet4Address, _ interface: NWInterface? = nil) {
    self.value = value
    self.interface = interface
  }

  /// Creates an address from four bytes; nil for any other number of bytes.
  public init?(_ rawValue: Data, _ interface: NWInterface? = nil) {
    guard let value = Inet4Address(bytes: rawValue) else { return nil }
    self.init(value, interface)
  }

  /// Parses four decimal numbers, optionally followed by `%` and an interface.
  public init?(_ string: String) {
    let parts = ScopedText(string)
    guard let parts, let value = Inet4Address(text: parts.address) else { return nil }
    self.init(value, parts.interface)
  }

  /// The four bytes in network order.
  public var rawValue: Data { Data(value.bytes) }
  /// Whether it is a loopback address: 127.0.0.0/8.
  public var isLoopback: Bool { value.isLoopback }
  /// Whether it is a link-local address: 169.254.0.0/16.
  public var isLinkLocal: Bool { value.isLinkLocal }
  /// Whether it is a multicast address: 224.0.0.0/4.
  public var isMulticast: Bool { value.isMulticast }
  /// Four decimal numbers, followed by `%` and the interface if there is one.
  public var debugDescription: String { ScopedText.text("\(value)", interface) }

  /// 0.0.0.0
  public static let any = IPv4Address(.init(0, 0, 0, 0))
  /// 255.255.255.255
  public static let broadcast = IPv4Address(.init(255, 255, 255, 255))
  /// 127.0.0.1
  public static let loopback = IPv4Address(.init(127, 0, 0, 1))
  /// 224.0.0.1
  public static let allHostsGroup = IPv4Address(.init(224, 0, 0, 1))
  /// 224.0.0.2
  public static let allRoutersGroup = IPv4Address(.init(224, 0, 0, 2))
  /// 224.0.0.22
  public static let allReportsGroup = IPv4Address(.init(224, 0, 0, 22))
  /// 224.0.0.251
  public static let mdnsGroup = IPv4Address(.init(224, 0, 0, 251))
}

/// An IPv6 address.
public struct IPv6Address: IPAddress {
  let value: Inet6Address
  /// The interface that the address is scoped to; nil for any.
  public let interface: NWInterface?

  init(_ value: Inet6Address, _ interface: NWInterface? = nil) {
    self.value = value
    self.interface = interface
  }

  /// Creates an address from sixteen bytes; nil for any other number of bytes.
  public init?(_ rawValue: Data, _ interface: NWInterface? = nil) {
    guard let value = Inet6Address(bytes: rawValue) else { return nil }
    self.init(value, interface)
  }

  /// Parses the text form of RFC 4291, optionally followed by `%` and an interface.
  public init?(_ string: String) {
    let parts = ScopedText(string)
    guard let parts, let value = Inet6Address(text: parts.address) else { return nil }
    self.init(value, parts.interface)
  }

  /// The scope of a multicast address (RFC 4291, §2.7).
  public enum Scope: UInt8, Sendable {
    /// The interface.
    case nodeLocal = 1
    /// The link.
    case linkLocal = 2
    /// The site.
    case siteLocal = 5
    /// The organisation.
    case organizationLocal = 8
    /// Global.
    case global = 14
  }

  /// The sixteen bytes in network order.
  public var rawValue: Data { Data(value.bytes) }
  /// Whether it is `::`.
  public var isAny: Bool { value == .any }
  /// Whether it is the loopback address: `::1`.
  public var isLoopback: Bool { value.isLoopback }
  /// Whether it is a link-local address: `fe80::/10`.
  public var isLinkLocal: Bool { value.isLinkLocal }
  /// Whether it is a multicast address: `ff00::/8`.
  public var isMulticast: Bool { value.isMulticast }
  /// Whether it is a unique local address: `fc00::/7`.
  public var isUniqueLocal: Bool { value.high >> 57 == 0x7E }
  /// Whether it is an IPv4-mapped address: `::ffff:0:0/96`.
  public var isIPv4Mapped: Bool { value.high == 0 && value.low >> 32 == 0xFFFF }
  /// Whether it is an IPv4-compatible address, which is deprecated: `::/96`.
  public var isIPv4Compatabile: Bool { value.high == 0 && value.low >> 32 == 0 && value.low > 1 }
  /// Whether it is a 6to4 address: `2002::/16`.
  public var is6to4: Bool { value.high >> 48 == 0x2002 }
  /// The mapped or compatible IPv4 address; nil if it is neither.
  public var asIPv4: IPv4Address? {
    guard isIPv4Mapped || isIPv4Compatabile else { return nil }
    return IPv4Address(.init(rawValue: UInt32(truncatingIfNeeded: value.low)), interface)
  }
  /// The scope of a multicast address; nil for other addresses and unknown scopes.
  public var multicastScope: Scope? {
    isMulticast ? Scope(rawValue: UInt8(value.high >> 48 & 0xF)) : nil
  }
  /// The text form of RFC 5952, followed by `%` and the interface if there is one.
  public var debugDescription: String { ScopedText.text("\(value)", interface) }

  /// `::`
  public static let any = IPv6Address(.any)
  /// `::`, as IPv6 has no broadcast.
  public static let broadcast = IPv6Address(.any)
  /// `::1`
  public static let loopback = IPv6Address(.init(high: 0, low: 1))
  /// `ff01::1`
  public static let nodeLocalNodes = IPv6Address(.init(high: 0xFF01 << 48, low: 1))
  /// `ff02::1`
  public static let linkLocalNodes = IPv6Address(.init(high: 0xFF02 << 48, low: 1))
  /// `ff02::2`
  public static let linkLocalRouters = IPv6Address(.init(high: 0xFF02 << 48, low: 2))
}

/// An address with an interface after a `%`.
struct ScopedText {
  let address: String
  let interface: NWInterface?

  /// Nil where the interface does not exist.
  init?(_ text: String) {
    guard let percent = text.firstIndex(of: "%") else {
      address = text
      interface = nil
      return
    }
    let name = String(text[text.index(after: percent)...])
    guard let interface = NWInterface(name: name) else { return nil }
    address = String(text[..<percent])
    self.interface = interface
  }

  static func text(_ address: String, _ interface: NWInterface?) -> String {
    address + (interface.map { "%\($0.name)" } ?? "")
  }
}

extension InetAddress {
  /// The address as an endpoint's host has it: link-local ones with their interface.
  func host(on interface: NWInterface?) -> NWEndpoint.Host {
    let interface = isLinkLocal ? interface : nil
    return switch self {
    case .v4(let address): .ipv4(IPv4Address(address, interface))
    case .v6(let address): .ipv6(IPv6Address(address, interface))
    }
  }
}
