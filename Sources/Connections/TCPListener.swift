internal import Essentials
internal import Glibc
package import EventLoop
internal import Synchronization

/// Listens on one TCP port over IPv4 and IPv6, until it is released.
///
/// It accepts connections as a ``StreamListener`` does, which is used on its loop only. This one is
/// created and released on any thread, and stops listening at once.
package final class TCPListener: Sendable {
  /// The port.
  package let port: UInt16
  private let sockets: [Descriptor]
  private let watches: [OneShotWatch]

  /// How often another port is tried where the system's choice for one version of IP is taken for
  /// the other.
  private static let attemptsMax = 16

  /// The maximum number of accepted connections that wait for an app that does not accept them.
  package static let waitingConnectionsMax = 128
  /// Connections that wait to be accepted.
  private static let backlog: Int32 = 128

  /// Starts to listen. Throws the system's error if that is not possible over any IP version.
  ///
  /// - Parameters:
  ///   - port: The port, or 0 for one that the system chooses.
  ///   - settings: The settings of the listener and of its connections.
  ///   - onShortage: Called on the shared event loop, where it must not wait, with the error when connections begin to
  ///     wait because the system gives no descriptor for them, and with nil when they are accepted again.
  ///   - onConnection: Called on the shared event loop, where it must not wait, with each accepted connection.
  package init(
    port: UInt16, _ settings: TCPSettings = TCPSettings(),
    onShortage: @escaping @Sendable (SystemError?) -> Void = { _ in },
    onConnection: @escaping @Sendable (TCPConnection) -> Void
  ) throws(SystemError) {
    (sockets, self.port) = try Self.open(port, settings)
    let shortage = SocketShortage(onShortage)
    var watches: [OneShotWatch] = []
    for socket in sockets { watches.append(try Self.watch(socket, shortage, onConnection)) }
    self.watches = watches
  }

  deinit {
    // They are closed when the last thread has left, maybe a little later.
    for socket in sockets { shutdown(socket.number, Int32(SHUT_RDWR)) }
  }

  private static func open(
    _ port: UInt16, _ settings: TCPSettings
  ) throws(SystemError) -> ([Descriptor], UInt16) {
    var attempts = port == 0 ? attemptsMax : 1
    while true {
      attempts -= 1
      do throws(SystemError) {
        return try openOnce(port, settings)
      } catch {
        guard error.number == EADDRINUSE, attempts > 0 else { throw error }
      }
    }
  }

  /// All on one port, that of IPv4 alone on a system without IPv6.
  private static func openOnce(
    _ port: UInt16, _ settings: TCPSettings
  ) throws(SystemError) -> ([Descriptor], UInt16) {
    let endpoints = endpoints(settings)
    var sockets: [Descriptor] = []
    var port = port
    for endpoint in endpoints {
      do throws(SystemError) {
        let socket = try listen(
          SocketEndpoint(endpoint.address, port: port, scope: endpoint.scope), settings)
        sockets.append(socket)
        port = SocketAddress(boundTo: socket.number)?.port ?? port
      } catch {
        let isWithoutIPv6 = [EAFNOSUPPORT, EADDRNOTAVAIL].contains(error.number)
        guard isWithoutIPv6, endpoint != endpoints.last else { throw error }
      }
    }
    guard !sockets.isEmpty else { throw SystemError(number: EAFNOSUPPORT) }
    return (sockets, port)
  }

  /// Where to listen: on the settings' address, or on any of each version.
  private static func endpoints(_ settings: TCPSettings) -> [SocketEndpoint] {
    let named = settings.localEndpoint.flatMap { $0.address.isUnspecified ? nil : [$0] }
    let any = [SocketEndpoint(.v6(.any), port: 0), SocketEndpoint(.v4(.any), port: 0)]
    return (named ?? any).filter(settings.allows)
  }

  private static func listen(
    _ endpoint: SocketEndpoint, _ settings: TCPSettings
  ) throws(SystemError) -> Descriptor {
    let address = endpoint.address
    let socket = try Descriptor.tcp(address.version == .v4 ? AF_INET : AF_INET6)
    try settings.apply(to: socket, address.version)
    socket.set(SOL_SOCKET, SO_REUSEADDR, to: 1)
    if address.version == .v6 { socket.set(Int32(IPPROTO_IPV6), IPV6_V6ONLY, to: 1) }
    guard endpoint.systemAddress.with({ bind(socket.number, $0, $1) }) == 0,
      Glibc.listen(socket.number, backlog) == 0
    else { throw .current }
    return socket
  }

  private static func watch(
    _ socket: Descriptor, _ record: SocketShortage,
    _ onConnection: @escaping @Sendable (TCPConnection) -> Void
  ) throws(SystemError) -> OneShotWatch {
    let watch = WeakWatch()
    let reading = try OneShotWatch(.reading, socket) {
      let shortage = StreamListener.acceptWaiting(at: socket.number) { number in
        onConnection(TCPConnection(accepted: Descriptor(number)))
        return true
      }
      record.tried(at: socket.number, shortage)
      if shortage != nil {
        EpollLoop.shared.schedule(in: exhaustionDelay) { watch.value?.arm() }
      } else {
        watch.value?.arm()
      }
    }
    watch.value = reading
    reading.arm()
    return reading
  }

  /// How long to wait where the process or the system has no descriptor left.
  private static let exhaustionDelay = TimeSpan.seconds(1)

  /// What a watch's own handler knows it by.
  private final class WeakWatch: @unchecked Sendable {
    // Unchecked: set once, before the watch is armed.
    weak var value: OneShotWatch?
  }
}

/// The shortage in which the sockets of a listener are. Used on the shared event loop.
private final class SocketShortage: Sendable {
  private let affected = Mutex<Set<Int32>>([])
  private let onChange: @Sendable (SystemError?) -> Void

  init(_ onChange: @escaping @Sendable (SystemError?) -> Void) { self.onChange = onChange }

  /// Takes the outcome of an attempt to accept connections, and reports the first socket and the last one.
  func tried(at socket: Int32, _ error: SystemError?) {
    let isChanged = affected.withLock { affected in
      let wasShort = !affected.isEmpty
      if error == nil { affected.remove(socket) } else { affected.insert(socket) }
      return affected.isEmpty == wasShort
    }
    if isChanged { onChange(error) }
  }
}
