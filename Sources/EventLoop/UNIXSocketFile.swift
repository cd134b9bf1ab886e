import Glibc

/// The file of a UNIX socket.
package enum UNIXSocketFile {
  /// Which file a path names: another one may take its place.
  package struct Identity: Hashable, Sendable {
    private let device: UInt64
    private let number: UInt64

    /// The file at a path now; nil if it can't be found.
    package init?(at path: String) {
      var information = stat()
      guard unsafe lstat(path, &information) == 0 else { return nil }
      self.init(information)
    }

    /// The file of a descriptor.
    package init?(of descriptor: Int32) {
      var information = stat()
      guard unsafe fstat(descriptor, &information) == 0 else { return nil }
      self.init(information)
    }

    private init(_ information: stat) {
      device = UInt64(information.st_dev)
      number = UInt64(information.st_ino)
    }
  }

  /// The reason why a path can't be used for a socket.
  package enum Obstacle: Error, Hashable, Sendable {
    /// A program listens there.
    case isListenedAt
    /// The path names a file that is no socket.
    case isNoSocket
  }

  /// Removes the file of a server that has ended.
  ///
  /// - Throws: If a server still listens, or the file is no socket.
  package static func removeStale(at path: String) throws(Obstacle) {
    var information = stat()
    guard unsafe lstat(path, &information) == 0 else { return }
    guard information.st_mode & S_IFMT == S_IFSOCK else { throw .isNoSocket }
    guard let address = SocketAddress(path: path), !address.isListenedAt else {
      throw .isListenedAt
    }
    remove(path)
  }

  /// Removes the file of a server, unless the path names another one by now.
  package static func remove(_ path: String, if identity: Identity) {
    if Identity(at: path) == identity { remove(path) }
  }

  /// Sets the permissions of a socket, which the process's umask has limited when it was bound. Nothing else is
  /// changed, if the path names another file by now.
  package static func setPermissions(_ permissions: UInt32, of path: String) throws(SystemError) {
    let pathOnly: Int32 = 0o10_000_000  // O_PATH, which Glibc's module does not have.
    let descriptor = unsafe open(path, pathOnly | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw .current }
    defer { close(descriptor) }
    var information = stat()
    guard unsafe fstat(descriptor, &information) == 0 else { throw .current }
    guard information.st_mode & S_IFMT == S_IFSOCK, information.st_uid == geteuid() else {
      throw SystemError(number: EPERM)
    }
    // The file of the descriptor, wherever the path leads by now.
    guard unsafe chmod("/proc/self/fd/\(descriptor)", permissions) == 0 else { throw .current }
  }

  private static func remove(_ path: String) {
    _ = unsafe unlink(path)
  }
}
