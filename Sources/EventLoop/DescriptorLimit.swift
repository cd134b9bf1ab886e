import Glibc

/// How many descriptors this process may have (getrlimit(2)).
package enum DescriptorLimit {
  /// Descriptors that stay free for what the program opens besides, of a limit: 64, but a quarter at most, so that a
  /// low limit has room for clients, too.
  static func reserve(of limit: UInt64) -> UInt64 { min(64, limit / 4) }

  /// Whether there is room for one more client, after what may be done about it: the soft limit,
  /// which is low for the sake of programs that use select(2), is raised to the hard one only once
  /// it is needed.
  package static func hasRoom() -> Bool {
    // The system gives the lowest number that is free.
    let next = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard next >= 0 else { return errno == EMFILE && isLimit(above: nil) }
    close(next)
    return isLimit(above: UInt64(next) + reserve(of: hardLimit))
  }

  /// Whether the limit is higher than this, if need be after raising it; nil for what it is now.
  private static func isLimit(above count: UInt64?) -> Bool {
    var limits = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0 else {
      return false
    }
    let count = count ?? UInt64(limits.rlim_cur)
    if limits.rlim_cur > count { return true }
    limits.rlim_cur = limits.rlim_max
    guard limits.rlim_max > count else { return false }
    return unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0
  }

  /// How many connections there can be at most.
  package static var connectionsMax: Int {
    let limit = hardLimit
    return Int(clamping: limit - reserve(of: limit))
  }

  /// How many descriptors this process may open besides those that it has, and those that stay free.
  package static var freeMax: Int {
    // The system gives the lowest number that is free.
    let next = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard next >= 0 else { return 0 }
    close(next)
    return max(0, connectionsMax - Int(next))
  }

  /// The limit at present.
  package static var softLimit: UInt64 {
    var limits = rlimit()
    _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
    return UInt64(limits.rlim_cur)
  }

  /// The most that this process may raise it to.
  package static var hardLimit: UInt64 {
    var limits = rlimit()
    _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
    return UInt64(limits.rlim_max)
  }
}
