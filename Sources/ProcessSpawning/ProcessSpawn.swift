import CProcesses
package import EventLoop
import Glibc

/// A program that is started as a child of this process, by posix_spawn(3).
///
/// The child has an empty signal mask, the default actions of all signals but `inheritedIgnored`, and /dev/null as
/// standard input. It leads a process group or a session of its own.
package struct ProcessSpawn: Sendable {
  /// What the child leads.
  package enum Leadership: Sendable { case group, session }

  /// The path of the executable, or a name that is searched in `PATH`.
  package enum Executable: Sendable {
    case path(String)
    case name(String)
  }

  package var executable: Executable
  /// The child's arguments, its own name first.
  package var arguments: [String]
  /// The child's environment, as "NAME=value".
  package var environment: [String]
  package var leadership: Leadership
  /// The working folder; nil for this process's.
  package var folder: String?
  /// Descriptors of this process, and their numbers in the child. Sources must be above all numbers.
  package var descriptors: [(source: Int32, number: Int32)] = []
  /// The largest number of a descriptor that the child may have. Those above are closed in it.
  package var descriptorMax = STDERR_FILENO
  /// Signals that this process ignores, and the child, too.
  package var inheritedIgnored: Set<Int32> = []

  package init(
    _ executable: Executable, arguments: [String], environment: [String],
    leads leadership: Leadership
  ) {
    self.executable = executable
    self.arguments = arguments
    self.environment = environment
    self.leadership = leadership
  }

  /// Starts the child, and returns its number. This process must wait for it with waitpid(2).
  ///
  /// - Throws: The error of the system, such as `ENOENT` without such an executable, or `EAGAIN` with too many processes.
  package func start() throws(SystemError) -> Int32 {
    var attributes = posix_spawnattr_t()
    try Self.check(posix_spawnattr_init(&attributes))
    defer { posix_spawnattr_destroy(&attributes) }
    try set(&attributes)
    var actions = posix_spawn_file_actions_t()
    try Self.check(posix_spawn_file_actions_init(&actions))
    defer { posix_spawn_file_actions_destroy(&actions) }
    try add(to: &actions)
    var words = arguments.map { strdup($0) } + [nil]
    var variables = environment.map { strdup($0) } + [nil]
    defer { for text in words + variables { free(text) } }
    var child: pid_t = 0
    switch executable {
    case .path(let path):
      try Self.check(posix_spawn(&child, path, &actions, &attributes, &words, &variables))
    case .name(let name):
      try Self.check(posix_spawnp(&child, name, &actions, &attributes, &words, &variables))
    }
    return child
  }

  private func set(_ attributes: inout posix_spawnattr_t) throws(SystemError) {
    var defaults = sigset_t()
    var blocked = sigset_t()
    sigfillset(&defaults)
    for signal in inheritedIgnored { sigdelset(&defaults, signal) }
    sigemptyset(&blocked)
    try Self.check(posix_spawnattr_setsigdefault(&attributes, &defaults))
    try Self.check(posix_spawnattr_setsigmask(&attributes, &blocked))
    try Self.check(posix_spawnattr_setpgroup(&attributes, 0))
    let leads: Int16 =
      switch leadership {
      case .group: Int16(POSIX_SPAWN_SETPGROUP)
      case .session: Self.sessionFlag
      }
    try Self.check(
      posix_spawnattr_setflags(
        &attributes, Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK) | leads))
  }

  private func add(to actions: inout posix_spawn_file_actions_t) throws(SystemError) {
    try Self.check(
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0))
    for (source, number) in descriptors {
      try Self.check(posix_spawn_file_actions_adddup2(&actions, source, number))
    }
    if let folder { try Self.check(spawn_change_folder(&actions, folder)) }
    try Self.check(spawn_close_descriptors(&actions, descriptorMax + 1))
  }

  /// `POSIX_SPAWN_SETSID` (spawn.h), which Glibc's module doesn't have.
  private static let sessionFlag: Int16 = 0x80

  private static func check(_ number: Int32) throws(SystemError) {
    guard number == 0 else { throw SystemError(number: number) }
  }

  /// This process's environment with other values of some variables, and without others.
  package static func environment(
    with variables: [String: String], without removed: Set<String> = []
  ) -> [String] {
    var found: [String] = []
    var next = environ
    while let variable = next.pointee {
      let text = String(cString: variable)
      let name = String(text.prefix { $0 != "=" })
      if variables[name] == nil, !removed.contains(name) { found.append(text) }
      next += 1
    }
    return found + variables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
  }
}
