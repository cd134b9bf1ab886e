public import Essentials

extension Inet4Address {
  /// The multicast group of Multicast DNS, 224.0.0.251 (RFC 6762, §3).
  public static let multicastDNS = Inet4Address(224, 0, 0, 251)

  /// The name of its reverse mapping, `d.c.b.a.in-addr.arpa.` (RFC 1035, §3.5).
  public var reverseName: DNSName {
    let numbers = bytes.reversed().map { "\($0)." }.joined()
    return DNSName(stringLiteral: numbers + "in-addr.arpa.")
  }
}

extension Inet6Address {
  /// The multicast group of Multicast DNS, ff02::fb (RFC 6762, §3).
  public static let multicastDNS = Inet6Address(high: 0xFF02_0000_0000_0000, low: 0xFB)

  /// The name of its reverse mapping, with one label for each nibble below `ip6.arpa.` (RFC 3596,
  /// §2.5).
  public var reverseName: DNSName {
    let nibbles = Hexadecimal.string(bytes).reversed().map { "\($0)." }.joined()
    return DNSName(stringLiteral: nibbles + "ip6.arpa.")
  }
}

extension InetAddress {
  /// The multicast group of Multicast DNS for this version of IP (RFC 6762, §3).
  public static func multicastDNS(_ version: IPVersion) -> InetAddress {
    switch version {
    case .v4: .v4(.multicastDNS)
    case .v6: .v6(.multicastDNS)
    }
  }

  /// The name of its reverse mapping.
  public var reverseName: DNSName {
    switch self {
    case .v4(let address): address.reverseName
    case .v6(let address): address.reverseName
    }
  }
}
