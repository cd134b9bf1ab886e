import EventLoop
import Glibc

/// The claim of a hub to the path of its socket, until it is released or the process ends, however it ends.
///
/// Two hubs that start at once would both remove a stale socket, and the second one that of the first. So the
/// claim is a lock of a file beside the socket, which is never removed.
struct SocketClaim: Sendable {
  private let path: String
  private let lock: Int32

  /// Claims the path, and removes the socket of a hub that has ended.
  ///
  /// - Parameter servesOthers: Whether other users must be able to reach the socket.
  init(_ socket: HubSocket, path: String, servesOthers: Bool) throws(HubServerError) {
    if case .ownFolder = socket { try Self.makeFolder(of: path, servesOthers: servesOthers) }
    self.path = path
    let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW
    lock = unsafe open(path + ".lock", flags, 0o600)
    guard lock >= 0 else { throw HubServerError(.current, at: path) }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      let error = SystemError.current
      defer { close(lock) }
      throw error.number == EWOULDBLOCK
        ? Self.holder(of: lock, path) : HubServerError(error, at: path)
    }
    do throws(HubServerError) { try Self.removeStale(at: path) } catch {
      close(lock)
      throw error
    }
  }

  /// The reason why the lock is held: by a hub, or, in a folder where all users may make files, by another user's
  /// process that is no hub.
  private static func holder(of lock: Int32, _ path: String) -> HubServerError {
    var information = stat()
    guard unsafe fstat(lock, &information) == 0, information.st_uid != geteuid(),
      information.st_uid != 0
    else { return .taken(path) }
    let isThere = UNIXSocketFile.Identity(at: path) != nil
    if isThere, SocketAddress(path: path)?.isListenedAt == true { return .taken(path) }
    return HubServerError(
      .notPermitted,
      "The hub cannot listen at \(path): user \(information.st_uid) has locked \(path).lock, and no hub answers."
    )
  }

  private static func removeStale(at path: String) throws(HubServerError) {
    do throws(UNIXSocketFile.Obstacle) { try UNIXSocketFile.removeStale(at: path) } catch {
      switch error {
      case .isListenedAt: throw .taken(path)
      case .isNoSocket:
        throw HubServerError(
          .failed, "The hub cannot listen at \(path): the file exists and is not a socket.")
      }
    }
  }

  /// Claims the path again where the files of the socket were removed or replaced, and removes the socket of
  /// another hub that has ended.
  func renewed(_ socket: HubSocket, servesOthers: Bool) throws(HubServerError) -> SocketClaim {
    // The own lock, if the file is still there, would refuse another one.
    if UNIXSocketFile.Identity(of: lock) == UNIXSocketFile.Identity(at: path + ".lock") {
      try Self.removeStale(at: path)
      return self
    }
    let new = try SocketClaim(socket, path: path, servesOthers: servesOthers)
    release()
    return new
  }

  /// Lets another hub have the path. The lock is given up explicitly, as a child of fork(2) may have the file
  /// open, too.
  func release() {
    _ = flock(lock, LOCK_UN)
    close(lock)
  }

  /// Makes the folder of the socket, in which no other user may make files. Root's may be entered by others, as
  /// that of a service manager's socket, since another hub may serve them there later.
  private static func makeFolder(
    of path: String, servesOthers: Bool
  ) throws(HubServerError) {
    let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
      .joined(separator: "/")
    let mode: mode_t = servesOthers || geteuid() == 0 ? 0o755 : 0o700
    if unsafe mkdir(folder, mode) != 0, errno != EEXIST {
      throw HubServerError(.current, at: path)
    }
    var information = stat()
    guard unsafe lstat(folder, &information) == 0 else { throw HubServerError(.current, at: path) }
    guard information.st_mode & S_IFMT == S_IFDIR, information.st_uid == geteuid(),
      information.st_mode & 0o022 == 0
    else {
      throw HubServerError(
        .notPermitted, "The hub cannot listen at \(path): others may change the folder \(folder).")
    }
    // An earlier hub may have had other rules.
    if information.st_mode & 0o777 != mode, unsafe chmod(folder, mode) != 0 {
      throw HubServerError(.current, at: path)
    }
  }
}
