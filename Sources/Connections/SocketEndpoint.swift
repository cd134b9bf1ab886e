package import Essentials
internal import EventLoop

/// An IP address and a TCP port.
package struct SocketEndpoint: Hashable, Sendable {
  /// The address.
  package var address: InetAddress
  /// The port.
  package var port: UInt16
  /// The index of the interface to which a link-local address is scoped; 0 for any.
  package var scope: UInt32

  /// Creates an endpoint.
  package init(_ address: InetAddress, port: UInt16, scope: UInt32 = 0) {
    self.address = address
    self.port = port
    self.scope = address.isLinkLocal && address.version == .v6 ? scope : 0
  }

  /// The endpoint of an IPv4 or IPv6 address; nil for any other.
  init?(_ system: SocketAddress) {
    guard let address = system.internetAddress, let port = system.port else { return nil }
    self.init(address, port: port, scope: system.scope)
  }

  /// The endpoint in the system's form.
  var systemAddress: SocketAddress { SocketAddress(address, port: port, scope: scope) }

  /// The endpoint as a `struct sockaddr_in` or `struct sockaddr_in6`.
  package var systemBytes: [UInt8] { systemAddress.bytes }
}
