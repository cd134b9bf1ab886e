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
  }

  /// Nil for a process that is gone.
  static func entry(of processID: pid_t) -> Entry? {
    guard let bytes = TextFile.bytes("/proc/\(processID)/stat") else { return nil }
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
      sessionID: sessionID, isZombie: fields[0].first == UInt8(ascii: "Z"), startTime: startTime,
      processorTime: user &+ system)
  }

  /// All processes that this one may see.
  static func all() -> [Entry] {
    TextFile.names(in: "/proc").compactMap { pid_t($0) }.compactMap { entry(of: $0) }
  }

  /// Whether the environment with which a process was started has this text, `NAME=VALUE`.
  static func hasEnvironment(_ text: String, _ processID: pid_t) -> Bool {
    guard let bytes = TextFile.bytes("/proc/\(processID)/environ") else { return false }
    return bytes.split(separator: 0).contains { $0.elementsEqual(text.utf8) }
  }

  /// The processes of an app that run: the first one, what it has started, and what those have left behind.
  ///
  /// - Parameters:
  ///   - first: The number of the first process, and of its group.
  ///   - isReaped: Whether the first process was reaped, so that its number may be another's.
  ///   - mark: The text in the environments of all of them.
  static func tree(of first: pid_t, isReaped: Bool, mark: String) -> [Entry] {
    let all = all().filter { !$0.isZombie }
    let own = getpid()
    // Without their parent, they are children of this process, or of the first one of the machine.
    var found = Set(
      all.lazy.filter { entry in
        !isReaped && entry.processID == first
          || (entry.parentID == own || entry.parentID == 1)
            && (entry.groupID == first || hasEnvironment(mark, entry.processID))
      }.map(\.processID))
    var count = 0
    while count < found.count {
      count = found.count
      for entry in all where found.contains(entry.parentID) { found.insert(entry.processID) }
    }
    found.remove(own)
    return all.filter { found.contains($0.processID) }
  }

  /// The processes of apps whose manager has ended without ending them.
  ///
  /// - Parameter variable: The variable in their environments, whose value begins with the manager's mark.
  static func leftovers(variable: String) -> [Entry] {
    let start = Array("\(variable)=".utf8)
    return all().filter { entry in
      guard !entry.isZombie, let environment = TextFile.bytes("/proc/\(entry.processID)/environ"),
        let value = environment.split(separator: 0).first(where: { $0.starts(with: start) }),
        let mark = ManagerMark(String(decoding: value.dropFirst(start.count), as: UTF8.self))
      else { return false }
      return mark.hasEnded
    }
  }

  /// The children of this process; those of all its threads.
  static func children() -> [pid_t] {
    let folder = "/proc/self/task"
    let lists = TextFile.names(in: folder).filter { !$0.hasPrefix(".") }.map {
      TextFile.read("\(folder)/\($0)/children")
    }
    // A kernel without CONFIG_PROC_CHILDREN has none.
    guard lists.contains(where: { $0 != nil }) else {
      let own = getpid()
      return all().filter { $0.parentID == own }.map(\.processID)
    }
    return lists.compactMap(\.self).flatMap { $0.split(separator: " ").compactMap { pid_t($0) } }
  }

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
