import EventLoop
import Glibc

/// Finds out which user's process sends to a UNIX socket.
///
/// The credentials of a connection are those of the process that began to listen (unix(7), `SO_PEERCRED`): root's, where
/// the service manager did. Those of a message are its sender's (`SCM_CREDENTIALS`), as the kernel gives them.
enum SenderReader {
  /// SCM_CREDENTIALS, which Glibc's module does not have.
  private static let credentialsType: Int32 = 2

  /// Has the kernel add the sender's credentials to what comes from now on.
  static func begin(at socket: Int32) -> Bool {
    var isOn: Int32 = 1
    return unsafe setsockopt(
      socket, SOL_SOCKET, SO_PASSCRED, &isOn, socklen_t(MemoryLayout<Int32>.size)) == 0
  }

  /// The user whose process has sent the bytes that are read next, and which stay there.
  ///
  /// - Returns: Nil where nothing has come, at the end, and if the user isn't known.
  static func userID(at socket: Int32) -> UInt32? {
    // struct cmsghdr of cmsg(3), then the numbers of the process, its user and its group.
    var control = [UInt64](repeating: 0, count: 8)
    var byte: UInt8 = 0
    let byteCount = unsafe control.withUnsafeMutableBytes { control in
      unsafe withUnsafeMutablePointer(to: &byte) { byte -> Int? in
        var part = unsafe iovec(iov_base: byte, iov_len: 1)
        return unsafe withUnsafeMutablePointer(to: &part) { part -> Int? in
          var message = unsafe msghdr()
          unsafe message.msg_iov = part
          unsafe message.msg_iovlen = 1
          unsafe message.msg_control = control.baseAddress
          unsafe message.msg_controllen = control.count
          let flags = Int32(MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC)
          guard unsafe recvmsg(socket, &message, flags) == 1 else { return nil }
          return unsafe Int(message.msg_controllen)
        }
      }
    }
    guard let byteCount else { return nil }
    return unsafe control.withUnsafeBytes {
      unsafe userID(in: UnsafeRawBufferPointer(rebasing: $0.prefix(byteCount)))
    }
  }

  private static func userID(in control: UnsafeRawBufferPointer) -> UInt32? {
    let headByteCount = 16
    guard control.count >= headByteCount + 12,
      unsafe control.loadUnaligned(fromByteOffset: 0, as: Int.self) >= headByteCount + 12,
      unsafe control.loadUnaligned(fromByteOffset: 8, as: Int32.self) == SOL_SOCKET,
      unsafe control.loadUnaligned(fromByteOffset: 12, as: Int32.self) == credentialsType
    else { return nil }
    return unsafe control.loadUnaligned(fromByteOffset: headByteCount + 4, as: UInt32.self)
  }
}
