import CProcesses
import EventLoop
import Glibc
import ProcessSpawning

/// Starts the executable of an app.
enum AppSpawn {
  /// The variable that marks the processes of one app, also those that it starts.
  static let markVariable = "AMBIT_APP_PROCESS"
  /// Variables of the manager that are not an app's: its radio, and what a service manager gave it.
  private static let ownVariables: Set = [
    "AMBIT_RADIO", "AMBIT_ADDRESS", "AMBIT_BONDS", "AMBIT_CAPTURE", "AMBIT_PAIRING", "LISTEN_FDS",
    "LISTEN_PID", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC",
  ]

  /// Starts an executable in a session of its own, without input, and with a pipe for its output.
  ///
  /// - Parameters:
  ///   - arguments: Those after its name.
  ///   - folder: The working folder.
  ///   - variables: Those of its environment that differ from this program's.
  /// - Returns: The process, and the readable end of the pipe, which doesn't block.
  static func start(
    _ executable: String, _ arguments: [String] = [], in folder: String,
    _ variables: [String: String]
  ) throws(SystemError) -> (process: ProcessDescriptor, output: Int32) {
    var ends: [Int32] = [0, 0]
    guard make_pipe(&ends, Int32(O_CLOEXEC)) == 0 else { throw .current }
    let readable = ends[0]
    // A process has the pipe open for reading, too: without a manager, it waits for the next one where the pipe is full,
    // instead of being ended by SIGPIPE.
    let both = open("/proc/self/fd/\(ends[1])", O_RDWR | O_CLOEXEC)
    let writable = both < 0 ? ends[1] : both
    if both >= 0 { close(ends[1]) }
    defer { close(writable) }
    _ = fcntl(readable, F_SETFL, O_NONBLOCK)
    do throws(SystemError) {
      // In a session of its own, the kernel leaves a stopped process alone when this program is gone (POSIX.1-2017,
      // _exit, "orphaned process group"), and so does the end of its terminal: the next manager takes it over.
      var spawn = ProcessSpawn(
        .path(executable), arguments: [executable] + arguments,
        environment: ProcessSpawn.environment(with: variables, without: ownVariables),
        leads: .session)
      spawn.folder = folder
      spawn.descriptors = [(writable, STDOUT_FILENO), (writable, STDERR_FILENO)]
      let processID = try spawn.start()
      do throws(SystemError) { return (try ProcessDescriptor.open(processID), readable) } catch {
        // It isn't reaped yet, so that its number is its own.
        Glibc.kill(processID, SIGKILL)
        var status: Int32 = 0
        waitpid(processID, &status, 0)
        throw error
      }
    } catch {
      close(readable)
      throw error
    }
  }
}
