public import ARPWire
public import DiscoveryMachines
public import Essentials
import EventLoop

/// Configures an interface with an IPv4 link-local address, and keeps it until the host is closed
/// or released (RFC 3927).
///
/// It probes the address by ARP, sets it with its route, defends it, chooses another one after a
/// conflict, and removes it as soon as the interface gets another address, such as from DHCP. This
/// requires the capabilities `CAP_NET_RAW` and `CAP_NET_ADMIN`.
public final class LinkLocalHost: Sendable {
  let driver: LinkLocalDriver

  init(_ driver: LinkLocalDriver) { self.driver = driver }

  deinit { driver.onLoop { $0.stop {} } }
}

/// The configuration of a link-local host.
public struct LinkLocalConfiguration: Sendable {
  /// The address to try first, from 169.254.1.0 to 169.254.254.255. If nil, the stored one, or one
  /// that is derived from the hardware address.
  public var firstAddress: Inet4Address?
  /// The folder in which the last address is stored, by hardware address; nil to store nothing.
  /// Where that fails, it is tried again; see ``LinkLocalEvent/notStored(_:)``.
  public var folder: String?

  /// Creates a configuration. If a folder is given, the address stored in it is tried first.
  public init(firstAddress: Inet4Address? = nil, folder: String? = nil) {
    self.firstAddress = firstAddress
    self.folder = folder
  }
}

/// An event of a link-local host.
public enum LinkLocalEvent: Hashable, Sendable {
  /// Waiting for the obstacle to disappear.
  case waiting(LinkLocalObstacle)
  /// This address is being probed.
  case probing(Inet4Address)
  /// Another host has the probed address, or probes it, too. Another address will be tried.
  case conflict(Inet4Address, with: MACAddress)
  /// There were too many conflicts. Nothing is tried for this time.
  case pausing(TimeSpan)
  /// The interface has the address.
  case claimed(Inet4Address)
  /// Another host used the address, which was defended with an announcement.
  case defended(Inet4Address, against: MACAddress)
  /// The interface no longer has the address.
  case released(Inet4Address, LinkLocalMachine.ReleaseReason)
  /// The address could not be stored for the next run. It is tried again until it is stored.
  case notStored(Inet4Address)
  /// The host has stopped with an error. This is the last event.
  case failed(LinkLocalError)
}

/// The reason why an interface gets no link-local address at the moment.
public enum LinkLocalObstacle: Hashable, Sendable {
  /// The interface is down, unplugged or missing.
  case linkDown
  /// The interface has an address that was set by another program (RFC 3927, §1.9).
  case otherAddress(Inet4Address)
}
