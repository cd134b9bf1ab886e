import Glibc

/// What tells a manager of apps from all others of this machine. The mark of an app's processes begins with it.
struct ManagerMark: Hashable, Sendable, CustomStringConvertible {
  /// The namespace of its number (pid_namespaces(7)).
  let namespace: UInt64
  let processID: pid_t
  /// In ticks since the boot: another process that has got its number differs.
  let startTime: UInt64

  /// That of this process.
  static let current = ManagerMark(
    namespace: ownNamespace ?? 0, processID: getpid(),
    startTime: ProcessTable.entry(of: getpid())?.startTime ?? 0)

  private init(namespace: UInt64, processID: pid_t, startTime: UInt64) {
    self.namespace = namespace
    self.processID = processID
    self.startTime = startTime
  }

  /// Reads it from the mark of a process of an app; nil for other text.
  init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4, let namespace = UInt64(parts[0]), let processID = pid_t(parts[1]),
      let startTime = UInt64(parts[2])
    else { return nil }
    self.init(namespace: namespace, processID: processID, startTime: startTime)
  }

  var description: String { "\(namespace).\(processID).\(startTime)" }

  /// Whether that manager has ended. Of one in another namespace of numbers nothing is known: it may run.
  var hasEnded: Bool {
    guard namespace == Self.ownNamespace else { return false }
    guard let entry = ProcessTable.entry(of: processID) else { return true }
    return entry.startTime != startTime || entry.isZombie
  }

  /// The number in the link `pid:[4026531836]`.
  private static let ownNamespace: UInt64? = {
    var information = stat()
    return stat("/proc/self/ns/pid", &information) == 0 ? UInt64(information.st_ino) : nil
  }()
}
