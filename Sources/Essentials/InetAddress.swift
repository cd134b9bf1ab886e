/// The version of the Internet Protocol.
public enum IPVersion: Hashable, CaseIterable, Sendable {
  /// IPv4.
  case v4
  /// IPv6.
  case v6
}

/// An IPv4 or IPv6 address.
public enum InetAddress: Hashable, Sendable, CustomStringConvertible {
  /// An IPv4 address.
  case v4(Inet4Address)
  /// An IPv6 address. A link-local one is only meaningful together with an interface.
  case v6(Inet6Address)

  /// Parses an IPv4 or IPv6 address without a scope; nil for any other text.
  public init?(text: some StringProtocol) {
    if let address = Inet4Address(text: text) {
      self = .v4(address)
    } else if let address = Inet6Address(text: text) {
      self = .v6(address)
    } else {
      return nil
    }
  }

  /// Creates an address from four or sixteen bytes in network order; nil for any other number of
  /// bytes.
  public init?(bytes: some Collection<UInt8>) {
    if let address = Inet4Address(bytes: bytes) {
      self = .v4(address)
    } else if let address = Inet6Address(bytes: bytes) {
      self = .v6(address)
    } else {
      return nil
    }
  }

  /// The version of the address.
  public var version: IPVersion {
    switch self {
    case .v4: .v4
    case .v6: .v6
    }
  }

  /// The four or sixteen bytes in network order.
  public var bytes: [UInt8] {
    switch self {
    case .v4(let address): address.bytes
    case .v6(let address): address.bytes
    }
  }

  /// The text form of RFC 5952, or four decimal numbers.
  public var description: String {
    switch self {
    case .v4(let address): address.description
    case .v6(let address): address.description
    }
  }

  /// Whether it is a link-local address.
  public var isLinkLocal: Bool {
    switch self {
    case .v4(let address): address.isLinkLocal
    case .v6(let address): address.isLinkLocal
    }
  }

  /// Whether it is a loopback address.
  public var isLoopback: Bool {
    switch self {
    case .v4(let address): address.isLoopback
    case .v6(let address): address.isLoopback
    }
  }

  /// Whether it is a multicast address.
  public var isMulticast: Bool {
    switch self {
    case .v4(let address): address.isMulticast
    case .v6(let address): address.isMulticast
    }
  }

  /// Whether both have the same version and the first `bitCount` bits are equal.
  public func hasPrefix(of other: InetAddress, bitCount: Int) -> Bool {
    switch (self, other) {
    case (.v4(let a), .v4(let b)): a.hasPrefix(of: b, bitCount: bitCount)
    case (.v6(let a), .v6(let b)): a.hasPrefix(of: b, bitCount: bitCount)
    case (.v4, .v6), (.v6, .v4): false
    }
  }
}
