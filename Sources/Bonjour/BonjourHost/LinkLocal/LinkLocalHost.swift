public import ARPWire
public import DiscoveryMachines
public import Essentials
import EventLoop

/// Gives an interface an IPv4 address without anybody's help, and keeps it as long as it lives
/// (RFC 3927).
///
/// It asks the link by ARP whether somebody has the address, sets it with its route, defends it, takes
/// another where it must, and removes it as soon as the interface gets an address from elsewhere.
/// That takes the capabilities `CAP_NET_RAW` and `CAP_NET_ADMIN`.
public final class LinkLocalHost: Sendable {
  let driver: LinkLocalDriver

  init(_ driver: LinkLocalDriver) { self.driver = driver }

  deinit { driver.onLoop { $0.stop {} } }
}

/// How an interface gets its address.
public struct LinkLocalConfiguration: Sendable {
  /// What to try first, in 169.254.1.0 up to 169.254.254.255; nil for what was had before or, for
  /// want of it, what belongs to the hardware address.
  public var firstAddress: IPv4Address?
  /// The folder where to store, by hardware addresses, what was had; nil to store nothing. Where
  /// that is not possible, nothing is stored.
  public var folder: String?

  /// Tries what was had before, if that is stored in this folder.
  public init(firstAddress: IPv4Address? = nil, folder: String? = nil) {
    self.firstAddress = firstAddress
    self.folder = folder
  }
}

/// What happens on the way to an address, and after.
public enum LinkLocalEvent: Hashable, Sendable {
  /// There is nothing to do for now.
  case waiting(LinkLocalObstacle)
  /// The link is asked whether somebody has this address.
  case probing(IPv4Address)
  /// Another host has the address that was asked for, or wants it too; another will be tried.
  case conflict(IPv4Address, with: MACAddress)
  /// There were too many conflicts: for so long nothing is tried.
  case pausing(TimeSpan)
  /// The interface has the address.
  case claimed(IPv4Address)
  /// Another host used the address, and was told that it is taken.
  case defended(IPv4Address, against: MACAddress)
  /// The interface has the address no longer.
  case released(IPv4Address, LinkLocalMachine.ReleaseReason)
  /// It cannot go on: this is the last event.
  case failed(LinkLocalError)
}

/// Why an interface gets no link-local address now.
public enum LinkLocalObstacle: Hashable, Sendable {
  /// The interface is down, unplugged or gone.
  case linkDown
  /// It has an address that was set by somebody else (RFC 3927, §1.9).
  case otherAddress(IPv4Address)
}

/// Why an interface cannot get a link-local address here.
public enum LinkLocalError: Error, Hashable, Sendable {
  /// A right that a program needs (capabilities(7)).
  public enum Capability: String, Hashable, Sendable {
    /// To hear and send ARP.
    case rawSockets = "CAP_NET_RAW"
    /// To set addresses and routes.
    case administration = "CAP_NET_ADMIN"
  }

  /// There is no such interface.
  case noInterface(String)
  /// The interface has no hardware address as Ethernet and Wi-Fi have it, so there is no ARP.
  case noHardwareAddress(String)
  /// Another program on this host does the same on this interface.
  case alreadyManaged(String)
  /// This program lacks a right.
  case notPermitted(Capability)
  /// The system refused something: its error number.
  case refused(Int32)
}

extension LinkLocalError: CustomStringConvertible {
  /// One sentence, without a full stop.
  public var description: String {
    switch self {
    case .noInterface(let name): "there is no interface \"\(name)\""
    case .noHardwareAddress(let name):
      "\(name) is no interface of Ethernet or Wi-Fi, so its addresses cannot be asked for by ARP"
    case .alreadyManaged(let name):
      "another program gives \(name) its link-local address already"
    case .notPermitted(let capability):
      "giving an interface an address takes the capabilities CAP_NET_RAW and CAP_NET_ADMIN, and "
        + "this program lacks \(capability.rawValue): run it as root, or give it both with setcap"
    case .refused(let number): "the system refused: \(SystemError(number: number).text)"
    }
  }
}
