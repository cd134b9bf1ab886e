public import Essentials

/// The number by which the operating system knows a network interface.
@frozen
public struct InterfaceIndex: RawRepresentable, Hashable, Comparable, Sendable {
  /// The number, 1 or more.
  public let rawValue: UInt32

  /// The interface of this number.
  @inlinable
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// No interface of the system: what is published or asked for here stays on this machine.
  public static let localOnly = InterfaceIndex(rawValue: .max)

  /// Whether `a` has the smaller number.
  @inlinable
  public static func < (a: InterfaceIndex, b: InterfaceIndex) -> Bool { a.rawValue < b.rawValue }
}

/// Where packets of Multicast DNS go and come from: one version of IP on one interface.
///
/// What was said over IPv4 was not heard by who listens on IPv6 only, so machines keep both apart.
@frozen
public struct Link: Hashable, Sendable {
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
    public var address: IPAddress
    /// How many leading bits all hosts of its subnet share.
    public var prefixBitCount: Int

    /// An address in its subnet.
    public init(_ address: IPAddress, prefixBitCount: Int) {
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
  /// Whether what is sent to this host alone arrives for certain. It doesn't where another program
  /// shares the port and may get it; then nobody is asked to answer so (RFC 6762, §15.1).
  public var hearsUnicast: Bool

  /// An interface with its addresses.
  public init(
    _ index: InterfaceIndex, versions: Set<IPVersion>, addresses: [Address],
    hearsUnicast: Bool = true
  ) {
    self.index = index
    self.versions = versions
    self.addresses = addresses
    self.hearsUnicast = hearsUnicast
  }

  /// The links it has, IPv4 first.
  public var links: [Link] {
    IPVersion.allCases.filter(versions.contains).map { Link(index, $0) }
  }

  /// Whether a packet from this address was sent on this interface's own link: one from elsewhere
  /// is none of Multicast DNS's business (RFC 6762, §11).
  public func isOnLink(_ source: IPAddress) -> Bool {
    source.isLinkLocal && source.isHost(ofSubnetOf: Self.linkLocalBitCount)
      || addresses.contains {
        source.hasPrefix(of: $0.address, bitCount: $0.prefixBitCount)
          && source.isHost(ofSubnetOf: $0.prefixBitCount)
      }
  }

  /// Of 169.254.0.0/16; fe80::/10 has no addresses that are nobody's.
  private static let linkLocalBitCount = 16
}

extension IPAddress {
  /// Whether an address may be a host's in a subnet with a prefix of so many bits: over IPv4 the first
  /// and the last one stand for all (RFC 1122, §3.2.1.3), unless there are only two (RFC 3021).
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
  public var address: IPAddress
  /// The port.
  public var port: UInt16

  /// An address and a port.
  @inlinable
  public init(_ address: IPAddress, port: UInt16) {
    self.address = address
    self.port = port
  }
}
