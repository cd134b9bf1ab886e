import Glibc
import Synchronization

/// Looks up the addresses of hosts with the system's resolver (getaddrinfo(3)), off the loop.
package enum NameLookup {
  /// The maximum number of simultaneous lookups. Each occupies a thread while name servers don't
  /// answer.
  static let waitingCountMax = 8
  private static let waitingCount = Atomic<Int>(0)

  /// Looks up the addresses of a host, in the order in which they should be tried (RFC 6724).
  ///
  /// Returns at once. `completion` is called on the loop; before this returns if `host` is an
  /// address. It gets an empty array if the host is unknown, and nil if the limit of lookups is
  /// reached.
  package static func addresses(
    of host: String, port: UInt16, isPassive: Bool = false, on loop: EpollLoop,
    completion: @escaping ([SocketAddress]?) -> Void
  ) {
    let flags = isPassive ? AI_PASSIVE : 0
    let literal = addresses(of: host, port: port, flags: flags | AI_NUMERICHOST)
    guard literal.isEmpty else { return completion(literal) }
    guard waitingCount.add(1, ordering: .relaxed).newValue <= waitingCountMax else {
      waitingCount.subtract(1, ordering: .relaxed)
      return completion(nil)
    }
    let completion = LoopConfined(completion, to: loop)
    let isStarted = DetachedThread.start {
      let found = addresses(of: host, port: port, flags: flags)
      waitingCount.subtract(1, ordering: .relaxed)
      loop.execute { completion.value(found) }
    }
    guard !isStarted else { return }
    waitingCount.subtract(1, ordering: .relaxed)
    completion.value(nil)
  }

  private static func addresses(of host: String, port: UInt16, flags: Int32) -> [SocketAddress] {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_NUMERICSERV | flags
    var first: UnsafeMutablePointer<addrinfo>?
    guard unsafe getaddrinfo(host, String(port), &hints, &first) == 0 else { return [] }
    defer { unsafe freeaddrinfo(first) }
    var addresses: [SocketAddress] = []
    var entry = unsafe first
    while let info = unsafe entry?.pointee {
      if let address = unsafe info.ai_addr {
        unsafe addresses.append(SocketAddress(address, byteCount: Int(info.ai_addrlen)))
      }
      unsafe entry = info.ai_next
    }
    return addresses
  }
}
