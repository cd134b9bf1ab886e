import EventLoop
import Glibc

/// Reads a UNIX socket, and finds out which process sends.
///
/// The credentials of a connection are those of the process that began to listen (unix(7), `SO_PEERCRED`): root's, where
/// the service manager did. Those of a message are its sender's (`SCM_CREDENTIALS`), as the kernel gives them. It gives the
/// bytes of two processes to two reads, although they follow one another in the stream.
enum SenderReader {
  /// The process that has sent bytes. Its number is 0 where it is in another namespace.
  struct Sender: Hashable, Sendable {
    var processID: Int32
    var userID: UInt32
  }

  /// The result of a read.
  enum Outcome {
    /// Nothing has come.
    case nothing
    /// Bytes of one process; nil if the system doesn't know it.
    case bytes([UInt8], Sender?)
    case end
    case failed(SystemError)
  }

  /// SCM_CREDENTIALS, which Glibc's module does not have.
  private static let credentialsType: Int32 = 2
  /// struct cmsghdr of cmsg(3), on a machine with 64 bits.
  private static let headByteCount = 16
  /// The numbers of the process, its user and its group.
  private static let credentialsByteCount = 12

  /// Has the kernel add the sender's credentials to what comes from now on.
  static func begin(at socket: Int32) -> Bool {
    var isOn: Int32 = 1
    return unsafe setsockopt(
      socket, SOL_SOCKET, SO_PASSCRED, &isOn, socklen_t(MemoryLayout<Int32>.size)) == 0
  }

  /// Reads what one process has sent.
  static func read(at socket: Int32, byteCountMax: Int) -> Outcome {
    // Room for the credentials alone: the kernel closes descriptors that come with them.
    var control = [UInt64](repeating: 0, count: 4)
    var (count, controlByteCount) = (0, 0)
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: byteCountMax) {
      buffer, initializedCount in
      unsafe control.withUnsafeMutableBytes { control in
        var part = unsafe iovec(iov_base: buffer.baseAddress, iov_len: byteCountMax)
        unsafe withUnsafeMutablePointer(to: &part) { part in
          var message = unsafe msghdr()
          unsafe message.msg_iov = part
          unsafe message.msg_iovlen = 1
          unsafe message.msg_control = control.baseAddress
          unsafe message.msg_controllen = control.count
          repeat {
            count = unsafe recvmsg(socket, &message, Int32(MSG_DONTWAIT | MSG_CMSG_CLOEXEC))
          } while count < 0 && errno == EINTR
          controlByteCount = unsafe Int(message.msg_controllen)
        }
      }
      initializedCount = max(0, count)
    }
    if count < 0 {
      let error = SystemError.current
      return error.number == EAGAIN ? .nothing : .failed(error)
    }
    guard count > 0 else { return .end }
    let sender = unsafe control.withUnsafeBytes { control -> Sender? in
      unsafe self.sender(in: UnsafeRawBufferPointer(rebasing: control.prefix(controlByteCount)))
    }
    return .bytes(bytes, sender)
  }

  private static func sender(in control: UnsafeRawBufferPointer) -> Sender? {
    let byteCount = headByteCount + credentialsByteCount
    guard control.count >= byteCount,
      unsafe control.loadUnaligned(fromByteOffset: 0, as: Int.self) >= byteCount,
      unsafe control.loadUnaligned(fromByteOffset: 8, as: Int32.self) == SOL_SOCKET,
      unsafe control.loadUnaligned(fromByteOffset: 12, as: Int32.self) == credentialsType
    else { return nil }
    return unsafe Sender(
      processID: control.loadUnaligned(fromByteOffset: headByteCount, as: Int32.self),
      userID: control.loadUnaligned(fromByteOffset: headByteCount + 4, as: UInt32.self))
  }
}
