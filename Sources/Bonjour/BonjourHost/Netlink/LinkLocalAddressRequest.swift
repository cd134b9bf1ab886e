import CNetlink
import DiscoveryMachines
import Essentials
import Glibc

/// Requests of rtnetlink(7) that set and remove an IPv4 link-local address.
enum LinkLocalAddressRequest {
  /// Marks our addresses (IFA_PROTO), so that one that outlived its program can be removed. Any
  /// number that no other program uses would do.
  static let origin: UInt8 = 169

  private static let prefixBitCount: UInt8 = 16
  private static let broadcast = Inet4Address(169, 254, 255, 255)
  /// Among several routes to 169.254.0.0/16 the one with the smallest metric is used. Routes that
  /// were set by hand or for a routable address precede these, and among ours the first interface's
  /// comes first (RFC 3927, §3.2).
  private static let metricBase: UInt32 = 2_000

  /// Sets the address, and with it the route to 169.254.0.0/16 with link scope.
  static func set(_ address: Inet4Address, on interface: InterfaceIndex) -> NetlinkRequest {
    NetlinkRequest(
      type: UInt16(RTM_NEWADDR), flags: [.acknowledge, .create, .replace], head: head(interface),
      attributes: [
        NetlinkAttribute(UInt16(IFA_LOCAL), address.bytes),
        NetlinkAttribute(UInt16(IFA_ADDRESS), address.bytes),
        NetlinkAttribute(UInt16(IFA_BROADCAST), broadcast.bytes),
        NetlinkAttribute(UInt16(IFA_RT_PRIORITY), metricBase + interface.rawValue),
        NetlinkAttribute(UInt16(IFA_PROTO), [origin]),
      ])
  }

  /// Removes the address and its route.
  static func remove(_ address: Inet4Address, from interface: InterfaceIndex) -> NetlinkRequest {
    NetlinkRequest(
      type: UInt16(RTM_DELADDR), flags: .acknowledge, head: head(interface),
      attributes: [NetlinkAttribute(UInt16(IFA_LOCAL), address.bytes)])
  }

  /// struct ifaddrmsg: IPv4, no flags, scope of the link.
  private static func head(_ interface: InterfaceIndex) -> [UInt8] {
    var writer = ByteWriter()
    writer.append([UInt8(AF_INET), prefixBitCount, 0, UInt8(RT_SCOPE_LINK.rawValue)])
    writer.uint32(interface.rawValue)
    return writer.bytes
  }
}
