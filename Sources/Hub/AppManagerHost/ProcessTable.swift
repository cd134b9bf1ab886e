import AppSessions
import EventLoop
import Glibc

/// Processes of this machine, by /proc (proc(5)).
enum ProcessTable {
  /// An entry of /proc/PID/stat.
  struct Entry: Hashable, Sendable {
    var processID: pid_t
    var parentID: pid_t
    var groupID: pid_t
    var sessionID: pid_t
    var isZombie: Bool
    /// In ticks since the boot.
    var startTime: UInt64
    /// In ticks.
    var processorTime: UInt64

    var identity: Identity { Identity(processID: processID, startTime: startTime) }
  }

  /// Another process that has got the number differs by its start.
  struct Identity: Hashable, Sendable {
    var processID: pid_t
    var startTime: UInt64
  }

  /// Nil for a process that is gone.
  static func entry(of processID: pid_t) -> Entry? {
    TextFile.bytes(statPath(processID)).flatMap { entry(of: processID, $0) }
  }

  static func statPath(_ processID: pid_t) -> String { "/proc/\(processID)/stat" }

  /// Reads the contents of /proc/PID/stat.
  static func entry(of processID: pid_t, _ bytes: [UInt8]) -> Entry? {
    // The name, in parentheses, may have any characters.
    guard let end = bytes.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = bytes[(end + 1)...].split(separator: UInt8(ascii: " "))
    func number<Number: FixedWidthInteger>(_ index: Int) -> Number? {
      fields.indices.contains(index)
        ? Number(String(decoding: fields[index], as: UTF8.self)) : nil
    }
    // Fields 3, 4, 5, 6, 14, 15 and 22 of the manual's list.
    guard let parentID: pid_t = number(1), let groupID: pid_t = number(2),
      let sessionID: pid_t = number(3),
      let user: UInt64 = number(11), let system: UInt64 = number(12),
      let startTime: UInt64 = number(19)
    else { return nil }
    return Entry(
      processID: processID, parentID: parentID, groupID: groupID,
      sessionID: sessionID, isZombie: fields[0].first == UInt8(ascii: "Z"),
      startTime: startTime, processorTime: user &+ system)
  }

  /// Whether SIGSTOP keeps a process from running: the signal waits for a thread, or its threads stop one after the other,
  /// which may take a busy machine milliseconds.
  static func isStopped(_ processID: pid_t) -> Bool {
    let folder = "/proc/\(processID)"
    return hasPendingStop(folder)
      || TextFile.names(in: folder + "/task").contains { isStoppedThread("\(folder)/task/\($0)") }
  }

  private static func hasPendingStop(_ folder: String) -> Bool {
    let name = "ShdPnd:"
    guard let status = TextFile.read(folder + "/status"),
      let line = status.split(separator: "\n").first(where: { $0.hasPrefix(name) }),
      let signals = UInt64(line.dropFirst(name.count).drop { $0.isWhitespace }, radix: 16)
    else { return false }
    return signals & 1 << UInt64(SIGSTOP - 1) != 0
  }

  private static func isStoppedThread(_ folder: String) -> Bool {
    guard let bytes = TextFile.bytes(folder + "/stat"),
      let end = bytes.lastIndex(of: UInt8(ascii: ")"))
    else { return false }
    return bytes[(end + 1)...].first { $0 != UInt8(ascii: " ") } == UInt8(ascii: "T")
  }

  /// All processes that this one may see.
  static func all() -> [Entry] {
    TextFile.names(in: "/proc").compactMap { pid_t($0) }.compactMap { entry(of: $0) }
  }

  /// Whether the environment with which a process was started has this text, `NAME=VALUE`.
  static func hasEnvironment(_ text: String, _ processID: pid_t) -> Bool {
    TextFile.bytes(environmentPath(processID)).map { hasVariable(text, in: $0) } ?? false
  }

  static func environmentPath(_ processID: pid_t) -> String { "/proc/\(processID)/environ" }

  /// Whether the contents of /proc/PID/environ have this text.
  static func hasVariable(_ text: String, in bytes: [UInt8]) -> Bool {
    bytes.split(separator: 0).contains { $0.elementsEqual(text.utf8) }
  }

  /// The processes of an app that run: the first one, what it has started, and what those have left behind.
  ///
  /// - Parameters:
  ///   - first: The number of the first process, and of its group.
  ///   - isReaped: Whether the first process was reaped, so that its number may be another's.
  ///   - traits: Signs of the app on a process without its parent.
  ///   - fosters: The processes that are the parents of those whose own have ended.
  ///   - firsts: The first processes of all apps, which may be children of these.
  ///   - known: Processes that were read before; several trees may share them.
  static func tree(
    of first: pid_t, isReaped: Bool, _ traits: AppTraits, fosters: [pid_t],
    _ firsts: FirstProcesses, _ known: KnownProcesses
  ) -> [Entry] {
    var found: [Entry] = []
    var seen: Set<pid_t> = [getpid()]
    func add(_ processID: pid_t, if isIncluded: (Entry) -> Bool = { _ in true }) {
      guard !seen.contains(processID), let entry = known.entry(of: processID), isIncluded(entry)
      else { return }
      seen.insert(processID)
      if !entry.isZombie { found.append(entry) }
    }
    if !isReaped { add(first) }
    for foster in fosters {
      let isAdopted = foster == getpid()
      for child in known.children(of: foster) where !firsts.numbers.contains(child) {
        add(child) {
          let traces = firsts.traces(of: $0, known, isAdopted: isAdopted)
          return traits.match($0, first: first, isAdopted: isAdopted, traces)
        }
      }
    }
    var next = 0
    while next < found.count {
      for child in known.children(of: found[next].processID) { add(child) }
      next += 1
    }
    return found
  }

