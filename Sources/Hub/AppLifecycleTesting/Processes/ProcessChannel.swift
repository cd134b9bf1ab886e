import CLinux
import Glibc
import Synchronization

/// A connected socket between a phone and a process of an app. Any thread may write, one reads.
final class ProcessChannel: Sendable {
  private let descriptor: Int32
  private let isWritable = Mutex(true)

  /// Takes a descriptor over, which is closed with this object.
  init(owning descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// How long a write waits for a process that doesn't read.
  func setWriteLimit(seconds: Double) {
    var limit = timeval(
      tv_sec: Int(seconds), tv_usec: Int((seconds - seconds.rounded(.down)) * 1e6))
    setsockopt(
      descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout.size(ofValue: limit)))
  }

  /// Writes frames, all of them or none after a failure. Returns whether they were written.
  @discardableResult
  func write(_ frames: ProcessFrame...) -> Bool {
    let bytes = frames.flatMap(\.bytes)
    return isWritable.withLock { isWritable in
      guard isWritable else { return false }
      isWritable = send(bytes)
      return isWritable
    }
  }

  private func send(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { buffer in
      var sent = 0
      while sent < buffer.count {
        let rest = UnsafeRawBufferPointer(rebasing: buffer[sent...])
        let count = Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        sent += count
      }
      return true
    }
  }

  /// Waits for bytes or the end. Returns false if `other` has bytes meanwhile, and nothing comes for a time after that.
  func awaitBytes(besides other: OutputPipe?) -> Bool {
    guard let other else { return true }
    var both = [
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: other.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    while poll(&both, 2, -1) < 0, errno == EINTR {}
    if both[0].revents != 0 { return true }
    // The process itself sends its output, unless it has stopped to run.
    while poll(&both, 1, Self.patience) < 0, errno == EINTR {}
    return both[0].revents != 0
  }

  /// In milliseconds.
  private static let patience: Int32 = 200

  /// Waits for bytes; nil at the end.
  func read() -> [UInt8]? {
    while true {
      let bytes = [UInt8](unsafeUninitializedCapacity: Self.readByteCount) { buffer, count in
        count = max(0, recv(descriptor, buffer.baseAddress, buffer.count, 0))
      }
      if !bytes.isEmpty { return bytes }
      if errno != EINTR { return nil }
      errno = 0
    }
  }

  private static let readByteCount = 1 << 16

  /// Ends the connection in both directions: the reader gets the end.
  func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
