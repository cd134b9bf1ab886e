package import Essentials
internal import EventLoop
internal import Glibc

/// The current network path to an address.
package struct NetworkPath: Hashable, Sendable {
  /// An interface that is up and running.
  package struct Interface: Hashable, Sendable {
    /// The name of the interface.
    package var name: String
    /// The index of the interface.
    package var index: UInt32
    /// The addresses of the interface.
    package var addresses: Set<InetAddress>

    /// Creates an interface.
    package init(name: String, index: UInt32, addresses: Set<InetAddress>) {
      self.name = name
      self.index = index
      self.addresses = addresses
    }
  }

  /// The interfaces that are up and running.
  package var interfaces: [Interface]
  /// The source address of packets; nil without a route.
  package var source: SocketEndpoint?

  /// Creates a path.
  package init(interfaces: [Interface], source: SocketEndpoint?) {
    self.interfaces = interfaces
    self.source = source
  }

  /// Reads the path from the system, without sending packets.
  ///
  /// - Parameters:
  ///   - endpoint: The destination.
  ///   - interfaceName: The only interface that may be used; nil for any.
  package init(to endpoint: SocketEndpoint, on interfaceName: String? = nil) {
    self.init(
      interfaces: Self.workingInterfaces(), source: Self.source(to: endpoint, on: interfaceName))
  }

  /// The interface that has the address of an endpoint; nil if no working interface has it.
  package func interface(of end: SocketEndpoint) -> Interface? {
    interfaces.first { interface in
      // Several interfaces may have the same link-local address.
      guard end.scope == 0 || end.scope == interface.index else { return false }
      if interface.addresses.contains(end.address) { return true }
      // The loopback interface has the addresses of a whole network.
      return end.address.isIPv4Loopback && interface.addresses.contains(where: \.isIPv4Loopback)
    }
  }

  /// A datagram socket that is connected sends nothing, and has the address that it would send
  /// from.
  private static func source(
    to endpoint: SocketEndpoint, on interfaceName: String?
  ) -> SocketEndpoint? {
    let family = endpoint.address.version == .v4 ? AF_INET : AF_INET6
    let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
    let number = socket(family, type, 0)
    guard number >= 0 else { return nil }
    let descriptor = Descriptor(number)
    if let interfaceName, (try? descriptor.bind(toInterface: interfaceName)) == nil { return nil }
    // A connect to port 0 fails.
    var endpoint = endpoint
    endpoint.port = max(1, endpoint.port)
    guard endpoint.systemAddress.with({ connect(number, $0, $1) }) == 0 else { return nil }
    return SocketAddress(boundTo: number).flatMap { SocketEndpoint($0) }
  }

  private static func workingInterfaces() -> [Interface] {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0 else { return [] }
    defer { freeifaddrs(first) }
    var interfaces: [Interface] = []
    var entry = first
    while let item = entry?.pointee {
      entry = item.ifa_next
      let needed = UInt32(IFF_UP | IFF_RUNNING)
      guard item.ifa_flags & needed == needed else { continue }
      let name = String(cString: item.ifa_name)
      if !interfaces.contains(where: { $0.name == name }) {
        interfaces.append(Interface(name: name, index: if_nametoindex(name), addresses: []))
      }
      let system = item.ifa_addr.flatMap { SocketAddress(internetAddress: $0) }
      guard let address = system?.internetAddress,
        let position = interfaces.firstIndex(where: { $0.name == name })
      else { continue }
      interfaces[position].addresses.insert(address)
    }
    return interfaces
  }
}

extension InetAddress {
  /// Whether it is one of 127/8.
  fileprivate var isIPv4Loopback: Bool {
    if case .v4(let address) = self { address.bytes.first == 127 } else { false }
  }
}
