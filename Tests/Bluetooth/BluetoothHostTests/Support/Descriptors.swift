import Glibc

/// The other end of a file descriptor under test; closed with it.
final class OtherEnd: Sendable {
  let descriptor: Int32

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Writes all of the bytes at once.
  func write(_ bytes: [UInt8]) -> Bool {
    Glibc.write(descriptor, bytes, bytes.count) == bytes.count
  }

  /// What one read gives, waiting for it at most as long as a busy machine needs.
  func read() -> [UInt8] {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&waiting, 1, 50_000) == 1 else { return [] }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = Glibc.read(descriptor, &buffer, buffer.count)
    return count > 0 ? Array(buffer.prefix(count)) : []
  }

  /// Reads until `count` bytes came.
  func read(_ count: Int) -> [UInt8] {
    var found: [UInt8] = []
    while found.count < count {
      let more = read()
      if more.isEmpty { break }
      found += more
    }
    return found
  }
}
