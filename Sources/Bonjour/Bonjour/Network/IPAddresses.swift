internal import Essentials

/// An address of the Internet Protocol.
public protocol IPAddress: Hashable, Sendable, CustomDebugStringConvertible {
  /// The bytes in the order of the network.
  var rawValue: Data { get }
  /// The interface on which the address is meant; nil for any.
  var interface: NWInterface? { get }
  /// Whether the host means itself by it.
  var isLoopback: Bool { get }
  /// Whether it is valid on one link only.
  var isLinkLocal: Bool { get }
  /// Whether it is that of a group.
  var isMulticast: Bool { get }

  /// The address of these bytes; nil where there are too few or too many.
  init?(_ rawValue: Data, _ interface: NWInterface?)
  /// The address written so; nil where the text is no address.
  init?(_ string: String)
}

/// An address of IPv4.
public struct IPv4Address: IPAddress {
  let value: Inet4Address
  /// The interface on which the address is meant; nil for any.
  public let interface: NWInterface?

  init(_ value: Inet4Address, _ interface: NWInterface? = nil) {
    self.value = value
    self.interface = interface
  }

  /// The address of four bytes; nil for any other number.
  public init?(_ rawValue: Data, _ interface: NWInterface? = nil) {
    guard let value = Inet4Address(bytes: rawValue) else { return nil }
    self.init(value, interface)
  }

  /// The address written as four numbers, with an interface after a `%`.
  public init?(_ string: String) {
    let parts = ScopedText(string)
    guard let parts, let value = Inet4Address(text: parts.address) else { return nil }
    self.init(value, parts.interface)
  }

  /// The four bytes in the order of the network.
  public var rawValue: Data { Data(value.bytes) }
  /// Whether the host means itself by it: 127.0.0.0/8.
  public var isLoopback: Bool { value.isLoopback }
  /// Whether it is valid on one link only: 169.254.0.0/16.
  public var isLinkLocal: Bool { value.isLinkLocal }
  /// Whether it is that of a group: 224.0.0.0/4.
  public var isMulticast: Bool { value.isMulticast }
  /// Four numbers, with the interface after a `%`.
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

/// An address of IPv6.
public struct IPv6Address: IPAddress {
  let value: Inet6Address
  /// The interface on which the address is meant; nil for any.
  public let interface: NWInterface?

  init(_ value: Inet6Address, _ interface: NWInterface? = nil) {
    self.value = value
    self.interface = interface
  }

  /// The address of sixteen bytes; nil for any other number.
  public init?(_ rawValue: Data, _ interface: NWInterface? = nil) {
    guard let value = Inet6Address(bytes: rawValue) else { return nil }
    self.init(value, interface)
  }

  /// The address written as RFC 4291 has it, with an interface after a `%`.
  public init?(_ string: String) {
    let parts = ScopedText(string)
    guard let parts, let value = Inet6Address(text: parts.address) else { return nil }
    self.init(value, parts.interface)
  }

  /// How far the packets to a group go (RFC 4291, §2.7).
  public enum Scope: UInt8, Sendable {
    /// Not beyond the interface.
    case nodeLocal = 1
    /// Not beyond the link.
    case linkLocal = 2
    /// Not beyond the site.
    case siteLocal = 5
    /// Not beyond the organisation.
    case organizationLocal = 8
    /// Anywhere.
    case global = 14
  }

  /// The sixteen bytes in the order of the network.
  public var rawValue: Data { Data(value.bytes) }
  /// Whether it is `::`.
  public var isAny: Bool { value == .any }
  /// Whether the host means itself by it: `::1`.
  public var isLoopback: Bool { value.isLoopback }
  /// Whether it is valid on one link only: `fe80::/10`.
  public var isLinkLocal: Bool { value.isLinkLocal }
  /// Whether it is that of a group: `ff00::/8`.
  public var isMulticast: Bool { value.isMulticast }
  /// Whether it is that of one site only: `fc00::/7`.
  public var isUniqueLocal: Bool { value.high >> 57 == 0x7E }
  /// Whether it is an IPv4-mapped address: `::ffff:0:0/96`.
  public var isIPv4Mapped: Bool { value.high == 0 && value.low >> 32 == 0xFFFF }
  /// Whether it is an IPv4 address with zeros before: `::/96`, as was once planned.
  public var isIPv4Compatabile: Bool { value.high == 0 && value.low >> 32 == 0 && value.low > 1 }
  /// Whether it belongs to a 6to4 network: `2002::/16`.
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
  /// The text of RFC 5952, with the interface after a `%`.
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
