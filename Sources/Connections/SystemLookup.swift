internal import Dispatch
internal import Glibc

/// The system's resolver: `/etc/hosts`, unicast DNS and other configured sources.
package enum SystemLookup {
  /// Looks up a host. The result is empty if the host is unknown.
  ///
  /// - Parameter completion: Called on a system thread.
  package static func endpoints(
    of host: String, port: UInt16, _ completion: @escaping @Sendable ([SocketEndpoint]) -> Void
  ) {
    // It blocks for as long as servers take to answer.
    DispatchQueue.global().async { completion(endpoints(of: host, port: port)) }
  }

  private static func endpoints(of host: String, port: UInt16) -> [SocketEndpoint] {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_NUMERICSERV
    var first: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, String(port), &hints, &first) == 0 else { return [] }
    defer { freeaddrinfo(first) }
    var endpoints: [SocketEndpoint] = []
    var entry = first
    while let info = entry?.pointee {
      if let address = info.ai_addr {
        let bytes = UnsafeRawBufferPointer(start: address, count: Int(info.ai_addrlen))
        if let endpoint = SocketEndpoint(systemBytes: Array(bytes)) { endpoints.append(endpoint) }
      }
      entry = info.ai_next
    }
    return endpoints
  }
}