  /// Processes, each of which is read once. Their children are those of the kernel's lists, or else of one look at all
  /// processes.
  final class KnownProcesses {
    /// Signs of an app (``AppTraits``).
    struct Traces {
      /// The variable of the mark, with its value.
      var mark: String?
      /// The files of the standard output and the standard error.
      var outputs: [String]
      /// Whether its environment has variables: that of a process which begins another program is empty for a moment.
      var hasVariables = false

      /// Whether they are no app's. A process with a pipe may have got it from an app.
      var isNone: Bool {
        hasVariables && mark == nil && !outputs.contains { $0.hasPrefix("pipe:") }
      }
    }

    private lazy var all = Dictionary(grouping: ProcessTable.all(), by: \.parentID)
    private var lists: [pid_t: [pid_t]] = [:]
    private var entries: [pid_t: Entry?] = [:]
    private var traces: [pid_t: Traces] = [:]

    func entry(of processID: pid_t) -> Entry? {
      if let known = entries[processID] { return known }
      let found = ProcessTable.entry(of: processID)
      entries[processID] = .some(found)
      return found
    }

    func traces(of processID: pid_t) -> Traces {
      if let known = traces[processID] { return known }
      let start = Array("\(AppSpawn.markVariable)=".utf8)
      let environment = TextFile.bytes("/proc/\(processID)/environ")?.split(separator: 0)
      let mark = environment?.first { $0.starts(with: start) }
      let found = Traces(
        mark: mark.map { String(decoding: $0, as: UTF8.self) },
        outputs: [STDOUT_FILENO, STDERR_FILENO].compactMap {
          TextFile.link("/proc/\(processID)/fd/\($0)")
        }, hasVariables: environment?.isEmpty == false)
      traces[processID] = found
      return found
    }

    func children(of processID: pid_t) -> [pid_t] {
      if let known = lists[processID] { return known }
      let found =
        ProcessTable.listedChildren(of: processID) ?? all[processID]?.map(\.processID) ?? []
      lists[processID] = found
      return found
    }
  }

  /// The processes of apps whose manager has ended without ending them.
  ///
  /// - Parameters:
  ///   - variable: The variable in their environments, whose value begins with the manager's mark.
  ///   - place: Where this manager listens. Those of a manager at another place are left to the next one there.
  ///   - kept: The values of those that are taken over.
  static func leftovers(variable: String, place: String, but kept: Set<String> = []) -> [Entry] {
    let start = Array("\(variable)=".utf8)
    return all().filter { entry in
      guard !entry.isZombie, let environment = TextFile.bytes("/proc/\(entry.processID)/environ"),
        let value = environment.split(separator: 0).first(where: { $0.starts(with: start) })
      else { return false }
      let text = String(decoding: value.dropFirst(start.count), as: UTF8.self)
      guard !kept.contains(text), !isElsewhere(entry.processID, than: place) else { return false }
      return ManagerMark(text)?.hasEnded ?? false
    }
  }

  /// Whether the environment of a process names a manager of apps at another place.
  static func isElsewhere(_ processID: pid_t, than place: String) -> Bool {
    let start = Array("\(AppManagerPlace.variable)=".utf8)
    let variables = TextFile.bytes("/proc/\(processID)/environ")?.split(separator: 0)
    guard let value = variables?.first(where: { $0.starts(with: start) }) else { return false }
    return !value.dropFirst(start.count).elementsEqual(place.utf8)
  }

  /// The numbers of processes in a file of a control group.
  static func numbers(in path: String) -> [pid_t] {
    TextFile.read(path)?.split(separator: "\n").compactMap { pid_t($0) } ?? []
  }

  /// The children of this process; those of all its threads.
  static func children() -> [pid_t] {
    let own = getpid()
    return listedChildren(of: own) ?? all().filter { $0.parentID == own }.map(\.processID)
  }

  /// The children of all threads of a process; nil where the kernel has no such lists (CONFIG_PROC_CHILDREN).
  static func listedChildren(of processID: pid_t) -> [pid_t]? {
    guard hasChildrenLists else { return nil }
    let folder = "/proc/\(processID)/task"
    return TextFile.names(in: folder).filter { !$0.hasPrefix(".") }.flatMap { thread in
      TextFile.read("\(folder)/\(thread)/children")?.split(separator: " ")
        .compactMap { pid_t($0) } ?? []
    }
  }

  private static let hasChildrenLists = access("/proc/thread-self/children", R_OK) == 0

  /// The ancestors of a process, and itself.
  static func ancestry(of processID: pid_t) -> [pid_t] {
    var found: [pid_t] = []
    var next = processID
    while next > 1, found.count < ancestryCountMax {
      found.append(next)
      guard let entry = entry(of: next) else { break }
      next = entry.parentID
    }
    return found
  }

  private static let ancestryCountMax = 64

  /// How many ticks a second has.
  static let ticksPerSecond = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
}
