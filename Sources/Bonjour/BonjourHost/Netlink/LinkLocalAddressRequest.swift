import DiscoveryMachines
import Essentials

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
      type: 20, flags: [.acknowledge, .create, .replace], head: head(interface),  // RTM_NEWADDR
      attributes: [
        NetlinkAttribute(2, address.bytes),  // IFA_LOCAL
        NetlinkAttribute(1, address.bytes),  // IFA_ADDRESS
        NetlinkAttribute(4, broadcast.bytes),  // IFA_BROADCAST
        NetlinkAttribute(9, metricBase + interface.rawValue),  // IFA_RT_PRIORITY
        NetlinkAttribute(11, [origin]),  // IFA_PROTO
      ])
  }

  /// Removes the address and its route.
  static func remove(_ address: Inet4Address, from interface: InterfaceIndex) -> NetlinkRequest {
    NetlinkRequest(
      type: 21, flags: .acknowledge, head: head(interface),  // RTM_DELADDR
      attributes: [NetlinkAttribute(2, address.bytes)])
  }

  /// struct ifaddrmsg: IPv4, no flags, scope of the link.
  private static func head(_ interface: InterfaceIndex) -> [UInt8] {
    var writer = ByteWriter()
    writer.append([2, prefixBitCount, 0, 253])
    writer.uint32(interface.rawValue)
    return writer.bytes
  }
}
