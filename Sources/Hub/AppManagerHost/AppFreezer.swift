import EventLoop
import Glibc

/// How the processes of a suspended app are kept from running.
package enum AppFreezer: Hashable, Sendable, CustomStringConvertible {
  /// By control groups in this folder of the unified hierarchy (cgroups(7), `cgroup.freeze`). No process of the user
  /// can undo it by a signal.
  case controlGroups(folder: String)
  /// By SIGSTOP.
  case signals

  package var description: String {
    switch self {
    case .controlGroups: "cgroup"
    case .signals: "signals"
    }
  }

  /// The control group of this process, if it is delegated to this user, or else signals.
  package static var best: AppFreezer {
    guard let folder = ownGroupFolder(), isDelegated(folder) else { return .signals }
    return .controlGroups(folder: folder)
  }

  /// Ends the processes of apps whose manager was ended by force: frozen ones would stay so for ever.
  func removeLeftovers() {
    if case .controlGroups(let folder) = self {
      for name in TextFile.names(in: folder) where name.hasPrefix(AppProcessGroup.namePrefix) {
        let mark = ManagerMark(String(name.dropFirst(AppProcessGroup.namePrefix.count)))
        guard mark?.hasEnded ?? false else { continue }
        _ = TextFile.write("1", to: "\(folder)/\(name)/cgroup.kill")
        rmdir("\(folder)/\(name)")
      }
    }
    for entry in ProcessTable.leftovers(variable: AppSpawn.markVariable) {
      ProcessDescriptor.open(entry)?.send(SIGKILL)
    }
  }

  /// Of a user other than root, a folder of its own is a delegated one (systemd's "Control Group APIs and
  /// Delegation"). Root's must not be the root of the hierarchy, whose children belong to systemd.
  private static func isDelegated(_ folder: String) -> Bool {
    var information = stat()
    guard stat(folder, &information) == 0, information.st_uid == geteuid(),
      access(folder, W_OK) == 0, access(folder + "/cgroup.freeze", F_OK) == 0
    else { return false }
    // A group can be made in it, and has a freezer: a part of the tree may be read-only.
    let trial = folder + "/ambit-trial"
    rmdir(trial)
    guard mkdir(trial, 0o700) == 0 else { return false }
    defer { rmdir(trial) }
    return access(trial + "/cgroup.freeze", W_OK) == 0
  }

  /// The folder of this process's group in the unified hierarchy; nil without one.
  private static func ownGroupFolder() -> String? {
    guard let groups = TextFile.read("/proc/self/cgroup"),
      let mounts = TextFile.read("/proc/self/mountinfo"),
      let own = groups.split(separator: "\n").first(where: { $0.hasPrefix("0::/") })
    else { return nil }
    // The type follows a hyphen; the fifth field is the folder (proc_pid_mountinfo(5)).
    for line in mounts.split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard let hyphen = fields.firstIndex(of: "-"), fields.indices.contains(hyphen + 1),
        fields[hyphen + 1] == "cgroup2", fields.count > 4
      else { continue }
      return String(fields[4]) + (own.dropFirst(3) == "/" ? "" : String(own.dropFirst(3)))
    }
    return nil
  }
}

/// The processes of an app, which are frozen, thawed and ended together.
final class AppProcessGroup {
  /// How the names of control groups begin, before the mark.
  static let namePrefix = "app-"

  let first: ProcessDescriptor
  /// The text in the environments of all of them.
  let mark: String
  private let folder: String?
  /// Whether the first process was reaped.
  var isReaped = false
  /// Those that were stopped by signals.
  private var stopped: [ProcessDescriptor] = []
  /// Those that were ended, but for the first one, and may have to be reaped.
  private var killed: [ProcessDescriptor] = []
  /// Whether the manager has ended them.
  private(set) var wasKilled = false
  /// The adjustments that suspended processes had before, for the kernel's choice of a process to end.
  private var adjustments: [(file: String, value: String)] = []

  init(_ first: ProcessDescriptor, mark: String, name: String, freezer: AppFreezer) {
    self.first = first
    self.mark = mark
    switch freezer {
    case .signals: folder = nil
    case .controlGroups(let parent):
      let folder = parent + "/" + name
      let isMade = mkdir(folder, 0o755) == 0 || errno == EEXIST
      let isMoved = isMade && TextFile.write("\(first.processID)", to: folder + "/cgroup.procs")
      self.folder = isMoved ? folder : nil
    }
  }

  deinit { if let folder { rmdir(folder) } }

  func freeze() {
    if let folder, TextFile.write("1", to: folder + "/cgroup.freeze") {
      let members = TextFile.read(folder + "/cgroup.procs")?.split(separator: "\n") ?? []
      return offerMemory(of: members.compactMap { pid_t($0) })
    }
    stopped = send(SIGSTOP)
    offerMemory(of: stopped.map(\.processID))
  }

  /// Has the kernel end suspended processes before others where there is no memory (proc(5), `oom_score_adj`). A program
  /// may take back what it has raised.
  private func offerMemory(of processes: [pid_t]) {
    for process in processes {
      let file = "/proc/\(process)/oom_score_adj"
      guard let before = TextFile.read(file)?.split(separator: "\n").first.map(String.init),
        let value = Int(before), value < Self.suspendedAdjustment,
        TextFile.write("\(Self.suspendedAdjustment)", to: file)
      else { continue }
      adjustments.append((file, before))
    }
  }

  /// Of at most 1,000, with which a process is always the next one.
  private static let suspendedAdjustment = 800

  func thaw() {
    if let folder { _ = TextFile.write("0", to: folder + "/cgroup.freeze") }
    for process in stopped { process.send(SIGCONT) }
    stopped = []
    for (file, value) in adjustments { _ = TextFile.write(value, to: file) }
    adjustments = []
  }

  /// Ends all of them at once.
  func kill() {
    wasKilled = true
    if let folder { _ = TextFile.write("1", to: folder + "/cgroup.kill") }
    killed += send(SIGKILL).filter { $0.processID != first.processID }
  }

  /// Reaps those that have ended, and whose parents have, too: they are children of this process then.
  ///
  /// - Parameter waits: Whether to wait for those that are ending.
  func reapAdopted(waits: Bool = false) {
    if waits { for process in killed { process.awaitEnd() } }
    killed.removeAll { $0.reap() }
    if isReaped { ProcessTable.reapAdopted(ofGroup: first.processID) }
  }

  /// Those that are left.
  var left: [ProcessTable.Entry] {
    ProcessTable.tree(of: first.processID, isReaped: isReaped, mark: mark)
  }

  private func send(_ signal: Int32) -> [ProcessDescriptor] {
    ProcessTable.send(signal, toTreeOf: first.processID, isReaped: isReaped, mark: mark)
  }
}
