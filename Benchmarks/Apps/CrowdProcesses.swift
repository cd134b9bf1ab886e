import AppSessions
import BenchmarkSupport
import Essentials
import EventLoop
import Foundation
import Glibc
import Synchronization

/// The bound of descriptors of this program and of those that it starts.
enum DescriptorCount {
  /// - Throws: If the hard limit is lower than this.
  static func raise(to count: Int) throws {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
      throw SystemError.current
    }
    guard limit.rlim_max >= rlim_t(count) else {
      throw ChildError(
        "this benchmark needs \(count) descriptors in each process, and the hard limit is "
          + "\(limit.rlim_max): raise it, as with prlimit --nofile=\(count)")
    }
    limit.rlim_cur = limit.rlim_max
    guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
      throw SystemError.current
    }
  }
}

/// Accepts the connections of apps, and sends nothing.
final class CrowdServer: Sendable {
  let port: UInt16
  private let listener: Int32

  init() throws {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let address = SocketAddress(.v4(Inet4Address(127, 0, 0, 1)), port: 0)
    let listener = listener
    guard address.with({ bind(listener, $0, $1) }) == 0, listen(listener, 1_024) == 0,
      let port = SocketAddress(boundTo: listener)?.port
    else { throw SystemError.current }
    self.port = port
    _ = DetachedThread.start {
      // They end with this program.
      while accept(listener, nil, nil) >= 0 {}
    }
  }

  func close() { shutdown(listener, Int32(SHUT_RDWR)) }
}

/// The descriptor store of a service manager (sd_notify(3)).
final class CrowdStore: Sendable {
  let path: String
  private let descriptor: Int32
  private let stored = Mutex<[String: Int32]>([:])
  /// Above those that a child gets, which would replace them.
  private let firstDescriptor: Int32

  /// - Parameter countMax: How many descriptors it may get.
  init(at path: String, countMax: Int) throws {
    self.path = path
    firstDescriptor = STDERR_FILENO + 1 + Int32(countMax)
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    self.descriptor = descriptor
    guard let address = SocketAddress(path: path),
      address.with({ bind(descriptor, $0, $1) }) == 0
    else { throw SystemError.current }
    _ = DetachedThread.start { [self] in
      while let (bytes, descriptors, _) = DescriptorMessage.receive(4_096, from: descriptor) {
        guard !bytes.isEmpty else { return }
        keep(String(decoding: bytes, as: UTF8.self), descriptors.first)
      }
    }
  }

  private func keep(_ text: String, _ descriptor: Int32?) {
    let lines = text.split(separator: "\n")
    guard let name = lines.first(where: { $0.hasPrefix("FDNAME=") })?.dropFirst(7) else { return }
    let old = stored.withLock { stored in
      let old = stored.removeValue(forKey: String(name))
      guard let descriptor else { return old }
      let kept = fcntl(descriptor, F_DUPFD_CLOEXEC, firstDescriptor)
      // The next manager would wait for a socket that it never gets.
      precondition(kept >= 0, "no descriptor is free for a stored socket")
      stored[String(name)] = kept
      return old
    }
    for number in [old, descriptor].compactMap(\.self) { Glibc.close(number) }
  }

  var descriptors: [(name: String, descriptor: Int32)] {
    stored.withLock { $0.sorted { $0.value < $1.value }.map { ($0.key, $0.value) } }
  }

  func close() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}

/// The manager of apps as a program, with the descriptors of its store.
final class StartedManager {
  private(set) var processID: pid_t = 0

  init(_ program: String, in folder: String, _ store: CrowdStore) throws {
    let kept = store.descriptors
    var files = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&files)
    defer { posix_spawn_file_actions_destroy(&files) }
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
    for (index, (_, descriptor)) in kept.enumerated() {
      posix_spawn_file_actions_adddup2(&files, descriptor, 3 + Int32(index))
    }
    // The shell knows the number of the process, which the program keeps.
    let words = [
      "/usr/bin/setpriv", "--pdeathsig", "KILL", "/bin/sh", "-c", "LISTEN_PID=$$ exec \"$@\"", "sh",
      program, "apps", "run", "--freezer", "signals",
    ]
    var variables = ProcessInfo.processInfo.environment
    variables["AMBIT_HUB"] = folder + "/hub"
    variables["AMBIT_RADIO"] = nil
    variables["AMBIT_APPS"] = nil
    variables["XDG_RUNTIME_DIR"] = folder
    variables["XDG_STATE_HOME"] = folder
    variables["NOTIFY_SOCKET"] = store.path
    variables["LISTEN_FDS"] = "\(kept.count)"
    variables["LISTEN_FDNAMES"] = kept.map(\.name).joined(separator: ":")
    var arguments = words.map { strdup($0) } + [nil]
    var environment = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for pointer in arguments + environment { free(pointer) } }
    var process: pid_t = 0
    let number = LastingThread.shared.perform {
      posix_spawn(&process, words[0], &files, nil, &arguments, &environment)
    }
    processID = process
    guard number == 0 else { throw SystemError(number: number) }
  }

  var processorTime: Double {
    var clock = clockid_t()
    var time = timespec()
    guard clock_getcpuclockid(processID, &clock) == 0, clock_gettime(clock, &time) == 0 else {
      return .nan
    }
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  func kill() { end(SIGKILL) }

  /// Ends the manager and its apps.
  func terminate() { end(SIGTERM) }

  private func end(_ signal: Int32) {
    Glibc.kill(processID, signal)
    var status: Int32 = 0
    waitpid(processID, &status, 0)
  }
}
