import CLinux
import Essentials
import Glibc

/// A socket that accepts connections. Used on its loop only; its owner must call ``close()``.
package final class StreamListener {
  private let loop: EpollLoop
  private var watched: WatchedDescriptor?
  private let onAccept: (Int32) -> Void
  /// The address at which it listens, with the port that the system chose if 0 was requested.
  package let address: SocketAddress

  /// How many connections wait to be accepted.
  private static let backlog: Int32 = 128
  /// How many are accepted before other descriptors are looked at.
  private static let acceptCountMax = 16
  /// How long to wait where the process or the system has no descriptor left, at first and at most:
  /// the connections wait, too, and would be reported again in every turn of the loop. The time
  /// doubles while nothing can be accepted.
  private static let exhaustionDelays = TimeSpan.milliseconds(5)...TimeSpan.seconds(1)

  private var exhaustionDelay = StreamListener.exhaustionDelays.lowerBound

  /// Listens at an address.
  ///
  /// - Parameters:
  ///   - address: The address.
  ///   - permissions: Those of the file of a UNIX socket, from its beginning; nil for the usual ones.
  ///   - loop: The event loop on which it is used.
  ///   - onAccept: Called with each accepted socket, which it owns. The socket is non-blocking and
  ///     close-on-exec.
  package init(
    at address: SocketAddress, permissions: UInt32? = nil, on loop: EpollLoop,
    onAccept: @escaping (Int32) -> Void
  ) throws(SystemError) {
    self.loop = loop
    self.onAccept = onAccept
    let descriptor = try address.makeSocket()
    // The file gets those of the socket (unix(7) of Linux).
    if let permissions { fchmod(descriptor, permissions) }
    if address.family != AF_UNIX { setOption(descriptor, SOL_SOCKET, SO_REUSEADDR) }
    guard address.with({ unsafe bind(descriptor, $0, $1) }) == 0,
      listen(descriptor, Self.backlog) == 0
    else {
      let error = SystemError.current
      Glibc.close(descriptor)
      throw error
    }
    self.address = SocketAddress(boundTo: descriptor) ?? address
    watched = try WatchedDescriptor(owning: descriptor, on: loop) { [weak self] _ in
      self?.accept()
    }
  }

  /// Accepts the connections of a socket that listens already, such as one that the service manager
  /// opened. Owns it from now on, and closes it if it can't be watched.
  package init(
    owning descriptor: Int32, on loop: EpollLoop, onAccept: @escaping (Int32) -> Void
  ) throws(SystemError) {
    self.loop = loop
    self.onAccept = onAccept
    guard let address = SocketAddress(boundTo: descriptor) else {
      let error = SystemError.current
      Glibc.close(descriptor)
      throw error
    }
    self.address = address
    watched = try WatchedDescriptor(owning: descriptor, on: loop) { [weak self] _ in
      self?.accept()
    }
  }

  /// Stops listening.
  package func close() {
    watched?.close()
    watched = nil
  }

  private func accept() {
    guard let watched else { return }
    let shortage = Self.acceptWaiting(at: watched.descriptor) { descriptor in
      exhaustionDelay = Self.exhaustionDelays.lowerBound
      if address.family != AF_UNIX { setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY) }
      onAccept(descriptor)
      return watched.isOpen
    }
    if shortage != nil { pause() }
  }

  /// Accepts the connections that wait at a non-blocking socket, up to a number after which other
  /// descriptors have their turn. Raises the soft limit of descriptors if need be, and reports a shortage.
  ///
  /// - Parameters:
  ///   - descriptor: The listening socket.
  ///   - onAccept: Called with each accepted socket, which it owns. The socket is non-blocking and
  ///     close-on-exec. Returns whether the listening socket is still open.
  /// - Returns: The error if the process or the system has no descriptor left: then the others wait, and would be
  ///   reported again at once. It has been reported.
  package static func acceptWaiting(
    at descriptor: Int32, _ onAccept: (Int32) -> Bool
  ) -> SystemError? {
    let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    for _ in 0..<acceptCountMax {
      let accepted = accept4(descriptor, nil, nil, flags)
      if accepted >= 0 {
        guard onAccept(accepted) else { return nil }
        continue
      }
      switch errno {
      case EAGAIN: return nil
      case EMFILE, ENFILE, ENOBUFS, ENOMEM:
        let shortage = SystemError.current
        if shortage.number == EMFILE, DescriptorLimit.hasRoom() { continue }
        DescriptorShortage.report(shortage.number)
        return shortage
      // Of this connection: it ended before it was accepted, or the network failed (accept(2)).
      default: continue
      }
    }
    return nil
  }

  private func pause() {
    watched?.interest = []
    loop.schedule(in: exhaustionDelay) { [weak self] in self?.watched?.interest = .readable }
    exhaustionDelay = min(exhaustionDelay * 2, Self.exhaustionDelays.upperBound)
  }
}
