import Glibc

/// A listening UNIX socket of another user, for tests that run as root.
///
/// Its other end is the process that called `listen`, by SO_PEERCRED: a child that has become that user.
package struct StrangersSocket: Sendable {
  /// The listening socket, which this process has, too.
  package let descriptor: Int32
  private let path: String

  /// Makes the socket at a path. Closed with ``close()``.
  package init(of userID: UInt32, at path: String) throws(ForkError) {
    guard var address = sockaddr_un(path: path) else { throw ForkError("the path is too long") }
    guard let fork = CLibrary.fork else { throw ForkError("the C library has no fork") }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let status = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(descriptor, $0, size)
      }
    }
    guard descriptor >= 0, status == 0 else { throw ForkError("the socket can't be made") }
    let child = fork()
    if child == 0 {
      guard setuid(userID) == 0, listen(descriptor, 16) == 0 else { _exit(1) }
      _exit(0)
    }
    var end: Int32 = 0
    while unsafe waitpid(child, &end, 0) < 0, errno == EINTR {}
    guard child > 0, end == 0 else { throw ForkError("the child can't listen") }
    self.descriptor = descriptor
    self.path = path
  }

  /// Closes the socket, and removes its file.
  package func close() {
    Glibc.close(descriptor)
    unlink(path)
  }
}
