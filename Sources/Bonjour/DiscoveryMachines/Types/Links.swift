public import Essentials

/// The index of a network interface in the operating system.
@frozen
public struct InterfaceIndex: RawRepresentable, Hashable, Comparable, Sendable {
  /// The index, at least 1.
  public let rawValue: UInt32

  /// Creates an index from its number.
  @inlinable
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Not an interface of the system: registrations and queries with it stay on this machine.
  public static let localOnly = InterfaceIndex(rawValue: .max)

  /// Whether `a` has the smaller number.
  @inlinable
  public static func < (a: InterfaceIndex, b: InterfaceIndex) -> Bool { a.rawValue < b.rawValue }
}

/// A link of Multicast DNS: one version of IP on one interface.
///
/// The versions are separate links, because a host that uses IPv6 only doesn't receive packets over
/// IPv4.
@frozen
public struct MulticastLink: Hashable, Sendable {
  /// The interface.
  public var interface: InterfaceIndex
  /// The version of IP.
  public var version: IPVersion

  /// Creates a link.
  @inlinable
  public init(_ interface: InterfaceIndex, _ version: IPVersion) {
    self.interface = interface
    self.version = version
  }
}

/// A network interface that Multicast DNS uses, and its addresses.
package struct NetworkInterface: Hashable, Sendable {
  /// An address with its prefix length.
  package struct Address: Hashable, Sendable {
    /// The address.
    package var address: InetAddress
    /// The prefix length of its subnet in bits.
    package var prefixBitCount: Int

    /// Creates an address with its prefix length.
    package init(_ address: InetAddress, prefixBitCount: Int) {
      self.address = address
      self.prefixBitCount = prefixBitCount
    }
  }

  /// The index of the interface.
  package var index: InterfaceIndex
  /// The versions of IP that Multicast DNS uses on it.
  package var versions: Set<IPVersion>
  /// The addresses that other hosts may use, of both versions.
  package var addresses: [Address]
  /// Whether unicast packets arrive reliably. They don't if another program shares the port and may
  /// receive them; then no unicast responses are requested (RFC 6762, §15.1).
  package var receivesUnicast: Bool

  /// Creates an interface.
  package init(
    _ index: InterfaceIndex, versions: Set<IPVersion>, addresses: [Address],
    receivesUnicast: Bool = true
  ) {
    self.index = index
    self.versions = versions
    self.addresses = addresses
    self.receivesUnicast = receivesUnicast
  }

  /// The links of the interface, IPv4 first.
  package var links: [MulticastLink] {
    IPVersion.allCases.filter(versions.contains).map { MulticastLink(index, $0) }
  }

  /// Whether a packet with this source address comes from the interface's own link: Multicast DNS
  /// ignores others (RFC 6762, §11).
  package func isOnLink(_ source: InetAddress) -> Bool {
    source.isLinkLocal && source.isHost(ofSubnetOf: Self.linkLocalBitCount)
      || addresses.contains {
        source.hasPrefix(of: $0.address, bitCount: $0.prefixBitCount)
          && source.isHost(ofSubnetOf: $0.prefixBitCount)
      }
  }

  /// Of 169.254.0.0/16; fe80::/10 has no broadcast addresses.
  private static let linkLocalBitCount = 16
}

extension InetAddress {
  /// Whether an address may be a host's in a subnet with a prefix of `prefixBitCount` bits: over
  /// IPv4 the first and the last one are broadcast addresses (RFC 1122, §3.2.1.3), unless there are
  /// only two (RFC 3021).
  fileprivate func isHost(ofSubnetOf prefixBitCount: Int) -> Bool {
    guard case .v4(let address) = self, prefixBitCount < 31 else { return true }
    let mask = UInt32.max >> UInt32(max(prefixBitCount, 0))
    return address.rawValue & mask != 0 && address.rawValue & mask != mask
  }
}

/// An address and a UDP port.
@frozen
public struct Endpoint: Hashable, Sendable {
  /// The address.
  public var address: InetAddress
  /// The port.
  public var port: UInt16

  /// Creates an endpoint.
  @inlinable
  public init(_ address: InetAddress, port: UInt16) {
    self.address = address
    self.port = port
  }
}
