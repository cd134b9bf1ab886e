import EventLoop
import Glibc
import ProcessSpawning

/// The start of this program as the process of an app, and its end.
struct SpawnedProcess: Sendable {
  /// The socket of a process, and its end of the pair of sockets that its output is written to.
  static let socket: Int32 = 3
  static let output: Int32 = 4
  /// The variable of its environment that makes it an app.
  static let variable = "AMBIT_SIMULATED_APP"

  let id: pid_t
  let channel: ProcessChannel
  /// Reads the output that the process could not send any more.
  let output: OutputPipe

  /// Starts this program again.
  ///
  /// - Parameter environment: The variables that differ from this program's.
  static func start(_ environment: [String: String]) throws(SystemError) -> SpawnedProcess {
    let (phone, app) = try socketPair()
    let channel = ProcessChannel(owning: phone)
    let other = OwnedDescriptor(app)
    // Like a pipe, and closed in other programs that this one starts meanwhile.
    let (readable, writable) = try socketPair()
    let output = OutputPipe(owning: readable)
    let input = OwnedDescriptor(writable)
    // Above those that the process gets, so that none is replaced before it is copied.
    var sources: [Int32] = []
    defer { for source in sources { close(source) } }
    for descriptor in [other.value, readable, input.value] {
      let source = fcntl(descriptor, F_DUPFD_CLOEXEC, 16)
      guard source >= 0 else { throw .current }
      sources.append(source)
    }
    // In a group of its own: the kernel ends its stopped processes when this program is gone, however it ended
    // (POSIX.1-2017, _exit, "orphaned process group").
    var spawn = ProcessSpawn(
      .path("/proc/self/exe"), arguments: [CommandLine.arguments.first ?? "app"],
      environment: ProcessSpawn.environment(with: environment), leads: .group)
    spawn.descriptors = [
      (sources[2], STDOUT_FILENO), (sources[2], STDERR_FILENO), (sources[0], socket),
      (sources[1], Self.output),
    ]
    spawn.descriptorMax = Self.output
    return SpawnedProcess(id: try spawn.start(), channel: channel, output: output)
  }

  private static func socketPair() throws(SystemError) -> (Int32, Int32) {
    var ends: [Int32] = [0, 0]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw .current }
    return (ends[0], ends[1])
  }

  /// Waits for the end of the process, which must be ending. Returns its status, as waitpid(2) has it.
  func wait() -> Int32 {
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0, errno == EINTR {}
    return status
  }
}

/// A descriptor that is closed with its last reference.
final class OwnedDescriptor: Sendable {
  let value: Int32

  init(_ value: Int32) { self.value = value }

  deinit { close(value) }
}

/// The readable end of the pipe of an app's output.
final class OutputPipe: Sendable {
  let descriptor: Int32

  init(owning descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// The bytes that are in it, without waiting: at most as many as a pipe holds.
  func drain() -> [UInt8] {
    var count: Int32 = 0
    guard ioctl(descriptor, UInt(FIONREAD), &count) == 0, count > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: Int(count)) { buffer, filled in
      filled = max(0, Glibc.read(descriptor, buffer.baseAddress, buffer.count))
    }
  }

  /// Waits for bytes. Returns false at the end.
  func wait() -> Bool {
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while Glibc.poll(&poll, 1, -1) < 0 { if errno != EINTR { return false } }
    return poll.revents & Int16(POLLIN) != 0
  }
}

extension SpawnedProcess {
  /// How long a process that has closed its socket may take to end, in milliseconds.
  private static let exitTimeMax: Int32 = 2_000

  /// Waits for the end of the process without reaping it. Returns false if it goes on for too long.
  func awaitExit() -> Bool {
    for _ in 0..<Self.exitTimeMax {
      if hasExited(Int32(WNOHANG)) { return true }
      poll(nil, 0, 1)
    }
    return false
  }

  /// Waits for a process that was killed, without reaping it.
  func awaitKill() { _ = hasExited(0) }

  private func hasExited(_ options: Int32) -> Bool {
    var information = siginfo_t()
    var result: Int32
    repeat {
      result = waitid(P_PID, id_t(id), &information, Int32(WEXITED | WNOWAIT) | options)
    } while result < 0 && errno == EINTR
    // Without a process of this number, there is nothing to wait for.
    return result < 0 || information.si_signo != 0
  }
}
