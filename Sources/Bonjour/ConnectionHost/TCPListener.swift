internal import Dispatch
internal import Essentials
internal import Glibc
package import HostEssentials

/// Listens on one TCP port over IPv4 and IPv6, until it is let go of.
package final class TCPListener: Sendable {
  /// The port.
  package let port: UInt16
  private let sockets: [Descriptor]
  private let watches: [ReadinessWatch]

  /// How often another port is tried where the system's choice for one version of IP is taken for
  /// the other.
  private static let attemptsMax = 16
  /// Connections that wait to be accepted.
  private static let backlog: Int32 = 128

  /// Starts to listen. Throws the system's error where that is not possible over any version.
  ///
  /// - Parameters:
  ///   - port: the port, or 0 for one that the system chooses.
  ///   - onConnection: Told on a thread of the system who connected.
  package init(
    port: UInt16, onConnection: @escaping @Sendable (TCPConnection) -> Void
  ) throws(SystemError) {
    (sockets, self.port) = try Self.open(port)
    var watches: [ReadinessWatch] = []
    for socket in sockets { watches.append(try Self.watch(socket, onConnection)) }
    self.watches = watches
  }

  deinit {
    // They are closed when the last thread has let go, maybe a little later.
    for socket in sockets { shutdown(socket.number, Int32(SHUT_RDWR)) }
  }

  private static func open(_ port: UInt16) throws(SystemError) -> ([Descriptor], UInt16) {
    var attempts = port == 0 ? attemptsMax : 1
    while true {
      attempts -= 1
      do throws(SystemError) {
        return try openOnce(port)
      } catch {
        guard error.number == EADDRINUSE, attempts > 0 else { throw error }
      }
    }
  }

  /// Both versions on one port; IPv4 alone on a system without IPv6.
  private static func openOnce(_ port: UInt16) throws(SystemError) -> ([Descriptor], UInt16) {
    var sockets: [Descriptor] = []
    var port = port
    do throws(SystemError) {
      let socket = try listen(.v6(.any), port: port)
      sockets.append(socket)
      port = SocketEndpoint(of: socket.number, getsockname)?.port ?? port
    } catch {
      guard [EAFNOSUPPORT, EADDRNOTAVAIL].contains(error.number) else { throw error }
    }
    let socket = try listen(.v4(.any), port: port)
    port = SocketEndpoint(of: socket.number, getsockname)?.port ?? port
    return (sockets + [socket], port)
  }

  private static func listen(
    _ address: IPAddress, port: UInt16
  ) throws(SystemError) -> Descriptor {
    let socket = try Descriptor.tcp(address.version == .v4 ? AF_INET : AF_INET6)
    socket.set(SOL_SOCKET, SO_REUSEADDR, to: 1)
    if address.version == .v6 { socket.set(Int32(IPPROTO_IPV6), IPV6_V6ONLY, to: 1) }
    let endpoint = SocketEndpoint(address, port: port)
    guard endpoint.with({ bind(socket.number, $0, $1) }) == 0,
      Glibc.listen(socket.number, backlog) == 0
    else { throw .current }
    return socket
  }

  private static func watch(
    _ socket: Descriptor, _ onConnection: @escaping @Sendable (TCPConnection) -> Void
  ) throws(SystemError) -> ReadinessWatch {
    let watch = WeakWatch()
    let reading = try ReadinessWatch(.reading, socket) {
      if accept(from: socket, onConnection) {
        // Without descriptors to give, the system would say at once that there is someone.
        DispatchQueue.global().asyncAfter(deadline: .now() + 1) { watch.value?.arm() }
      } else {
        watch.value?.arm()
      }
    }
    watch.value = reading
    reading.arm()
    return reading
  }

  /// Accepts all who wait; true if the system can give no more.
  private static func accept(
    from socket: Descriptor, _ onConnection: (TCPConnection) -> Void
  ) -> Bool {
    while true {
      let number = Glibc.accept(socket.number, nil, nil)
      if number >= 0 {
        onConnection(TCPConnection(accepted: .accepted(number)))
      } else if errno != EINTR && errno != ECONNABORTED {
        return [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno)
      }
    }
  }

  /// What a watch's own handler knows it by.
  private final class WeakWatch: @unchecked Sendable {
    // Unchecked: set once, before the watch is armed.
    weak var value: ReadinessWatch?
  }
}
