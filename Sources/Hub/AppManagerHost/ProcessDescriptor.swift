import CProcesses
import EventLoop
import Glibc

/// A descriptor of a process (pidfd_open(2)): its signals reach no other process that has got its number.
final class ProcessDescriptor: Sendable {
  let processID: pid_t
  private let descriptor: Int32

  private init(_ processID: pid_t, owning descriptor: Int32) {
    self.processID = processID
    self.descriptor = descriptor
  }

  /// Opens a process by its number.
  static func open(_ processID: pid_t) throws(SystemError) -> ProcessDescriptor {
    // The kernel sets FD_CLOEXEC.
    let descriptor = Int32(system_call(Int(AMBIT_PIDFD_OPEN), Int(processID), 0, 0, 0))
    guard descriptor >= 0 else { throw .current }
    return ProcessDescriptor(processID, owning: descriptor)
  }

  /// Opens a process that was found in the table; nil if it has ended, also if its number is another's by now.
  static func open(_ entry: ProcessTable.Entry) -> ProcessDescriptor? {
    guard let process = try? open(entry.processID),
      ProcessTable.entry(of: entry.processID)?.startTime == entry.startTime
    else { return nil }
    return process
  }

  deinit { close(descriptor) }

  /// A duplicate, which the caller closes.
  func duplicate() throws(SystemError) -> Int32 {
    let duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard duplicate >= 0 else { throw .current }
    return duplicate
  }

  /// Whether the process has ended. Its number is another's then, unless it is a child of this one and isn't reaped.
  var hasEnded: Bool {
    var end = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&end, 1, 0) > 0
  }

  /// Reaps the process if it has ended and is a child of this one.
  ///
  /// - Returns: Whether it has ended, so that nothing is left to be reaped.
  func reap() -> Bool {
    guard hasEnded else { return false }
    var information = siginfo_t()
    // P_PIDFD (waitid(2)): the number can't be another's.
    _ = waitid(idtype_t(3), id_t(descriptor), &information, WEXITED | WNOHANG)
    return true
  }

  /// Waits until the process has ended, for a second at most.
  func awaitEnd() {
    var end = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    _ = poll(&end, 1, 1_000)
  }

  /// Without effect on a process that has ended.
  func send(_ signal: Int32) {
    _ = system_call(Int(AMBIT_PIDFD_SEND_SIGNAL), Int(descriptor), Int(signal), 0, 0)
  }
}

extension ProcessTable {
  /// Sends a signal to the processes of an app, until each one has got it. Returns them.
  @discardableResult
  static func send(
    _ signal: Int32, to tree: () -> [Entry]
  ) -> [ProcessDescriptor] {
    var done: [ProcessDescriptor] = []
    var known: Set<pid_t> = []
    // One that starts others meanwhile is stopped or ended with them in the next round.
    for _ in 0..<roundCountMax {
      let new = tree().filter { known.insert($0.processID).inserted }
      if new.isEmpty { break }
      for entry in new {
        guard let process = ProcessDescriptor.open(entry) else { continue }
        process.send(signal)
        done.append(process)
      }
    }
    return done
  }

  private static let roundCountMax = 16

  /// Makes this process the parent of processes whose parents end, or no longer (prctl(2),
  /// `PR_SET_CHILD_SUBREAPER`).
  static func setAdoptsOrphans(_ adopts: Bool) {
    _ = set_process_attribute(Int32(AMBIT_SET_CHILD_SUBREAPER), adopts ? 1 : 0, 0, 0, 0)
  }

  /// Whether a child has ended and isn't reaped. One call, where a look at each child opens a file.
  static var hasEndedChild: Bool {
    var information = siginfo_t()
    let result = waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT)
    return result == 0 && information.si_signo == SIGCHLD
  }

  /// Reaps processes that this one has adopted and that have ended: those with a session of their own, and those in the
  /// process groups of apps. Other children are those of another library in this process, which waits for them.
  ///
  /// - Parameter started: Those that this program has started itself and waits for.
  static func reapAdopted(but started: Set<pid_t>) {
    let session = getsid(0)
    for child in children() where !started.contains(child) {
      guard let entry = entry(of: child), entry.isZombie,
        entry.sessionID != session || started.contains(entry.groupID)
      else { continue }
      var status: Int32 = 0
      waitpid(child, &status, WNOHANG)
    }
  }

  /// Reaps adopted processes of a process group that have ended.
  static func reapAdopted(ofGroup group: pid_t) {
    for child in children() where child != group {
      guard let entry = entry(of: child), entry.isZombie, entry.groupID == group else { continue }
      var status: Int32 = 0
      waitpid(child, &status, WNOHANG)
    }
  }
}
