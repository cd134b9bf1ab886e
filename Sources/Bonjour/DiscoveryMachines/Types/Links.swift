public import Essentials

/// The number by which the operating system knows a network interface.
@frozen
public struct InterfaceIndex: RawRepresentable, Hashable, Comparable, Sendable {
  /// The number, 1 or more.
  public let rawValue: UInt32

  /// The interface of this number.
  @inlinable
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// No interface of the system: registrations and queries with it stay on this machine.
  public static let localOnly = InterfaceIndex(rawValue: .max)

  /// Whether `a` has the smaller number.
  @inlinable
  public static func < (a: InterfaceIndex, b: InterfaceIndex) -> Bool { a.rawValue < b.rawValue }
}

/// A link of Multicast DNS: one version of IP on one interface.
///
/// A host that uses IPv6 only doesn't receive packets over IPv4, so machines keep both apart.
@frozen
public struct MulticastLink: Hashable, Sendable {
  /// The interface.
  public var interface: InterfaceIndex
  /// The version of IP.
  public var version: IPVersion

  /// One version of IP on one interface.
  @inlinable
  public init(_ interface: InterfaceIndex, _ version: IPVersion) {
    self.interface = interface
    self.version = version
  }
}

/// A network interface that Multicast DNS uses, and its addresses.
public struct NetworkInterface: Hashable, Sendable {
  /// An address with the length of its subnet's prefix.
  public struct Address: Hashable, Sendable {
    /// The address.
    public var address: InetAddress
    /// How many leading bits all hosts of its subnet share.
    public var prefixBitCount: Int

    /// An address in its subnet.
    public init(_ address: InetAddress, prefixBitCount: Int) {
      self.address = address
      self.prefixBitCount = prefixBitCount
    }
  }

  /// The interface's number.
  public var index: InterfaceIndex
  /// The versions of IP over which it takes part.
  public var versions: Set<IPVersion>
  /// The addresses that other hosts may use, of both versions.
  public var addresses: [Address]
  /// Whether unicast packets arrive reliably. They don't where another program shares the port and
  /// may receive them; then no unicast responses are requested (RFC 6762, §15.1).
  public var receivesUnicast: Bool

  /// An interface with its addresses.
  public init(
    _ index: InterfaceIndex, versions: Set<IPVersion>, addresses: [Address],
    receivesUnicast: Bool = true
  ) {
    self.index = index
    self.versions = versions
    self.addresses = addresses
    self.receivesUnicast = receivesUnicast
  }

  /// The links it has, IPv4 first.
  public var links: [MulticastLink] {
    IPVersion.allCases.filter(versions.contains).map { MulticastLink(index, $0) }
  }

  /// Whether a packet from this address was sent on this interface's own link: Multicast DNS
  /// ignores others (RFC 6762, §11).
  public func isOnLink(_ source: InetAddress) -> Bool {
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

  /// An address and a port.
  @inlinable
  public init(_ address: InetAddress, port: UInt16) {
    self.address = address
    self.port = port
  }
}
