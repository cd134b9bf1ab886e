import DiscoveryMachines
import Essentials
import Glibc
import NIOCore

/// struct sockaddr_in: family, port, address, padding. Numbers in the order of the network but for
/// the family.
private typealias System4 = (UInt16, UInt16, UInt32, UInt64)
/// struct sockaddr_in6: family, port, flow, the address in two halves, scope.
private typealias System6 = (UInt16, UInt16, UInt32, UInt64, UInt64, UInt32)

extension SocketAddress {
  /// The address as the system wants it; one that is valid on one link only, on that of this
  /// interface.
  init(_ endpoint: Endpoint, on interface: InterfaceIndex) {
    let port = endpoint.port.bigEndian
    switch endpoint.address {
    case .v4(let address):
      let system: System4 = (UInt16(AF_INET), port, address.rawValue.bigEndian, 0)
      self.init(Self.reinterpreted(system, as: sockaddr_in.self), host: "")
    case .v6(let address):
      let scope = address.isLinkLocal || address.isMulticast ? interface.rawValue : 0
      let system: System6 = (
        UInt16(AF_INET6), port, 0, address.high.bigEndian, address.low.bigEndian, scope
      )
      self.init(Self.reinterpreted(system, as: sockaddr_in6.self), host: "")
    }
  }

  /// The same bytes as a plain structure of C.
  private static func reinterpreted<Layout, Structure>(
    _ system: Layout, as type: Structure.Type
  ) -> Structure {
    precondition(
      MemoryLayout<Layout>.size == MemoryLayout<Structure>.size
        && MemoryLayout<Layout>.alignment >= MemoryLayout<Structure>.alignment,
      "the layout of \(type) is another")
    return unsafe withUnsafeBytes(of: system) { unsafe $0.load(as: type) }
  }
}

extension Endpoint {
  /// What the system says; nil for what is no address of the Internet Protocol.
  init?(_ address: SocketAddress) {
    switch address {
    case .v4(let system):
      let (port, address) = unsafe withUnsafeBytes(of: system.address) { bytes in
        unsafe (
          bytes.load(fromByteOffset: 2, as: UInt16.self),
          bytes.load(fromByteOffset: 4, as: UInt32.self)
        )
      }
      let own = IPv4Address(rawValue: UInt32(bigEndian: address))
      self.init(.v4(own), port: UInt16(bigEndian: port))
    case .v6(let system):
      let (port, high, low) = unsafe withUnsafeBytes(of: system.address) { bytes in
        unsafe (
          bytes.load(fromByteOffset: 2, as: UInt16.self),
          bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
          bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        )
      }
      let own = IPv6Address(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
      self.init(.v6(own), port: UInt16(bigEndian: port))
    case .unixDomainSocket: return nil
    }
  }
}
