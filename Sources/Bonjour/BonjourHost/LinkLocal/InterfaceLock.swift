import Essentials
import Glibc
import EventLoop

/// Held by the one program that gives an interface its link-local address: a name in the abstract
/// namespace of UNIX sockets (unix(7)), which each network namespace has for itself, and which is
/// free again when the program ends, however it ends.
struct InterfaceLock: ~Copyable {
  private let descriptor: Int32

  /// Takes the lock.
  ///
  /// - Throws: `EADDRINUSE` if another program has it.
  init(_ interfaceName: String) throws(SystemError) {
    let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = socket(AF_UNIX, type, 0)
    guard descriptor >= 0 else { throw .current }
    // struct sockaddr_un: family, a zero byte, the name.
    var address = ByteWriter()
    address.uint16(UInt16(AF_UNIX))
    address.uint8(0)
    address.append("ambit-linklocal-\(interfaceName)".utf8)
    do throws(SystemError) { try bindSocket(descriptor, to: address.bytes) } catch {
      close(descriptor)
      throw error
    }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }
}
