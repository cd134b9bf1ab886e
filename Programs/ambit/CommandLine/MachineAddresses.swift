import BonjourHost
import DNSWire
import DiscoveryMachines
import Essentials
import Glibc

/// The addresses of this machine's interfaces (getifaddrs(3)).
enum MachineAddresses {
  /// Those of now; empty where the system lists none.
  static var all: Set<InetAddress> {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0 else { return [] }
    defer { freeifaddrs(first) }
    var all: Set<InetAddress> = []
    var entry = first
    while let interface = entry?.pointee {
      if let address = interface.ifa_addr.flatMap(address) { all.insert(address) }
      entry = interface.ifa_next
    }
    return all
  }

  private static func address(_ system: UnsafeMutablePointer<sockaddr>) -> InetAddress? {
    let size: Int
    switch Int32(system.pointee.sa_family) {
    case AF_INET: size = MemoryLayout<sockaddr_in>.size
    case AF_INET6: size = MemoryLayout<sockaddr_in6>.size
    default: return nil
    }
    var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    let result = getnameinfo(
      system, socklen_t(size), &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
    guard result == 0 else { return nil }
    // A link-local address is followed by its interface.
    let end = text.firstIndex { $0 == 0 || $0 == CChar(bitPattern: UInt8(ascii: "%")) }
    let bytes = text[..<(end ?? text.endIndex)].map(UInt8.init(bitPattern:))
    return InetAddress(text: String(decoding: bytes, as: UTF8.self))
  }
}

extension NetworkSession {
  /// Whether the host of a service has an address of this machine. False if it isn't known in time.
  func isOnThisMachine(_ name: ServiceName, _ interface: InterfaceIndex?) async -> Bool {
    if interface == .localOnly { return true }
    let host = try? await race(limit.duration) { () -> DNSName? in
      for await found in locations(of: name, on: interface) {
        if let place = Resolve.place(found.event) { return place.host }
      }
      return nil
    }
    guard let host = host ?? nil else { return false }
    let addresses = try? await addresses(of: host, on: interface, within: limit.duration)
    return !MachineAddresses.all.isDisjoint(with: addresses ?? [])
  }
}
