internal import Glibc

/// Bytes on a UNIX socket with a descriptor beside them (unix(7), `SCM_RIGHTS`).
package enum DescriptorMessage {
  // The layout of cmsg(3), whose macros Swift doesn't have.
  private static let wordByteCount = MemoryLayout<Int>.size
  private static let headByteCount = wordByteCount + 8
  /// Its number; Glibc's module has it in another type on some systems.
  private static let rights: Int32 = 1
  /// A peer that sends more descriptors than this loses them.
  private static let descriptorCountMax = 4

  /// Sends all the bytes, and a duplicate of the descriptor, if there is one. Returns whether the system took all.
  package static func send(_ bytes: [UInt8], with descriptor: Int32? = nil, on socket: Int32)
    -> Bool
  {
    var sent = 0
    while sent < bytes.count {
      let count =
        sent == 0 ? sendFirst(bytes, descriptor, socket) : sendRest(bytes[sent...], socket)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  private static func sendRest(_ bytes: ArraySlice<UInt8>, _ socket: Int32) -> Int {
    bytes.withUnsafeBytes {
      Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
    }
  }

  private static func sendFirst(_ bytes: [UInt8], _ descriptor: Int32?, _ socket: Int32) -> Int {
    var control = [UInt8](repeating: 0, count: headByteCount + wordByteCount)
    if let descriptor {
      control.withUnsafeMutableBytes { buffer in
        buffer.storeBytes(of: headByteCount + MemoryLayout<Int32>.size, as: Int.self)
        buffer.storeBytes(of: SOL_SOCKET, toByteOffset: wordByteCount, as: Int32.self)
        buffer.storeBytes(of: rights, toByteOffset: wordByteCount + 4, as: Int32.self)
        buffer.storeBytes(of: descriptor, toByteOffset: headByteCount, as: Int32.self)
      }
    }
    let controlByteCount = descriptor == nil ? 0 : control.count
    var bytes = bytes
    return bytes.withUnsafeMutableBytes { content in
      var part = iovec(iov_base: content.baseAddress, iov_len: content.count)
      return control.withUnsafeMutableBytes { control in
        withUnsafeMutablePointer(to: &part) { part in
          var message = msghdr()
          message.msg_iov = part
          message.msg_iovlen = 1
          message.msg_control = controlByteCount == 0 ? nil : control.baseAddress
          message.msg_controllen = controlByteCount
          return sendmsg(socket, &message, Int32(MSG_NOSIGNAL))
        }
      }
    }
  }

  /// Receives bytes, and the descriptors beside them, which the caller closes.
  ///
  /// - Returns: No bytes at the end, and whether descriptors were lost: this process had no number left for them, or the
  ///   peer sent too many. Nil where there is nothing now, or after an error.
  package static func receive(
    _ byteCountMax: Int, from socket: Int32
  ) -> (bytes: [UInt8], descriptors: [Int32], isTruncated: Bool)? {
    var isTruncated = false
    var control = [UInt8](repeating: 0, count: headByteCount + 4 * descriptorCountMax)
    var controlByteCount = 0
    var count = -1
    var bytes = [UInt8](repeating: 0, count: max(1, byteCountMax))
    repeat {
      bytes.withUnsafeMutableBytes { content in
        var part = iovec(iov_base: content.baseAddress, iov_len: content.count)
        control.withUnsafeMutableBytes { control in
          withUnsafeMutablePointer(to: &part) { part in
            var message = msghdr()
            message.msg_iov = part
            message.msg_iovlen = 1
            message.msg_control = control.baseAddress
            message.msg_controllen = control.count
            count = recvmsg(socket, &message, Int32(MSG_CMSG_CLOEXEC))
            controlByteCount = Int(message.msg_controllen)
            isTruncated = message.msg_flags & Int32(MSG_CTRUNC) != 0
          }
        }
      }
    } while count < 0 && errno == EINTR
    guard count >= 0 else { return nil }
    return (
      Array(bytes.prefix(count)), descriptors(control.prefix(controlByteCount)), isTruncated
    )
  }

  private static func descriptors(_ control: ArraySlice<UInt8>) -> [Int32] {
    var found: [Int32] = []
    control.withUnsafeBytes { buffer in
      var start = 0
      while start + headByteCount <= buffer.count {
        let length = buffer.loadUnaligned(fromByteOffset: start, as: Int.self)
        let level = buffer.loadUnaligned(fromByteOffset: start + wordByteCount, as: Int32.self)
        let type = buffer.loadUnaligned(fromByteOffset: start + wordByteCount + 4, as: Int32.self)
        guard length >= headByteCount, length <= buffer.count - start else { break }
        if level == SOL_SOCKET, type == rights {
          for place in stride(from: start + headByteCount, through: start + length - 4, by: 4) {
            found.append(buffer.loadUnaligned(fromByteOffset: place, as: Int32.self))
          }
        }
        start += (length + wordByteCount - 1) / wordByteCount * wordByteCount
      }
    }
    return found
  }
}
