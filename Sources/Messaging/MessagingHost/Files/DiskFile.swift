#if Messaging
  internal import EventLoop
  internal import Glibc

  /// Why a file on this machine can't be used, as a sentence without a full stop.
  package struct DiskFileError: Error, Hashable, Sendable {
    package var reason: String

    init(_ reason: String) { self.reason = reason }

    /// The error of the last call of the system.
    static func last() -> DiskFileError { DiskFileError(SystemError(number: errno).text) }
  }

  /// An open regular file. Functions block until the disk has answered; used by one thread at a time.
  final class DiskFile: @unchecked Sendable {
    // The descriptor is constant, and the system's calls may be made from any thread.
    private let descriptor: CInt

    private init(_ descriptor: CInt) { self.descriptor = descriptor }

    deinit { Glibc.close(descriptor) }

    /// Opens a file to read it. A pipe or a device is refused, and isn't waited for.
    static func open(_ path: String) throws(DiskFileError) -> DiskFile {
      let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
      guard descriptor >= 0 else { throw .last() }
      let file = DiskFile(descriptor)
      _ = try file.byteCount()
      return file
    }

    /// Opens a file to write it, and creates it for this user only. A link is refused.
    static func create(_ path: String) throws(DiskFileError) -> DiskFile {
      let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard descriptor >= 0 else { throw .last() }
      let file = DiskFile(descriptor)
      _ = try file.byteCount()
      return file
    }

    /// Lends the descriptor for the time of a call.
    func withDescriptor<Value>(_ body: (CInt) -> Value) -> Value {
      withExtendedLifetime(self) { body(descriptor) }
    }

    func byteCount() throws(DiskFileError) -> Int64 {
      var information = stat()
      guard fstat(descriptor, &information) == 0 else { throw .last() }
      guard information.st_mode & S_IFMT == S_IFREG else {
        throw DiskFileError("it is not a regular file")
      }
      return Int64(information.st_size)
    }

    /// Up to `count` bytes from a place; fewer at the end only.
    func read(_ count: Int, at place: Int64) throws(DiskFileError) -> [UInt8] {
      var bytes = [UInt8](repeating: 0, count: count)
      var filled = 0
      while filled < count {
        let got = bytes.withUnsafeMutableBytes { buffer in
          unsafe pread(
            descriptor, buffer.baseAddress?.advanced(by: filled), count - filled,
            off_t(place) + off_t(filled))
        }
        if got == 0 { break }
        if got < 0 {
          if errno == EINTR { continue }
          throw .last()
        }
        filled += got
      }
      bytes.removeLast(count - filled)
      return bytes
    }

    func write(_ bytes: [UInt8], at place: Int64) throws(DiskFileError) {
      var written = 0
      while written < bytes.count {
        let count = bytes.withUnsafeBytes { buffer in
          unsafe pwrite(
            descriptor, buffer.baseAddress?.advanced(by: written), buffer.count - written,
            off_t(place) + off_t(written))
        }
        if count < 0 {
          if errno == EINTR { continue }
          throw .last()
        }
        written += count
      }
    }

    func truncate(to count: Int64) throws(DiskFileError) {
      guard ftruncate(descriptor, off_t(count)) == 0 else { throw .last() }
    }

    func synchronize() throws(DiskFileError) {
      guard fsync(descriptor) == 0 else { throw .last() }
    }

    /// The SHA-256 digest of its first bytes. Takes a second for a gigabyte.
    func digest(of byteCount: Int64) throws(DiskFileError) -> [UInt8] {
      let digest = DigestStream()
      var place: Int64 = 0
      while place < byteCount {
        let part = try read(Int(min(1 << 18, byteCount - place)), at: place)
        guard !part.isEmpty else { throw DiskFileError("it became shorter") }
        part.withUnsafeBytes { unsafe digest.append($0) }
        place += Int64(part.count)
      }
      return digest.finish()
    }
  }
#endif
