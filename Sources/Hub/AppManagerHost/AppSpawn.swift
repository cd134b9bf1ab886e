import CProcesses
import EventLoop
import Glibc

/// Starts the executable of an app.
enum AppSpawn {
  /// The variable that marks the processes of one app, also those that it starts.
  static let markVariable = "AMBIT_APP_PROCESS"
  /// Variables of the manager that are not an app's: its radio, and what a service manager gave it.
  private static let ownVariables: Set = [
    "AMBIT_RADIO", "AMBIT_ADDRESS", "AMBIT_BONDS", "AMBIT_CAPTURE", "AMBIT_PAIRING", "LISTEN_FDS",
    "LISTEN_PID", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC",
  ]

  /// Starts an executable in a group of its own, without input, and with a pipe for its output.
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
    let (readable, writable) = (ends[0], ends[1])
    defer { close(writable) }
    _ = fcntl(readable, F_SETFL, O_NONBLOCK)
    do throws(SystemError) {
      let processID = try spawn([executable] + arguments, in: folder, output: writable, variables)
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

  private static func spawn(
    _ words: [String], in folder: String, output: Int32, _ variables: [String: String]
  ) throws(SystemError) -> pid_t {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var all = sigset_t()
    var none = sigset_t()
    sigfillset(&all)
    sigemptyset(&none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setsigmask(&attributes, &none)
    // The kernel ends the stopped processes of a group when this program is gone, however it ended
    // (POSIX.1-2017, _exit, "orphaned process group").
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes,
      Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETPGROUP))
    var files = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&files)
    defer { posix_spawn_file_actions_destroy(&files) }
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO)
    _ = spawn_change_folder(&files, folder)
    _ = spawn_close_descriptors(&files, STDERR_FILENO + 1)
    var arguments = words.map { strdup($0) } + [nil]
    var environment = Self.environment(variables).map { strdup($0) } + [nil]
    defer { for pointer in arguments + environment { free(pointer) } }
    var processID: pid_t = 0
    let number = posix_spawn(
      &processID, words[0], &files, &attributes, &arguments, &environment)
    guard number == 0 else { throw SystemError(number: number) }
    return processID
  }

  private static func environment(_ variables: [String: String]) -> [String] {
    var found: [String] = []
    var next = environ
    while let variable = next.pointee {
      let text = String(cString: variable)
      let name = String(text.prefix { $0 != "=" })
      if variables[name] == nil, !ownVariables.contains(name) { found.append(text) }
      next += 1
    }
    return found + variables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
  }
}
