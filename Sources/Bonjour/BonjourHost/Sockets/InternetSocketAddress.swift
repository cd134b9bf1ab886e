import DiscoveryMachines
import Essentials
import Glibc

/// An address as the system has it: the bytes of struct sockaddr_in or sockaddr_in6. Numbers are in
/// the order of the network but for the family and, over IPv6, the scope.
struct InternetSocketAddress {
  // Addresses longer than this aren't of the Internet Protocol.
  typealias Storage = sockaddr_in6
  private var storage = Storage()
  private let byteCount: socklen_t

  /// Makes an address of the bytes and the length that the system wrote.
  init(_ storage: Storage, byteCount: socklen_t) {
    self.storage = storage
    self.byteCount = byteCount
  }

  /// One that is valid on one link only is on that of this interface.
  init(_ endpoint: Endpoint, on interface: InterfaceIndex) {
    let port = endpoint.port.bigEndian
    switch endpoint.address {
    case .v4(let address):
      byteCount = socklen_t(MemoryLayout<sockaddr_in>.size)
      unsafe withUnsafeMutableBytes(of: &storage) { bytes in
        unsafe bytes.storeBytes(of: UInt16(AF_INET), as: UInt16.self)
        unsafe bytes.storeBytes(of: port, toByteOffset: 2, as: UInt16.self)
        unsafe bytes.storeBytes(of: address.rawValue.bigEndian, toByteOffset: 4, as: UInt32.self)
      }
    case .v6(let address):
      let scope = address.isLinkLocal || address.isMulticast ? interface.rawValue : 0
      byteCount = socklen_t(MemoryLayout<sockaddr_in6>.size)
      unsafe withUnsafeMutableBytes(of: &storage) { bytes in
        unsafe bytes.storeBytes(of: UInt16(AF_INET6), as: UInt16.self)
        unsafe bytes.storeBytes(of: port, toByteOffset: 2, as: UInt16.self)
        unsafe bytes.storeBytes(of: address.high.bigEndian, toByteOffset: 8, as: UInt64.self)
        unsafe bytes.storeBytes(of: address.low.bigEndian, toByteOffset: 16, as: UInt64.self)
        unsafe bytes.storeBytes(of: scope, toByteOffset: 24, as: UInt32.self)
      }
    }
  }

  /// Address and port; nil for other address families.
  var endpoint: Endpoint? {
    let (family, port) = unsafe withUnsafeBytes(of: storage) { bytes in
      unsafe (
        bytes.load(as: UInt16.self), bytes.load(fromByteOffset: 2, as: UInt16.self)
      )
    }
    return unsafe withUnsafeBytes(of: storage) { bytes in
      switch (Int32(family), Int(byteCount)) {
      case (AF_INET, MemoryLayout<sockaddr_in>.size...):
        let address = unsafe bytes.load(fromByteOffset: 4, as: UInt32.self)
        return Endpoint(
          .v4(Inet4Address(rawValue: UInt32(bigEndian: address))), port: UInt16(bigEndian: port))
      case (AF_INET6, MemoryLayout<sockaddr_in6>.size...):
        let high = unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        let low = unsafe bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        let address = Inet6Address(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
        return Endpoint(.v6(address), port: UInt16(bigEndian: port))
      default: return nil
      }
    }
  }

  /// Lends it to a call of the system.
  func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    unsafe withUnsafePointer(to: storage) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe body($0, byteCount)
      }
    }
  }
}
