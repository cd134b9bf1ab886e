import Glibc
import NIOCore
import NIOPosix

/// The file that stands for a UNIX socket.
enum UNIXSocketFile {
  /// Removes what a server left behind that is no more; throws where one still listens.
  static func removeStale(at path: String, on eventLoop: any EventLoop) async throws {
    var information = stat()
    guard unsafe lstat(path, &information) == 0 else { return }
    guard information.st_mode & S_IFMT == S_IFSOCK else {
      throw RadioServerError(
        "The radio cannot be served at unix:\(path): there is a file that is no socket.")
    }
    do {
      let channel = try await ClientBootstrap(group: eventLoop)
        .connect(unixDomainSocketPath: path).get()
      try? await channel.close()
    } catch let error as IOError where error.errnoCode == ECONNREFUSED {
      remove(path)
      return
    }
    throw IOError(errnoCode: EADDRINUSE, reason: "bind")
  }

  /// Removes the file.
  static func remove(_ path: String) {
    _ = unsafe unlink(path)
  }
}
