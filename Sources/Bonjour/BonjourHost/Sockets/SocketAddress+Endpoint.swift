import DiscoveryMachines
import Essentials
import Glibc
import NIOCore

extension SocketAddress {
  /// The address as the system wants it; one that is valid on one link only, on that of this
  /// interface.
  init(_ endpoint: Endpoint, on interface: InterfaceIndex) {
    var bytes = ByteWriter()
    switch endpoint.address {
    case .v4(let address):
      // struct sockaddr_in: family, port, address, padding.
      bytes.uint16(UInt16(AF_INET))
      bytes.bigEndian(UInt64(endpoint.port), count: 2)
      bytes.append(address.bytes)
      bytes.append([UInt8](repeating: 0, count: 8))
      self.init(bytes.load(as: sockaddr_in.self), host: "")
    case .v6(let address):
      // struct sockaddr_in6: family, port, flow, address, scope.
      bytes.uint16(UInt16(AF_INET6))
      bytes.bigEndian(UInt64(endpoint.port), count: 2)
      bytes.uint32(0)
      bytes.append(address.bytes)
      bytes.uint32(address.isLinkLocal || address.isMulticast ? interface.rawValue : 0)
      self.init(bytes.load(as: sockaddr_in6.self), host: "")
    }
  }
}

extension ByteWriter {
  /// What was written as a plain structure of C of the same size.
  fileprivate func load<Structure>(as type: Structure.Type) -> Structure {
    precondition(count == MemoryLayout<Structure>.size, "the layout of \(type) is another")
    // An array's storage is aligned for any of them.
    return unsafe bytes.withUnsafeBytes { unsafe $0.load(as: type) }
  }
}

extension Endpoint {
  /// What the system says; nil for what is no address of the Internet Protocol.
  init?(_ address: SocketAddress) {
    switch address {
    case .v4(let system): self.init(system: system.address, skipping: 0, byteCount: 4)
    case .v6(let system): self.init(system: system.address, skipping: 4, byteCount: 16)
    case .unixDomainSocket: return nil
    }
  }

  /// Reads the port and, so many bytes after it, the address out of a structure of C.
  private init?<Structure>(
    system: Structure, skipping skippedByteCount: Int, byteCount: Int
  ) {
    let bytes = unsafe withUnsafeBytes(of: system) { unsafe Array($0) }
    var reader = ByteReader(bytes)
    do throws(Truncated) {
      _ = try reader.slice(2)
      let port = UInt16(truncatingIfNeeded: try reader.bigEndian(2))
      _ = try reader.slice(skippedByteCount)
      guard let address = IPAddress(bytes: try reader.slice(byteCount)) else { return nil }
      self.init(address, port: port)
    } catch { return nil }
  }
}
