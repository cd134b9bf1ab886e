public import ARPWire
public import DiscoveryMachines
public import Essentials
import EventLoop

/// Configures an interface with an IPv4 link-local address, and keeps it for its own lifetime (RFC
/// 3927).
///
/// It probes the address by ARP, sets it with its route, defends it, chooses another one after a
/// conflict, and removes it as soon as the interface gets an address from elsewhere. That takes the
/// capabilities `CAP_NET_RAW` and `CAP_NET_ADMIN`.
public final class LinkLocalHost: Sendable {
  let driver: LinkLocalDriver

  init(_ driver: LinkLocalDriver) { self.driver = driver }

  deinit { driver.onLoop { $0.stop {} } }
}

/// How an interface gets its address.
public struct LinkLocalConfiguration: Sendable {
  /// The address to try first, in 169.254.1.0 up to 169.254.254.255; nil for the stored one or,
  /// without any, one that is derived from the hardware address.
  public var firstAddress: Inet4Address?
  /// The folder where to store the last address, by hardware address; nil to store nothing. Where
  /// that is not possible, nothing is stored.
  public var folder: String?

  /// Makes a configuration that tries the address stored in this folder, if any.
  public init(firstAddress: Inet4Address? = nil, folder: String? = nil) {
    self.firstAddress = firstAddress
    self.folder = folder
  }
}

/// An event of configuring an address, or afterwards.
public enum LinkLocalEvent: Hashable, Sendable {
  /// There is nothing to do for now.
  case waiting(LinkLocalObstacle)
  /// This address is being probed.
  case probing(Inet4Address)
  /// Another host has the address that is probed, or probes it, too; another one will be tried.
  case conflict(Inet4Address, with: MACAddress)
  /// There were too many conflicts: for so long nothing is tried.
  case pausing(TimeSpan)
  /// The interface has the address.
  case claimed(Inet4Address)
  /// Another host used the address, which was defended by an announcement.
  case defended(Inet4Address, against: MACAddress)
  /// The interface has the address no longer.
  case released(Inet4Address, LinkLocalMachine.ReleaseReason)
  /// It cannot go on: this is the last event.
  case failed(LinkLocalError)
}

/// Why an interface gets no link-local address now.
public enum LinkLocalObstacle: Hashable, Sendable {
  /// The interface is down, unplugged or gone.
  case linkDown
  /// The interface has an address that another program set (RFC 3927, §1.9).
  case otherAddress(Inet4Address)
}
