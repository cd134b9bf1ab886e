/// The two versions of the Internet Protocol.
public enum IPVersion: Hashable, CaseIterable, Sendable {
  /// IPv4.
  case v4
  /// IPv6.
  case v6
}

/// An address of either version of the Internet Protocol.
public enum InetAddress: Hashable, Sendable, CustomStringConvertible {
  /// Of IPv4.
  case v4(Inet4Address)
  /// Of IPv6; link-local ones need an interface beside them.
  case v6(Inet6Address)

  /// Reads either form of text, without a scope; nil for anything else.
  public init?(text: some StringProtocol) {
    if let address = Inet4Address(text: text) {
      self = .v4(address)
    } else if let address = Inet6Address(text: text) {
      self = .v6(address)
    } else {
      return nil
    }
  }

  /// The address in four or sixteen bytes in the order of the network; nil where there are not so
  /// many.
  public init?(bytes: some Collection<UInt8>) {
    if let address = Inet4Address(bytes: bytes) {
      self = .v4(address)
    } else if let address = Inet6Address(bytes: bytes) {
      self = .v6(address)
    } else {
      return nil
    }
  }

  /// Which version it is of.
  public var version: IPVersion {
    switch self {
    case .v4: .v4
    case .v6: .v6
    }
  }

  /// The four or sixteen bytes as on the wire.
  public var bytes: [UInt8] {
    switch self {
    case .v4(let address): address.bytes
    case .v6(let address): address.bytes
    }
  }

  /// The text of RFC 5952 or four decimal numbers.
  public var description: String {
    switch self {
    case .v4(let address): address.description
    case .v6(let address): address.description
    }
  }

  /// Whether it can be used on one link only.
  public var isLinkLocal: Bool {
    switch self {
    case .v4(let address): address.isLinkLocal
    case .v6(let address): address.isLinkLocal
    }
  }

  /// Whether it names this host to itself.
  public var isLoopback: Bool {
    switch self {
    case .v4(let address): address.isLoopback
    case .v6(let address): address.isLoopback
    }
  }

  /// Whether it names a group.
  public var isMulticast: Bool {
    switch self {
    case .v4(let address): address.isMulticast
    case .v6(let address): address.isMulticast
    }
  }

  /// Whether both are of one version and the first `bitCount` bits are the same.
  public func hasPrefix(of other: InetAddress, bitCount: Int) -> Bool {
    switch (self, other) {
    case (.v4(let a), .v4(let b)): a.hasPrefix(of: b, bitCount: bitCount)
    case (.v6(let a), .v6(let b)): a.hasPrefix(of: b, bitCount: bitCount)
    case (.v4, .v6), (.v6, .v4): false
    }
  }
}
