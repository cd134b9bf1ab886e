public import DNSWire
public import Essentials

/// One of the host's network interfaces, by the index that the system gave it.
public struct InterfaceID: RawRepresentable, Hashable, Comparable, Sendable {
  /// The system's index, from 1.
  public let rawValue: UInt32

  /// The interface with that index.
  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// Whether `a` has the smaller index.
  public static func < (a: InterfaceID, b: InterfaceID) -> Bool { a.rawValue < b.rawValue }
}

/// An address that an interface has, and how much of it names the link.
public struct InterfaceAddress: Hashable, Sendable {
  /// The address.
  public var address: IPAddress
  /// How many bits all hosts of the link have in common.
  public var prefixLength: Int

  /// An address and the length of its prefix.
  public init(_ address: IPAddress, prefixLength: Int) {
    self.address = address
    self.prefixLength = prefixLength
  }
}

/// An interface that takes part: it is up, can multicast and has an address.
public struct NetworkInterface: Hashable, Sendable {
  /// Which one.
  public var id: InterfaceID
  /// The system's name for it: `eth0`.
  public var name: String
  /// The addresses that are valid on it.
  public var addresses: [InterfaceAddress]
  /// The largest UDP payload that is not cut into fragments.
  public var payloadByteCountMax: Int

  /// An interface with these addresses; the size is that of Ethernet unless said otherwise.
  public init(
    id: InterfaceID, name: String, addresses: [InterfaceAddress],
    payloadByteCountMax: Int = DNSMessageEncoder.Limits.unfragmentedByteCount
  ) {
    self.id = id
    self.name = name
    self.addresses = addresses
    self.payloadByteCountMax = payloadByteCountMax
  }

  /// The versions of IP that it has addresses of: on each of them it multicasts.
  public var versions: [IPVersion] {
    IPVersion.allCases.filter { version in
      addresses.contains { $0.address.version == version }
    }
  }

  /// Whether the address is one of its own.
  public func isOwn(_ address: IPAddress) -> Bool {
    addresses.contains { $0.address == address }
  }

  /// Whether a host with this address is on the same link, as far as prefixes tell (RFC 6762, §11).
  public func isOnLink(_ address: IPAddress) -> Bool {
    if case .v6(let address) = address, address.isLinkLocal { return true }
    return addresses.contains { own in
      own.address.hasPrefix(of: address, bitCount: own.prefixLength)
    }
  }
}
