import DiscoveryMachines
import Essentials

/// A network interface of this host, as its kernel reports it.
struct SystemInterface: Hashable, Sendable {
  /// The kernel's number of it; another one after it went and came back.
  var index: InterfaceIndex
  /// Its name, such as `eth0`.
  var name: String
  /// What it is and whether it works.
  var flags: Flags
  /// The hardware address, six bytes on Ethernet and Wi-Fi; empty for interfaces without one.
  var hardwareAddress: [UInt8] = []
  /// The longest packet it carries, in bytes.
  var maxPacketByteCount = 1_500
  /// How often its carrier came: the cable was plugged in, the network joined.
  var carrierUpCount: UInt32 = 0
  /// Its addresses, in the order in which the kernel reported them.
  var addresses: [Address] = []

  /// An interface without addresses.
  init(index: InterfaceIndex, name: String, flags: Flags) {
    self.index = index
    self.name = name
    self.flags = flags
  }

  /// The kernel's interface flags (netdevice(7)), those that matter here.
  struct Flags: OptionSet, Hashable, Sendable {
    /// The kernel's bits.
    let rawValue: UInt32
    /// Flags with these bits.
    init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Switched on.
    static let up = Flags(rawValue: 0x1)
    /// Reaches this host only.
    static let loopback = Flags(rawValue: 0x8)
    /// A link to one other host.
    static let pointToPoint = Flags(rawValue: 0x10)
    /// Ready to carry packets: a cable is plugged in, a network was joined.
    static let running = Flags(rawValue: 0x40)
    /// Carries multicast.
    static let multicast = Flags(rawValue: 0x1000)
  }

  /// An address of an interface.
  struct Address: Hashable, Sendable {
    /// The host's own address.
    var address: InetAddress
    /// How many leading bits it shares with its neighbours: at most 32 or 128.
    var prefixBitCount: Int
    /// Whether packets may have it as their source: IPv6 addresses are probed first, and may be
    /// found to be another host's (RFC 4862, §5.4).
    var isUsable: Bool
    /// The protocol that set it (IFA_PROTO): a number that programs choose; 0 if unknown, as always
    /// before Linux 5.18.
    var origin: UInt8

    /// An address, by default a usable one of unknown origin.
    init(_ address: InetAddress, prefixBitCount: Int, isUsable: Bool = true, origin: UInt8 = 0) {
      self.address = address
      self.prefixBitCount = prefixBitCount
      self.isUsable = isUsable
      self.origin = origin
    }
  }

  /// Whether it is on and its link carries packets.
  var isWorking: Bool { flags.isSuperset(of: [.up, .running]) }

  /// Whether its link came up since it was like `earlier`, so that another network may be behind
  /// it.
  func hasRestarted(since earlier: SystemInterface) -> Bool {
    isWorking && (!earlier.isWorking || carrierUpCount != earlier.carrierUpCount)
  }

  /// Whether multicast DNS is spoken there: it is on, works, carries multicast, and has neighbours.
  var isSuitable: Bool {
    flags.isSuperset(of: [.up, .running, .multicast])
      && flags.isDisjoint(with: [.loopback, .pointToPoint])
  }

  /// What the machines have to know about it. It takes part over IPv4 and IPv6 where it has an
  /// address of that version that may be used.
  var forDiscovery: NetworkInterface {
    // The loopback interface has no route for the group of IPv6.
    let usable = addresses.filter {
      $0.isUsable && ($0.address.version == .v4 || !flags.contains(.loopback))
    }
    return NetworkInterface(
      index, versions: Set(usable.map(\.address.version)),
      addresses: usable.map { .init($0.address, prefixBitCount: $0.prefixBitCount) })
  }

  /// The address of one version from which it speaks: over IPv6 the one that every interface has.
  func usableAddress(_ version: IPVersion) -> InetAddress? {
    let own = forDiscovery.addresses.map(\.address).filter { $0.version == version }
    return (version == .v6 ? own.first(where: \.isLinkLocal) : nil) ?? own.first
  }
}
