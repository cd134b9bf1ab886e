import Foundation

/// A pipe that is full, with a reader that takes nothing.
struct StuckReader: ~Copyable {
  let pipe = Pipe()

  init() {
    let descriptor = pipe.fileHandleForWriting.fileDescriptor
    let flags = fcntl(descriptor, F_GETFL)
    _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)
    for byteCount in [4_096, 1] {
      let bytes = [UInt8](repeating: 0, count: byteCount)
      while write(descriptor, bytes, byteCount) > 0 {}
    }
    _ = fcntl(descriptor, F_SETFL, flags)
  }
}
