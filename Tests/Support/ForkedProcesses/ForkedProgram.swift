import Glibc

/// A process that is connected to a UNIX socket, with a child that has the connection, too, and does nothing
/// (fork(2)).
package final class ForkedProgram: Sendable {
  private let parent: pid_t
  /// The child ends when this end of a pipe is closed.
  private let keeper: Int32
  /// The end of a pipe whose other end only the child has.
  private let life: Int32

  /// Starts both processes. Returns when the child has the socket.
  ///
  /// - Parameters:
  ///   - bytes: The first bytes that the process sends.
  ///   - path: The path of the listening socket.
  package init(sending bytes: [UInt8], to path: String) throws(ForkError) {
    guard var address = sockaddr_un(path: path) else { throw ForkError("the path is too long") }
    var (kept, living): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
    guard pipe(&kept) == 0, pipe(&living) == 0 else { throw ForkError("there is no pipe") }
    guard let fork = CLibrary.fork, let closeRange = CLibrary.closeRange else {
      throw ForkError("the C library has no fork")
    }
    let (end, signal) = (kept, living)
    let used = (low: UInt32(min(kept[0], living[1])), high: UInt32(max(kept[0], living[1])))
    let addressSize = socklen_t(MemoryLayout<sockaddr_un>.size)
    let type = Int32(SOCK_STREAM.rawValue)
    let process = bytes.withUnsafeBytes { bytes in
      withUnsafePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          let process = fork()
          if process == 0 {
            // Otherwise it would keep locks and sockets that other tests of this process close. An empty
            // range is refused.
            _ = closeRange(3, used.low - 1, 0)
            _ = closeRange(used.low + 1, used.high - 1, 0)
            _ = closeRange(used.high + 1, .max, 0)
            Self.run(fork, type, address, addressSize, bytes, end, signal)
          }
          return process
        }
      }
    }
    close(kept[0])
    close(living[1])
    parent = process
    keeper = kept[1]
    life = living[0]
    var byte: UInt8 = 0
    guard process > 0, read(life, &byte, 1) == 1 else {
      throw ForkError("the process has not connected")
    }
  }

  /// What the processes do; doesn't return in either of them.
  private static func run(
    _ fork: @convention(c) () -> pid_t, _ type: Int32, _ address: UnsafePointer<sockaddr>,
    _ addressSize: socklen_t, _ bytes: UnsafeRawBufferPointer, _ end: [Int32], _ signal: [Int32]
  ) -> Never {
    let descriptor = socket(AF_UNIX, type, 0)
    guard connect(descriptor, address, addressSize) == 0,
      write(descriptor, bytes.baseAddress, bytes.count) == bytes.count
    else { _exit(1) }
    var byte: UInt8 = 0
    if fork() == 0 {
      write(signal[1], &byte, 1)
      _ = read(end[0], &byte, 1)
      _exit(0)
    }
    close(signal[1])
    // Ends with the process of the test, at the latest.
    _ = read(end[0], &byte, 1)
    _exit(0)
  }

  /// Kills the process that connected.
  package func killParent() {
    kill(parent, SIGKILL)
    waitpid(parent, nil, 0)
  }

  /// Whether the child lives: its end of the pipe is open.
  package var hasChild: Bool {
    var waiting = pollfd(fd: life, events: Int16(POLLIN), revents: 0)
    return poll(&waiting, 1, 0) == 0
  }

  /// Ends the child.
  package func endChild() {
    close(keeper)
    var byte: UInt8 = 0
    _ = read(life, &byte, 1)
    close(life)
  }
}
