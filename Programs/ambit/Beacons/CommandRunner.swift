import EventLoop
import Foundation
import Glibc
import ProcessSpawning

/// Runs one command, once at a time for each region, each time as a process of its own, without
/// waiting for it.
///
/// The processes get the default actions of all signals but those that this program was started to
/// ignore, an empty signal mask, /dev/null as standard input, none of this program's descriptors but
/// output and error output, and a process group of their own.
///
/// When a command is ended, all processes of its group end, or are killed, before the next begins. A
/// command that ends by itself may leave processes behind. A process that has left the group gets no
/// signal, and is not waited for.
final class CommandRunner: Sendable {
  /// How a start went.
  enum Start: Hashable, Sendable {
    case started
    /// The command can't be run; that was printed.
    case failed
    /// There are too many processes; it may be possible later.
    case noRoom
  }

  private let command: [String]
  private let output: Output
  private struct Running {
    let process: pid_t
    /// The group was asked to end.
    var isEnding = false
    var isKilled = false
  }

  /// The process of each region.
  private let processes = Guarded<[String: Running]>([:])
  /// Called when there are no more processes; set when all are to end.
  private let onLastEnd = Guarded<(@Sendable () -> Void)?>(nil)
  /// How long commands have to end before the program does.
  private static let lastTime = Duration.seconds(2)
  /// How often it looks whether a group has ended whose first process has, in microseconds.
  private static let groupPause: UInt32 = 50_000

  init(command: [String], output: Output) {
    self.command = command
    self.output = output
  }

  private var name: String { Fit.safe(command.first ?? "") }

  /// Starts the command for a region. Prints failures.
  /// - Parameters:
  ///   - more: Environment variables in addition to this program's.
  ///   - region: The region, which has no running command.
  ///   - onEnd: Called when the process, or the group that was to end, has ended, on a thread of its own.
  func start(
    _ more: [String: String], for region: String, onEnd: @escaping @Sendable () -> Void
  ) -> Start {
    let process: pid_t
    do throws(SystemError) { process = try spawn(more) } catch {
      let isForNow = error.number == EAGAIN || error.number == ENOMEM
      let reason = String(cString: strerror(error.number))
      output.warn("\(name) cannot be run: \(reason)" + (isForNow ? "; trying again" : ""))
      return isForNow ? .noRoom : .failed
    }
    processes.update { $0[region] = Running(process: process) }
    // One thread for each process: their number is limited, and no signal handlers are changed.
    Thread.detachNewThread { [self] in
      // Its number stays in use until no signal can be sent to it any more.
      var information = siginfo_t()
      while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) < 0 && errno == EINTR {}
      while isEnding(region), ProcessGroup.hasOthers(than: process) { usleep(Self.groupPause) }
      processes.update { processes in
        // Also processes that started during the search of the group. The number is still this group's.
        if processes[region]?.isEnding == true { kill(-process, SIGKILL) }
        processes[region] = nil
        if processes.isEmpty { onLastEnd.update { $0?() } }
      }
      var status: Int32 = 0
      while waitpid(process, &status, 0) < 0 && errno == EINTR {}
      if onLastEnd.value == nil { report(status) }
      onEnd()
    }
    return .started
  }

  private func spawn(_ more: [String: String]) throws(SystemError) -> pid_t {
    guard let program = command.first else { throw SystemError(number: ENOENT) }
    var spawn = ProcessSpawn(
      .name(program), arguments: command, environment: ProcessSpawn.environment(with: more),
      leads: .group)
    spawn.inheritedIgnored = Interrupts.inheritedIgnored
    return try spawn.start()
  }

  /// Ends the command of a region, with all that it started.
  func end(region: String, isForced: Bool) {
    let isRunning = processes.update { processes in
      guard let running = processes[region] else { return false }
      kill(-running.process, isForced ? SIGKILL : SIGTERM)
      processes[region]?.isEnding = true
      processes[region]?.isKilled = isForced
      return true
    }
    if isRunning, !isForced {
      output.warn("\(name) is ended, because the next event of \(Fit.safe(region)) waits for it")
    }
  }

  /// Ends all commands, with all that they started: those that don't heed it are killed after two seconds.
  /// No more may be started.
  func endAll() async {
    let (ends, continuation) = AsyncStream.makeStream(of: Never.self)
    onLastEnd.update { $0 = { continuation.finish() } }
    processes.update { processes in
      for (region, running) in processes {
        kill(-running.process, SIGTERM)
        processes[region]?.isEnding = true
      }
      if processes.isEmpty { continuation.finish() }
    }
    _ = try? await race(Self.lastTime) { for await _ in ends {} }
    processes.update { for running in $0.values { kill(-running.process, SIGKILL) } }
  }

  /// Passes a signal of the terminal on, which doesn't reach process groups of their own.
  func forward(_ number: Int32) {
    processes.update { for running in $0.values { kill(-running.process, number) } }
  }

  /// Whether the group of a region's command has time to end.
  private func isEnding(_ region: String) -> Bool {
    processes.update { $0[region].map { $0.isEnding && !$0.isKilled } ?? false }
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
}

private enum ProcessGroup {
  /// Whether a group has processes that run besides its first, which has ended and not been waited
  /// for, so that no other group can have its number. Where that can't be known, it has.
  static func hasOthers(than first: pid_t) -> Bool {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc") else {
      return true
    }
    return names.contains { name in
      // The name of a program may have any bytes.
      guard let id = pid_t(name), id != first,
        let text = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .isoLatin1)
      else { return false }
      // The name in parentheses, the state, the parent and the group.
      let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
      guard fields.count > 3 else { return false }
      return !["Z", "X"].contains(fields[1]) && fields[3] == "\(first)"
    }
  }
}
