package import Dispatch
internal import Glibc

/// Whether the threads of this process have work, as the kernel knows it.
package enum ThreadActivity {
  /// Why a wait is over.
  package enum End: Equatable, Sendable {
    /// The group was left.
    case left
    /// No other thread ran for a while: what the group waits for comes from outside the process.
    case quiet
    /// The threads that still ran had each used `processorTimeMax`: they compute on and on, as one that polls does.
    case busy
  }

  /// Waits until a group is left, or no thread of this process leads to its end any more.
  ///
  /// A machine that is busy makes it wait longer, and not give up: a thread that waits for a processor counts as one that
  /// runs, and what a thread may use is processor time. Not for a thread on which the group's work may have to run.
  ///
  /// - Parameter seconds: How much of it a thread may use.
  package static func wait(
    for group: DispatchGroup, processorTimeMax seconds: Double = processorTimeMax
  ) -> End {
    var quietCount = 0
    var watch = ThreadWatch(ticksMax: UInt64(max(0, seconds) * Double(sysconf(Int32(_SC_CLK_TCK)))))
    while group.wait(timeout: .now() + .milliseconds(1)) == .timedOut {
      if watch.hasWork(otherThreads()) {
        quietCount = 0
      } else {
        quietCount += 1
        if quietCount == quietCountMax { return watch.ignoresThreads ? .busy : .quiet }
      }
    }
    return .left
  }

  /// How often in a row no thread runs. A thread that is being made is not listed for a moment.
  private static let quietCountMax = 20
  /// What a thread may use in a wait, in seconds: more than the work for an event takes, also in a debug build.
  package static let processorTimeMax = 2.0

  /// The threads of this process but the current one (proc(5), `stat`).
  private static func otherThreads() -> [ThreadWatch.Thread] {
    let folder = "/proc/self/task"
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    let own = ownName
    var threads: [ThreadWatch.Thread] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard name != own, let number = Int(name) else { continue }
      if let thread = ThreadWatch.Thread(number, read("\(folder)/\(name)/stat")) {
        threads.append(thread)
      }
    }
    return threads
  }

  /// The number of the current thread, as its folder is named.
  private static var ownName: String? {
    var bytes = [CChar](repeating: 0, count: 64)
    let count = readlink("/proc/thread-self", &bytes, bytes.count)
    let path = String(
      decoding: bytes.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return path.split(separator: "/").last.map(String.init)
  }

  /// The start of a file; empty for that of a thread that has ended.
  private static func read(_ path: String) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return [] }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 512)
    let count = Glibc.read(file, &bytes, bytes.count)
    return Array(bytes.prefix(max(0, count)))
  }
}

/// Decides which threads a wait is for: those that run, until they have used a bound of processor time in it.
struct ThreadWatch {
  /// A thread at one look.
  struct Thread: Equatable {
    let number: Int
    /// Whether it runs, or waits for a processor or a disk.
    let isRunning: Bool
    /// Its processor time, in ticks of the system's clock.
    let ticks: UInt64
  }

  private let ticksMax: UInt64
  /// The ticks at the first look.
  private var base: [Int: UInt64]?
  /// Whether a thread ran at the last look that is not waited for.
  private(set) var ignoresThreads = false

  init(ticksMax: UInt64) { self.ticksMax = ticksMax }

  /// Whether one of the threads may lead to the end of the wait.
  mutating func hasWork(_ threads: [Thread]) -> Bool {
    let base = base ?? Dictionary(threads.map { ($0.number, $0.ticks) }) { first, _ in first }
    self.base = base
    let running = threads.filter(\.isRunning)
    // A thread that came later has used all of its time in this wait.
    let hasWork = running.contains { $0.ticks < (base[$0.number] ?? 0) + ticksMax }
    ignoresThreads = !running.isEmpty && !hasWork
    return hasWork
  }
}

extension ThreadWatch.Thread {
  /// Reads a file `stat`: the fields follow the name, which is in parentheses and may contain some.
  init?(_ number: Int, _ stat: [UInt8]) {
    guard let end = stat.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = stat[(end + 1)...].split(separator: UInt8(ascii: " "))
    guard let state = fields.first?.first else { return nil }
    // User and system time are the fields 14 and 15; the state is the third.
    let times = fields.dropFirst(11).prefix(2).compactMap {
      UInt64(String(decoding: $0, as: UTF8.self))
    }
    self.number = number
    // Asleep, stopped, idle and ended ones don't run.
    isRunning = !"StIZX".utf8.contains(state)
    ticks = times.reduce(0, &+)
  }
}
