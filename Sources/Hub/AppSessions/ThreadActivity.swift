package import Dispatch
internal import Glibc

/// Whether the threads of this process have work, as the kernel knows it.
package enum ThreadActivity {
  /// Waits until a group is left, or no other thread of this process has run for a while: then nothing in the process
  /// leaves it, and what it waits for comes from outside.
  ///
  /// A machine that is busy makes it wait longer, and not give up: a thread that waits for a processor counts as one that
  /// runs. Not for a thread on which the group's work may have to run.
  ///
  /// - Returns: Whether the group was left.
  package static func wait(for group: DispatchGroup) -> Bool {
    var quietCount = 0
    while group.wait(timeout: .now() + .milliseconds(1)) == .timedOut {
      quietCount = hasRunningThread ? 0 : quietCount + 1
      if quietCount == quietCountMax { return false }
    }
    return true
  }

  /// How often in a row no thread runs. A thread that is being made is not listed for a moment.
  private static let quietCountMax = 20

  /// Whether a thread other than the current one runs, or waits for a processor or a disk (proc(5), `stat`).
  private static var hasRunningThread: Bool {
    let folder = "/proc/self/task"
    guard let stream = opendir(folder) else { return false }
    defer { closedir(stream) }
    let own = ownName
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard name != own, name.first?.isNumber ?? false else { continue }
      let state = state(at: "\(folder)/\(name)/stat")
      if let state, !idleStates.contains(state) { return true }
    }
    return false
  }

  /// The number of the current thread, as its folder is named.
  private static var ownName: String? {
    var bytes = [CChar](repeating: 0, count: 64)
    let count = readlink("/proc/thread-self", &bytes, bytes.count)
    let path = String(
      decoding: bytes.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return path.split(separator: "/").last.map(String.init)
  }

  /// Asleep, stopped, idle, ended.
  private static let idleStates: Set<UInt8> = Set("StIZX".utf8)

  /// The character behind the name, which is in parentheses and may contain some. Nil for a thread that has ended.
  private static func state(at path: String) -> UInt8? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 512)
    let count = read(file, &bytes, bytes.count)
    guard count > 0, let end = bytes[..<count].lastIndex(of: UInt8(ascii: ")")), end + 2 < count
    else { return nil }
    return bytes[end + 2]
  }
}
