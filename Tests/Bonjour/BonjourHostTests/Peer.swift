import Dispatch
import Essentials
import Glibc
import EventLoop

/// The other end of a socket, which a test drives. Waiting for it blocks no event loop.
struct Peer: Sendable {
  private final class Descriptor: Sendable {
    let number: Int32
    init(_ number: Int32) { self.number = number }
    deinit { close(number) }
  }

  private let descriptor: Descriptor

  /// Takes the socket over.
  init(_ number: Int32) {
    descriptor = Descriptor(number)
    let flags = fcntl(number, F_GETFL)
    _ = fcntl(number, F_SETFL, flags & ~O_NONBLOCK)
  }

  /// Does what waits, on a thread that may.
  private static func waiting<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(with: .init(catching: body)) }
    }
  }

  /// Accepts the first connection.
  static func accept(_ listener: Int32) async throws -> Peer {
    try await Self.waiting {
      var waiting = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
      guard unsafe poll(&waiting, 1, 50_000) == 1 else { throw SystemError(number: ETIMEDOUT) }
      let number = Glibc.accept(listener, nil, nil)
      guard number >= 0 else { throw SystemError.current }
      return Peer(number)
    }
  }

  /// What arrives next; nothing at the end.
  func read() async throws -> [UInt8] {
    try await Self.waiting {
      var bytes = [UInt8](repeating: 0, count: 65_536)
      let count = unsafe Glibc.read(descriptor.number, &bytes, bytes.count)
      guard count >= 0 else { throw SystemError.current }
      return Array(bytes.prefix(count))
    }
  }

  /// Closes the connection.
  func end() { shutdown(descriptor.number, Int32(SHUT_RDWR)) }

  /// Sends a few bytes.
  func write(_ bytes: [UInt8]) throws {
    // A signal would end the process if the other end is closed.
    let count = unsafe send(descriptor.number, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    guard count == bytes.count else { throw SystemError.current }
  }
}
