import Essentials
import Glibc
import EventLoop
import PortSharing

/// Where a hub's Multicast DNS is found: the path of a UNIX socket.
struct OwnerSocketAddress: Hashable, Sendable {
  private let system: SocketAddress

  /// The address at a path; nil if that is too long.
  init?(path: String) {
    guard let system = SocketAddress(path: path) else { return nil }
    self.system = system
  }

  /// As many connections may wait to be accepted; the system may set a lower bound
  /// (net.core.somaxconn).
  static let backlog: Int32 = 4_096

  // MARK: Sockets

  /// Connects to the hub at this address, if this user trusts the hub's.
  func connect(
    trust: OwnerMachine.Trust
  ) -> (outcome: OwnerSearch.Outcome, descriptor: Int32?) {
    let descriptor: Int32
    do throws(SystemError) { descriptor = try Self.open() } catch {
      return (error.isShortage ? .noDescriptor : .impossible, nil)
    }
    let status = system.with { unsafe Glibc.connect(descriptor, $0, $1) }
    guard status == 0 else {
      let number = errno
      Glibc.close(descriptor)
      switch number {
      // The last one of a hub that only serves others.
      case ECONNREFUSED, ENOENT, ENOTDIR, EACCES: return (.noOwner, nil)
      case EAGAIN: return (.busy, nil)
      default: return (.impossible, nil)
      }
    }
    let peer = PeerCredentials(of: descriptor)
    guard let peer, trust.trusts(peer.userID) else {
      Glibc.close(descriptor)
      return (.untrustedUser(userID: peer?.userID ?? OwnerMachine.Trust.overflowUserID), nil)
    }
    return (.connected, descriptor)
  }

  /// Binds the address: from now on others can connect, though connections are not accepted yet.
  ///
  /// - Parameters:
  ///   - permissions: Those of the file, from its beginning; nil for the usual ones.
  ///   - backlog: How many connections may wait.
  /// - Returns: The listening descriptor.
  func bindAndListen(
    permissions: UInt32? = nil, backlog: Int32 = Self.backlog
  ) throws(SystemError) -> Int32 {
    let descriptor = try Self.open()
    // The file gets those of the socket (unix(7) of Linux).
    if let permissions { fchmod(descriptor, permissions) }
    let status = system.with { unsafe bind(descriptor, $0, $1) }
    if status == 0, listen(descriptor, backlog) == 0 { return descriptor }
    let error = SystemError.current
    Glibc.close(descriptor)
    throw error
  }

  /// Accepts the next connection; nil if no connection waits, or its user is unknown.
  static func accept(
    _ listener: Int32
  ) -> Result<(descriptor: Int32, userID: UInt32)?, SystemError> {
    let descriptor = Glibc.accept(listener, nil, nil)
    guard descriptor >= 0 else {
      return [EAGAIN, EINTR, ECONNABORTED].contains(errno) ? .success(nil) : .failure(.current)
    }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    guard let peer = PeerCredentials(of: descriptor) else {
      Glibc.close(descriptor)
      return .success(nil)
    }
    return .success((descriptor, peer.userID))
  }

  private static func open() throws(SystemError) -> Int32 {
    let type = Int32(
      SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(AF_UNIX, type, 0)
    guard descriptor >= 0 else { throw .current }
    return descriptor
  }
}
