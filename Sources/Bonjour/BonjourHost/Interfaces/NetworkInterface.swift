public import Essentials

/// A network interface of this host, as its kernel tells it.
public struct NetworkInterface: Hashable, Sendable {
  /// The kernel's number of it, from 1 on; another one after it went and came back.
  public var index: UInt32
  /// What people call it: `eth0`.
  public var name: String
  /// What it is and whether it works.
  public var flags: Flags
  /// The hardware address, six bytes on Ethernet and Wi-Fi; empty where there is none.
  public var hardwareAddress: [UInt8] = []
  /// The longest packet it carries, in bytes.
  public var maxPacketByteCount = 1_500
  /// Its addresses, in the order in which the kernel told them.
  public var addresses: [Address] = []

  /// An interface without addresses.
  public init(index: UInt32, name: String, flags: Flags) {
    self.index = index
    self.name = name
    self.flags = flags
  }

  /// The kernel's interface flags (netdevice(7)), those that matter here.
  public struct Flags: OptionSet, Hashable, Sendable {
    /// The kernel's bits.
    public let rawValue: UInt32
    /// Flags with these bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Switched on.
    public static let up = Flags(rawValue: 0x1)
    /// Reaches this host only.
    public static let loopback = Flags(rawValue: 0x8)
    /// A link to one other host.
    public static let pointToPoint = Flags(rawValue: 0x10)
    /// Ready to carry packets: a cable is plugged in, a network was joined.
    public static let running = Flags(rawValue: 0x40)
    /// Carries multicast.
    public static let multicast = Flags(rawValue: 0x1000)
  }

  /// An address of an interface.
  public struct Address: Hashable, Sendable {
    /// The host's own address.
    public var address: IPAddress
    /// How many leading bits it shares with its neighbours: at most 32 or 128.
    public var prefixLength: Int
    /// Whether packets may have it for their source: IPv6 addresses are looked for first, and may
    /// be found to be another host's (RFC 4862, §5.4).
    public var isUsable: Bool

    /// An address that is usable unless said otherwise.
    public init(_ address: IPAddress, prefixLength: Int, isUsable: Bool = true) {
      self.address = address
      self.prefixLength = prefixLength
      self.isUsable = isUsable
    }
  }

  /// Whether multicast DNS is spoken there: it is on, works, carries multicast, and has neighbours.
  public var isSuitable: Bool {
    flags.isSuperset(of: [.up, .running, .multicast])
      && flags.isDisjoint(with: [.loopback, .pointToPoint])
  }

  /// Its addresses of one version that may be used.
  public func usableAddresses(_ version: IPVersion) -> [Address] {
    addresses.filter { $0.isUsable && $0.address.version == version }
  }
}
