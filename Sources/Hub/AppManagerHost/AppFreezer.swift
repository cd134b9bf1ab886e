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
    guard let folder = groupFolder(of: "self"), isDelegated(folder) else { return .signals }
    return .controlGroups(folder: folder)
  }

  /// Ends the processes of apps whose manager was ended by force: frozen ones would stay so for ever.
  ///
  /// - Parameters:
  ///   - place: Where this manager listens. Those of a manager at another place are left to the next one there.
  ///   - kept: The marks of those that are taken over.
  func removeLeftovers(at place: String, but kept: Set<String> = []) {
    if case .controlGroups(let folder) = self {
      for name in TextFile.names(in: folder) where name.hasPrefix(AppProcessGroup.namePrefix) {
        let text = String(name.dropFirst(AppProcessGroup.namePrefix.count))
        guard !kept.contains(text), ManagerMark(text)?.hasEnded ?? false,
          !ProcessTable.numbers(in: "\(folder)/\(name)/cgroup.procs").contains(where: {
            ProcessTable.isElsewhere($0, than: place)
          })
        else { continue }
        _ = TextFile.write("1", to: "\(folder)/\(name)/cgroup.kill")
        rmdir("\(folder)/\(name)")
      }
    }
    for entry in ProcessTable.leftovers(
      variable: AppSpawn.markVariable, place: place, but: kept)
    {
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

  /// The folder of a process's group in the unified hierarchy; nil without one.
  ///
  /// - Parameter process: Its folder in /proc.
  fileprivate static func groupFolder(of process: String) -> String? {
    guard let groups = TextFile.read("/proc/\(process)/cgroup"), let hierarchy,
      let own = groups.split(separator: "\n").first(where: { $0.hasPrefix("0::/") })
    else { return nil }
    return hierarchy + (own.dropFirst(3) == "/" ? "" : String(own.dropFirst(3)))
  }

  /// Where the unified hierarchy is mounted; nil if it isn't.
  private static let hierarchy: String? = {
    guard let mounts = TextFile.read("/proc/self/mountinfo") else { return nil }
    // The type follows a hyphen; the fifth field is the folder (proc_pid_mountinfo(5)).
    for line in mounts.split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard let hyphen = fields.firstIndex(of: "-"), fields.indices.contains(hyphen + 1),
        fields[hyphen + 1] == "cgroup2", fields.count > 4
      else { continue }
      return String(fields[4])
    }
    return nil
  }()
}

/// The processes of an app, which are frozen, thawed and ended together.
final class AppProcessGroup {
  /// How the names of control groups begin, before the mark.
  static let namePrefix = "app-"

  let first: ProcessDescriptor
  private var traits: AppTraits
  private let folder: String?
  /// The processes that are the parents of those whose own have ended.
  private let fosters: [pid_t]
  private let firsts: FirstProcesses
  /// Whether the first process was reaped.
  var isReaped = false { didSet { firsts.numbers.remove(first.processID) } }
  /// Those that were stopped by signals.
  private var stopped: [ProcessDescriptor] = []
  /// Those that were ended, but for the first one, and may have to be reaped.
  private var killed: [ProcessDescriptor] = []
  /// Whether the manager has ended them.
  private(set) var wasKilled = false
  /// The adjustments that suspended processes had before, for the kernel's choice of a process to end.
  private var adjustments: [(file: String, value: String)] = []

  /// - Parameters:
  ///   - mark: What follows the variable of the mark in their environments.
  ///   - home: The app's folder.
  init(
    _ first: ProcessDescriptor, mark: String, home: String, freezer: AppFreezer,
    _ firsts: FirstProcesses
  ) {
    self.first = first
    traits = AppTraits(mark: mark, folder: home)
    self.firsts = firsts
    fosters = [getpid()]
    switch freezer {
    case .signals: folder = nil
    case .controlGroups(let parent):
      let folder = parent + "/" + Self.namePrefix + mark
      let isMade = mkdir(folder, 0o755) == 0 || errno == EEXIST
      let isMoved = isMade && TextFile.write("\(first.processID)", to: folder + "/cgroup.procs")
      self.folder = isMoved ? folder : nil
    }
    firsts.numbers.insert(first.processID)
  }

