import Essentials
import Glibc

/// Opens sockets of netlink(7).
package enum Netlink {
  /// The groups of rtnetlink(7) whose messages a socket receives.
  package struct RouteGroups: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Interfaces (RTMGRP_LINK).
    package static let interfaces = RouteGroups(rawValue: 0x1)
    /// IPv4 and IPv6 addresses (RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR).
    package static let addresses = RouteGroups(rawValue: 0x10 | 0x100)
    /// IPv4 and IPv6 routes (RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_ROUTE).
    package static let routes = RouteGroups(rawValue: 0x40 | 0x400)
  }

  /// Opens a non-blocking socket of rtnetlink(7) that receives the messages of groups.
  package static func openRoute(_ groups: RouteGroups) throws(SystemError) -> Int32 {
    // NETLINK_ROUTE
    try open(0, groups: groups.rawValue)
  }

  /// Opens a non-blocking socket of a protocol, such as `NETLINK_SOCK_DIAG`.
  package static func open(
    _ protocolNumber: Int32, groups: UInt32 = 0
  ) throws(SystemError) -> Int32 {
    let type = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(AF_NETLINK, type, protocolNumber)
    guard descriptor >= 0 else { throw .current }
    guard SocketAddress(netlinkGroups: groups).with({ unsafe bind(descriptor, $0, $1) }) == 0
    else {
      let error = SystemError.current
      close(descriptor)
      throw error
    }
    return descriptor
  }
}
