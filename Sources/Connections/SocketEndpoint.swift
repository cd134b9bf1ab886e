package import Essentials
internal import Glibc

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

  /// The endpoint as a `struct sockaddr_in` or `struct sockaddr_in6`.
  package var systemBytes: [UInt8] {
    var bytes = ByteWriter()
    switch address {
    case .v4(let address):
      // Family, port, address, padding.
      bytes.uint16(UInt16(AF_INET))
      bytes.bigEndian(UInt64(port), count: 2)
      bytes.append(address.bytes)
      bytes.append([UInt8](repeating: 0, count: 8))
    case .v6(let address):
      // Family, port, flow, address, scope.
      bytes.uint16(UInt16(AF_INET6))
      bytes.bigEndian(UInt64(port), count: 2)
      bytes.uint32(0)
      bytes.append(address.bytes)
      bytes.uint32(scope)
    }
    return bytes.bytes
  }

  /// Decodes a `struct sockaddr_in` or `struct sockaddr_in6`; nil for any other bytes.
  package init?(systemBytes: [UInt8]) {
    var reader = ByteReader(systemBytes)
    do throws(Truncated) {
      let family = Int32(try reader.uint16())
      let port = UInt16(truncatingIfNeeded: try reader.bigEndian(2))
      switch family {
      case AF_INET:
        guard let address = Inet4Address(bytes: try reader.slice(4)) else { return nil }
        self.init(.v4(address), port: port)
      case AF_INET6:
        _ = try reader.slice(4)
        guard let address = Inet6Address(bytes: try reader.slice(16)) else { return nil }
        self.init(.v6(address), port: port, scope: try reader.uint32())
      default: return nil
      }
    } catch { return nil }
  }

  /// The endpoint of a socket, from `getsockname` or `getpeername`.
  init?(
    of descriptor: Int32,
    _ ask: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) {
    var bytes = [UInt8](repeating: 0, count: MemoryLayout<sockaddr_in6>.size)
    var length = socklen_t(bytes.count)
    let result = bytes.withUnsafeMutableBytes { bytes in
      bytes.baseAddress.map { ask(descriptor, $0.assumingMemoryBound(to: sockaddr.self), &length) }
    }
    guard result == 0 else { return nil }
    self.init(systemBytes: Array(bytes.prefix(Int(length))))
  }

  /// Hands the address to a function of the system such as `bind`.
  func with(_ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    systemBytes.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return -1 }
      return call(start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
  }
}
