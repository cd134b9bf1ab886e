import DiscoveryMachines
import Essentials
import Glibc

/// An IPv4 socket that makes a host work.
struct Socket: ~Copyable {
  private let descriptor: Int32

  /// - Parameters:
  ///   - address: the host's own address, to whose interface multicast goes.
  ///   - port: 0 for any.
  init(_ address: Inet4Address, port: UInt16) throws {
    descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    guard descriptor >= 0 else { throw Failure(call: "socket") }
    try set(SOL_SOCKET, SO_REUSEADDR, Int32(1))
    try set(SOL_SOCKET, SO_REUSEPORT, Int32(1))
    // Beyond the system's limit, if the process has the privilege.
    try set(SOL_SOCKET, SO_RCVBUFFORCE, Int32(8 << 20))
    try set(Int32(IPPROTO_IP), IP_MULTICAST_TTL, Int32(255))
    try set(Int32(IPPROTO_IP), IP_MULTICAST_IF, address.rawValue.bigEndian)
    try set(SOL_SOCKET, SO_RCVTIMEO, timeval(tv_sec: 0, tv_usec: 20_000))
    let status = Self.withSystem(address, port) { bind(descriptor, $0, $1) }
    guard status == 0 else { throw Failure(call: "bind") }
  }

  deinit { close(descriptor) }

  private func set<Value>(_ level: Int32, _ option: Int32, _ value: Value) throws {
    let status = withUnsafePointer(to: value) {
      setsockopt(descriptor, level, option, $0, socklen_t(MemoryLayout<Value>.size))
    }
    guard status == 0 else { throw Failure(call: "setsockopt") }
  }

  private static func withSystem<Result>(
    _ address: Inet4Address, _ port: UInt16,
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    var system = sockaddr_in()
    system.sin_family = sa_family_t(AF_INET)
    system.sin_port = port.bigEndian
    system.sin_addr.s_addr = address.rawValue.bigEndian
    return withUnsafePointer(to: &system) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  /// Sends to port 5353.
  func send(_ packet: [UInt8], to address: Inet4Address) throws {
    let sent = Self.withSystem(address, multicastDNSPort) {
      sendto(descriptor, packet, packet.count, 0, $0, $1)
    }
    guard sent == packet.count else { throw Failure(call: "sendto") }
  }

  /// Receives packets to a group on the interface that has an address.
  func join(_ group: Inet4Address, from own: Inet4Address) throws {
    // struct ip_mreq: the group and the own address.
    let membership = (group.rawValue.bigEndian, own.rawValue.bigEndian)
    try set(Int32(IPPROTO_IP), IP_ADD_MEMBERSHIP, membership)
  }

  /// Sends a packet back to its sender, if one comes within 20 ms.
  func echo() {
    var bytes = [UInt8](repeating: 0, count: 512)
    var sender = sockaddr_in()
    var byteCount = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &sender) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        let count = recvfrom(descriptor, &bytes, bytes.count, 0, $0, &byteCount)
        if count > 0 { sendto(descriptor, bytes, count, 0, $0, byteCount) }
      }
    }
  }

  /// Receives packets, up to `countMax`, and waits up to 20 ms for the first; returns their number.
  func receive(countMax: Int) -> Int {
    var bytes = [UInt8](repeating: 0, count: 12)
    var count = 0
    while count < countMax {
      let flags = count == 0 ? 0 : Int32(MSG_DONTWAIT)
      guard recv(descriptor, &bytes, bytes.count, flags) == bytes.count else { break }
      count += 1
    }
    return count
  }
}

/// A call to the system that failed.
struct Failure: Error, CustomStringConvertible {
  let description: String

  init(call: String) { description = "\(call): \(String(cString: strerror(errno)))" }
}
