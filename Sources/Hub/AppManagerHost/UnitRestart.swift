import Essentials
import EventLoop
import Glibc

/// Whether a service manager ends this process to start it again. systemd(1) sends the same signal for a stop and for a
/// restart; its list of jobs has the difference.
package enum UnitRestart {
  /// How long `systemctl` may take.
  private static let answerTime = TimeSpan.seconds(2)
  private static let byteCountMax = 1 << 20

  /// Looks at the jobs of the service manager that has started this process. Waits for its answer.
  package static func isUnderWay() -> Bool {
    guard ProcessEnvironment.value("INVOCATION_ID") != nil,
      let groups = TextFile.read("/proc/self/cgroup"), let unit = unit(ofGroups: groups)
    else { return false }
    let words = (unit.isUsers ? ["--user"] : []) + ["list-jobs", "--plain", "--no-legend"]
    return output(of: words).map { isRestarted(unit.name, jobs: $0) } ?? false
  }

  /// The unit of a process by its control groups (systemd's `user@1000.service` manages a user's units).
  static func unit(ofGroups text: String) -> (name: String, isUsers: Bool)? {
    guard let own = text.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else {
      return nil
    }
    let folders = own.dropFirst(4).split(separator: "/")
    guard let index = folders.lastIndex(where: { $0.hasSuffix(".service") }) else { return nil }
    let isUsers = folders[..<index].contains {
      $0.hasPrefix("user@") && $0.hasSuffix(".service")
    }
    return (String(folders[index]), isUsers)
  }

  /// Whether a list of jobs has the restart of a unit: lines with a number, a unit, a type and a state.
  static func isRestarted(_ unit: String, jobs: String) -> Bool {
    jobs.split(separator: "\n").contains { line in
      let words = line.split(separator: " ")
      return words.count >= 3 && words[1] == unit && words[2] == "restart"
    }
  }

  private static func output(of words: [String]) -> String? {
    let programs: [String] = ["/usr/bin/systemctl", "/bin/systemctl"]
    guard let program = programs.first(where: { (path: String) in access(path, X_OK) == 0 }),
      let (process, readable) = try? AppSpawn.start(program, words, in: "/", [:])
    else { return nil }
    defer {
      Glibc.close(readable)
      process.send(SIGKILL)
      process.awaitEnd()
      _ = process.reap()
    }
    return text(from: readable, within: answerTime)
  }

  /// Reads to the end; nil if it doesn't come in this time. Signals to this process interrupt nothing.
  static func text(from descriptor: Int32, within time: TimeSpan) -> String? {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let deadline = Instant.now + time
    while bytes.count < byteCountMax {
      let left = (deadline - .now).nanoseconds
      guard left > 0 else { return nil }
      var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let ready = poll(&event, 1, Int32(clamping: left / 1_000_000 + 1))
      if ready < 0, errno == EINTR { continue }
      guard ready > 0 else { return nil }
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EAGAIN || errno == EINTR { continue }
      guard count >= 0 else { return nil }
      if count == 0 { break }
      bytes += buffer.prefix(count)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