  /// The processes of an app that an earlier manager has started.
  init(
    adopting first: ProcessDescriptor, mark: String, home: String?, freezer: AppFreezer,
    _ firsts: FirstProcesses
  ) {
    self.first = first
    traits = AppTraits(mark: mark, folder: home)
    self.firsts = firsts
    let parent = ProcessTable.entry(of: first.processID)?.parentID
    fosters = [getpid(), parent ?? 1]
    let name = Self.namePrefix + mark
    var candidates: [String] = []
    if case .controlGroups(let parent) = freezer { candidates.append("\(parent)/\(name)") }
    // The last manager may have had another freezer, or another control group.
    let own = AppFreezer.groupFolder(of: "\(first.processID)")
    if let own, own.hasSuffix("/" + name) { candidates.append(own) }
    folder = candidates.first {
      ProcessTable.numbers(in: $0 + "/cgroup.procs").contains(first.processID)
    }
    firsts.numbers.insert(first.processID)
  }

  /// Their output goes to the pipe of which this is an end.
  func hasOutput(_ descriptor: Int32) {
    var information = stat()
    guard fstat(descriptor, &information) == 0 else { return }
    traits.pipe = UInt64(information.st_ino)
  }

  /// Whether the first process is kept from running.
  var isFrozen: Bool {
    if let folder, TextFile.read(folder + "/cgroup.freeze") == "1\n" { return true }
    return ProcessTable.isStopped(first.processID)
  }

  deinit {
    if let folder { rmdir(folder) }
    if !isReaped { firsts.numbers.remove(first.processID) }
  }

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

  /// The processes were suspended by an earlier manager, and had the adjustment of this one before.
  func adoptAdjustments() {
    let own = TextFile.read("/proc/self/oom_score_adj")?.split(separator: "\n").first
    guard let own else { return }
    for entry in left {
      let file = "/proc/\(entry.processID)/oom_score_adj"
      if TextFile.read(file) == "\(Self.suspendedAdjustment)\n" {
        adjustments.append((file, String(own)))
      }
    }
  }

  /// Lets all of them run, whatever has stopped them.
  func thawAll() {
    if let folder { _ = TextFile.write("0", to: folder + "/cgroup.freeze") }
    send(SIGCONT)
    thaw()
  }

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
  var left: [ProcessTable.Entry] { left(firsts.known ?? ProcessTable.KnownProcesses()) }

  func left(_ known: ProcessTable.KnownProcesses) -> [ProcessTable.Entry] {
    // An adopted one is reaped by another process, at once.
    ProcessTable.tree(
      of: first.processID, isReaped: isReaped || first.hasEnded, traits, fosters: fosters, firsts,
      known)
  }

  @discardableResult
  private func send(_ signal: Int32) -> [ProcessDescriptor] {
    ProcessTable.send(signal) { left }
  }
}

/// The first processes of all apps of a manager. Used on its loop only.
final class FirstProcesses {
  var numbers: Set<pid_t> = []
  /// While frozen processes are taken over, which start no others.
  var known: ProcessTable.KnownProcesses?
  /// Children of the last manager's parent without traces of an app, as most of systemd's are. They are read once, not each
  /// time an app is suspended.
  private var withoutTraces: Set<ProcessTable.Identity> = []
  private static let withoutTracesCountMax = 4_096

  /// The traces of a process without its parent.
  ///
  /// - Parameter isAdopted: Whether it is a child of this manager. Those are few, and may be a moment old.
  func traces(
    of entry: ProcessTable.Entry, _ known: ProcessTable.KnownProcesses, isAdopted: Bool
  ) -> ProcessTable.KnownProcesses.Traces {
    if withoutTraces.contains(entry.identity) {
      return ProcessTable.KnownProcesses.Traces(outputs: [])
    }
    let found = known.traces(of: entry.processID)
    if !isAdopted, found.isNone {
      if withoutTraces.count >= Self.withoutTracesCountMax { withoutTraces = [] }
      withoutTraces.insert(entry.identity)
    }
    return found
  }
}
