import Essentials
import Glibc
import Synchronization

/// Looks up the addresses of hosts with the system's resolver (getaddrinfo(3)), off the loop.
package enum NameLookup {
  /// The lookups under way. Each occupies a thread while name servers don't answer.
  struct Places: Sendable {
    /// The maximum number of simultaneous lookups that have not taken long.
    static let quickCountMax = 8
    /// The time after which a lookup takes long: name servers that don't answer must not hold up
    /// lookups for which there are others. Clients with a limit of their own use a longer time, so
    /// that they find a place then.
    static let slowTime = TimeSpan.milliseconds(1_500)
    /// The maximum number of all lookups.
    static let countMax = 32

    private var startedAt: [UInt64: Instant] = [:]
    private var lastNumber: UInt64 = 0

    /// The number of a place for a lookup that begins now; nil if there is no place.
    mutating func take(now: Instant) -> UInt64? {
      let quickCount = startedAt.values.count(where: { now - $0 < Self.slowTime })
      guard quickCount < Self.quickCountMax, startedAt.count < Self.countMax else { return nil }
      lastNumber += 1
      startedAt[lastNumber] = now
      return lastNumber
    }

    /// The lookup has ended.
    mutating func free(_ number: UInt64) { startedAt[number] = nil }
  }

  private static let places = Mutex(Places())

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
    guard let place = places.withLock({ $0.take(now: .now) }) else { return completion(nil) }
    let completion = LoopConfined(completion, to: loop)
    let isStarted = DetachedThread.start {
      let found = addresses(of: host, port: port, flags: flags)
      places.withLock { $0.free(place) }
      loop.execute { completion.value(found) }
    }
    guard !isStarted else { return }
    places.withLock { $0.free(place) }
    completion.value(nil)
  }

  /// Looks up the addresses of a host, and blocks for as long as name servers take to answer.
  ///
  /// - Returns: The addresses in the order in which they should be tried; empty if the host is unknown.
  package static func addresses(
    of host: String, port: UInt16, flags: Int32 = 0
  ) -> [SocketAddress] {
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
