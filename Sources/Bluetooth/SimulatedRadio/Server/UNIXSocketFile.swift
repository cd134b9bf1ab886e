import BluetoothHost
import EventLoop
import Glibc

/// The file of a UNIX socket.
enum UNIXSocketFile {
  /// Which file a path names: another one may take its place.
  struct Identity: Hashable, Sendable {
    private let device: UInt64
    private let number: UInt64

    /// The file at a path now; nil if it can't be found.
    init?(at path: String) {
      var information = stat()
      guard unsafe lstat(path, &information) == 0 else { return nil }
      device = UInt64(information.st_dev)
      number = UInt64(information.st_ino)
    }
  }

  /// Removes the file of a server that has ended.
  ///
  /// - Throws: If a server still listens, or the file is no socket.
  static func removeStale(at path: String) throws(RadioServerError) {
    var information = stat()
    guard unsafe lstat(path, &information) == 0 else { return }
    guard information.st_mode & S_IFMT == S_IFSOCK else {
      throw RadioServerError(
        "The radio cannot be served at unix:\(path): the file exists and is not a socket.")
    }
    guard let address = SocketAddress(path: path), !address.isListenedAt else {
      throw RadioServerError(SystemError(number: EADDRINUSE), address: .unix(path: path))
    }
    remove(path)
  }

  /// Removes the file of a server, unless the path names another one by now.
  static func remove(_ path: String, if identity: Identity) {
    if Identity(at: path) == identity { remove(path) }
  }

  private static func remove(_ path: String) {
    _ = unsafe unlink(path)
  }
}
