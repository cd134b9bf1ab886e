import CLinux
import Foundation
import Glibc

/// Runs one command again and again, each time as a process of its own, without waiting for it.
///
/// The processes get the default actions of all signals, an empty signal mask, /dev/null as standard
/// input, and none of this program's descriptors but output and error output.
final class CommandRunner: Sendable {
  /// The limit of processes at once, because commands may hang.
  static let processesMax = 16

  private let command: [String]
  private let output: Output
  private let running = Guarded(0)

  init(command: [String], output: Output) {
    self.command = command
    self.output = output
  }

  private var name: String { Fit.safe(command.first ?? "") }

  /// How many processes run.
  var runningCount: Int { running.value }

  /// Starts the command with additional environment variables. Prints failures.
  func run(_ more: [String: String]) {
    let hasRoom = running.update { count in
      guard count < Self.processesMax else { return false }
      count += 1
      return true
    }
    guard hasRoom else {
      output.warn(
        "\(Self.processesMax) commands are running; none was started for "
          + "\(more["AMBIT_EVENT"] ?? "") \(more["AMBIT_REGION"] ?? "")")
      return
    }
    let environment = ProcessInfo.processInfo.environment.merging(more) { $1 }
    let (code, process) = Self.spawn(command, environment)
    guard code == 0 else {
      running.update { $0 -= 1 }
      output.warn("\(name) cannot be run: \(String(cString: strerror(code)))")
      return
    }
    // One thread for each process: their number is limited, and no signal handlers are changed.
    Thread.detachNewThread { [self] in
      var status: Int32 = 0
      while waitpid(process, &status, 0) < 0 && errno == EINTR {}
      running.update { $0 -= 1 }
      report(status)
    }
  }

  private func report(_ status: Int32) {
    let signal = status & 0x7F
    let code = (status >> 8) & 0xFF
    if signal != 0 {
      output.warn("\(name) was ended by signal \(signal)")
    } else if code != 0 {
      output.warn("\(name) ended with status \(code)")
    }
  }

  /// Starts a process; the error code of `posix_spawnp`, 0 for none, and its identifier.
  private static func spawn(
    _ command: [String], _ environment: [String: String]
  ) -> (code: Int32, process: pid_t) {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var all = sigset_t()
    sigfillset(&all)
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK))

    var files = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&files)
    defer { posix_spawn_file_actions_destroy(&files) }
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    spawn_close_from(&files, STDERR_FILENO + 1)

    var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] =
      environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for pointer in arguments + variables { free(pointer) } }
    var process: pid_t = 0
    guard let program = arguments.first ?? nil else { return (ENOENT, 0) }
    let code = posix_spawnp(&process, program, &files, &attributes, &arguments, &variables)
    return (code, process)
  }
}
