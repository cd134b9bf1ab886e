import Glibc

/// Signs of an app on a process whose parent has ended.
///
/// A process that has left its session and its process group, and has cleared its environment, still has the app's
/// working folder, executable or output.
struct AppTraits {
  /// The text in the environment with which each of its processes was started.
  let mark: String
  /// The app's folder without symbolic links; nil if it isn't known.
  let folder: String?
  /// The number of the pipe of its output; nil without one.
  var pipe: UInt64?

  init(mark: String, folder: String?) {
    self.mark = "\(AppSpawn.markVariable)=\(mark)"
    self.folder = folder.flatMap { folder in
      guard let path = realpath(folder, nil) else { return nil }
      defer { free(path) }
      return String(cString: path)
    }
  }

  /// Whether a process that has lost its parent belongs to the app whose first process had this number.
  ///
  /// - Parameters:
  ///   - isAdopted: Whether it is a child of this manager: it descends from an app, or from this program, whose session
  ///     it is in then.
  func match(
    _ entry: ProcessTable.Entry, first: pid_t, isAdopted: Bool,
    _ traces: ProcessTable.KnownProcesses.Traces
  ) -> Bool {
    entry.groupID == first || entry.sessionID == first || traces.mark == mark
      || pipe.map { traces.outputs.contains("pipe:[\($0)]") } ?? false
      || isAdopted && entry.sessionID != getsid(0) && isInFolder(entry.processID)
  }

  private func isInFolder(_ process: pid_t) -> Bool {
    guard let folder else { return false }
    return ["cwd", "exe"].contains { name in
      let path = TextFile.link("/proc/\(process)/\(name)")
      return path == folder || path?.hasPrefix(folder + "/") ?? false
    }
  }
}
