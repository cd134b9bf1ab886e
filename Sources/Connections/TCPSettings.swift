package import Essentials
internal import Glibc
internal import EventLoop

/// The socket options of a connection or a listener. Zero and nil mean the system's default.
package struct TCPSettings: Hashable, Sendable {
  /// Whether Nagle's algorithm is disabled (TCP_NODELAY).
  package var sendsAtOnce = false
  /// Whether to send only full packets, and the remaining bytes after 0.2 s (TCP_CORK).
  package var sendsFullPackets = false
  /// Whether keepalive probes are sent to a silent peer (SO_KEEPALIVE).
  package var keepsAlive = false
  /// The number of idle seconds before the first keepalive probe.
  package var keepaliveIdleSeconds = 0
  /// The number of seconds between keepalive probes.
  package var keepaliveIntervalSeconds = 0
  /// The number of unanswered keepalive probes after which the connection is broken.
  package var keepaliveCount = 0
  /// The maximum segment size in bytes.
  package var segmentByteCountMax = 0
  /// The number of seconds for which each address is tried.
  package var connectingSecondsMax = 0
  /// The number of seconds for which sent data may remain unacknowledged (TCP_USER_TIMEOUT).
  package var unacknowledgedSecondsMax = 0
  /// The hop limit of packets.
  package var hopCountMax = 0
  /// The only version of IP to use.
  package var version: IPVersion?
  /// The only interface to use.
  package var interfaceName: String?
  /// The local address and port.
  package var localEndpoint: SocketEndpoint?

  /// Creates settings with the system's defaults.
  package init() {}

  /// Whether an endpoint may be used.
  func allows(_ endpoint: SocketEndpoint) -> Bool {
    version == nil || version == endpoint.address.version
  }

  /// Sets the options that must be set before a socket is connected or listens.
  func apply(to socket: Descriptor, _ version: IPVersion) throws(SystemError) {
    try socket.require(Int32(IPPROTO_TCP), TCP_NODELAY, sendsAtOnce ? 1 : 0)
    try socket.require(Int32(IPPROTO_TCP), TCP_CORK, sendsFullPackets ? 1 : 0)
    try socket.require(SOL_SOCKET, SO_KEEPALIVE, keepsAlive ? 1 : 0)
    if keepsAlive {
      try socket.require(Int32(IPPROTO_TCP), TCP_KEEPIDLE, unlessZero: keepaliveIdleSeconds)
      try socket.require(Int32(IPPROTO_TCP), TCP_KEEPINTVL, unlessZero: keepaliveIntervalSeconds)
      try socket.require(Int32(IPPROTO_TCP), TCP_KEEPCNT, unlessZero: keepaliveCount)
    }
    try socket.require(Int32(IPPROTO_TCP), TCP_MAXSEG, unlessZero: segmentByteCountMax)
    let (milliseconds, overflows) = unacknowledgedSecondsMax.multipliedReportingOverflow(by: 1_000)
    try socket.require(
      Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, unlessZero: overflows ? Int.max : milliseconds)
    switch version {
    case .v4: try socket.require(Int32(IPPROTO_IP), IP_TTL, unlessZero: hopCountMax)
    case .v6: try socket.require(Int32(IPPROTO_IPV6), IPV6_UNICAST_HOPS, unlessZero: hopCountMax)
    }
    if let interfaceName { try socket.bind(toInterface: interfaceName) }
  }

  /// This side's endpoint for a socket of that version; nil for any.
  func localEndpoint(_ version: IPVersion) throws(SystemError) -> SocketEndpoint? {
    guard let local = localEndpoint else { return nil }
    if local.address.version == version { return local }
    // Any address of the one version is any of the other.
    guard local.address.isUnspecified else { throw SystemError(number: EAFNOSUPPORT) }
    return SocketEndpoint(version == .v4 ? .v4(.any) : .v6(.any), port: local.port)
  }
}

extension InetAddress {
  /// Whether it is the unspecified address, meaning all addresses of the host.
  var isUnspecified: Bool { self == .v4(.any) || self == .v6(.any) }
}

extension Descriptor {
  /// Sets an option; throws where the system refuses.
  func require(_ level: Int32, _ option: Int32, _ value: Int32) throws(SystemError) {
    var value = value
    let size = socklen_t(MemoryLayout<Int32>.size)
    guard setsockopt(number, level, option, &value, size) == 0 else { throw .current }
  }

  /// Sets an option, unless the system's default is chosen.
  func require(_ level: Int32, _ option: Int32, unlessZero value: Int) throws(SystemError) {
    if value != 0 { try require(level, option, Int32(clamping: value)) }
  }

  /// Has only one interface used (SO_BINDTODEVICE).
  func bind(toInterface name: String) throws(SystemError) {
    let bytes = Array(name.utf8)
    let result = setsockopt(
      number, SOL_SOCKET, SO_BINDTODEVICE, bytes, socklen_t(bytes.count))
    guard result == 0 else { throw .current }
  }
}
