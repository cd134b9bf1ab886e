import Glibc
import HubWire
import Testing

/// A process that uses a hub, with a child that has its socket and does nothing (fork(2)).
final class ForkedProgram: Sendable {
  private let parent: pid_t
  /// The child ends when this end of a pipe is closed.
  private let keeper: Int32
  /// The end of a pipe whose other end only the child has.
  private let life: Int32

  /// Starts both processes. Returns when the child has the socket.
  init(_ app: String, at path: String) throws {
    var writer = HubFrameWriter()
    try writer.append(AppMessage.greeting(HubGreeting(app: app, abilities: .bluetooth)))
    let greeting = writer.takeBytes()
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    var (kept, living): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
    try #require(pipe(&kept) == 0 && pipe(&living) == 0)
    // Swift's module of the C library leaves it out, since threads don't live on in the child. The code below
    // only calls the system.
    let fork = unsafe unsafeBitCast(
      try #require(dlsym(nil, "fork")), to: (@convention(c) () -> pid_t).self)
    let closeRange = unsafe unsafeBitCast(
      try #require(dlsym(nil, "close_range")),
      to: (@convention(c) (UInt32, UInt32, Int32) -> Int32).self)
    let (end, signal) = (kept, living)
    let used = (low: UInt32(min(kept[0], living[1])), high: UInt32(max(kept[0], living[1])))
    let addressSize = socklen_t(MemoryLayout<sockaddr_un>.size)
    let type = Int32(SOCK_STREAM.rawValue)
    let process = greeting.withUnsafeBytes { greeting in
      withUnsafePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          let process = fork()
          if process == 0 {
            // Otherwise it would keep locks and sockets that other tests of this process close. An empty
            // range is refused.
            _ = closeRange(3, used.low - 1, 0)
            _ = closeRange(used.low + 1, used.high - 1, 0)
            _ = closeRange(used.high + 1, .max, 0)
            Self.run(fork, type, address, addressSize, greeting, end, signal)
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
    try #require(process > 0 && read(life, &byte, 1) == 1)
  }

  /// What the processes do; doesn't return in either of them.
  private static func run(
    _ fork: @convention(c) () -> pid_t, _ type: Int32, _ address: UnsafePointer<sockaddr>,
    _ addressSize: socklen_t, _ greeting: UnsafeRawBufferPointer, _ end: [Int32], _ signal: [Int32]
  ) -> Never {
    let descriptor = socket(AF_UNIX, type, 0)
    guard connect(descriptor, address, addressSize) == 0,
      write(descriptor, greeting.baseAddress, greeting.count) == greeting.count
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
  func killParent() {
    kill(parent, SIGKILL)
    waitpid(parent, nil, 0)
  }

  /// Whether the child lives: its end of the pipe is open.
  var hasChild: Bool {
    var waiting = pollfd(fd: life, events: Int16(POLLIN), revents: 0)
    return poll(&waiting, 1, 0) == 0
  }

  /// Ends the child.
  func endChild() {
    close(keeper)
    var byte: UInt8 = 0
    _ = read(life, &byte, 1)
    close(life)
  }
}
