import Essentials
import EventLoop
import Glibc
import Synchronization
import Testing

@testable import AppManagerHost

@Suite struct UnitRestartTests {
  @Test func `The unit of a manager is found by its control group`() throws {
    let own = "/user.slice/user-1000.slice/user@1000.service/app.slice/ambit-apps.service"
    let users = try #require(UnitRestart.unit(ofGroups: "1:name=systemd:/\n0::\(own)/manager\n"))
    #expect(users.name == "ambit-apps.service" && users.isUsers)
    let systems = try #require(UnitRestart.unit(ofGroups: "0::/system.slice/ambit-apps.service\n"))
    #expect(systems.name == "ambit-apps.service" && !systems.isUsers)
    #expect(UnitRestart.unit(ofGroups: "0::/\n") == nil)
    #expect(UnitRestart.unit(ofGroups: "1:cpu:/a.service\n") == nil)
  }

  @Test func `Only a restart of the unit itself leaves its apps`() {
    let jobs = "121 other.service restart running\n122 ambit-apps.service stop running\n"
    #expect(!UnitRestart.isRestarted("ambit-apps.service", jobs: jobs))
    #expect(UnitRestart.isRestarted("other.service", jobs: jobs))
    #expect(!UnitRestart.isRestarted("ambit-apps.service", jobs: "No jobs running."))
    #expect(!UnitRestart.isRestarted("ambit-apps.service", jobs: ""))
  }

  @Test func `Signals don't interrupt the answer of the service manager`() async throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let (readable, writable) = (ends[0], ends[1])
    let reader = SignalledReader(readable)
    // Each one interrupts poll(2).
    for _ in 0..<20 { reader.interrupt() }
    let text = "121 ambit-apps.service restart running\n"
    try #require(write(writable, text, text.utf8.count) == text.utf8.count)
    for _ in 0..<20 { reader.interrupt() }
    close(writable)
    #expect(await reader.text() == text)
    close(readable)
  }

  @Test func `A service manager that answers nothing is given up after its time`() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    #expect(UnitRestart.text(from: ends[0], within: .milliseconds(10)) == nil)
    for end in ends { close(end) }
  }

  @Test func `A manager that no service manager has started is not restarted`() {
    #expect(!UnitRestart.isUnderWay())
  }
}

/// A thread that reads an answer, and gets signals meanwhile.
private final class SignalledReader: Sendable {
  private let thread = Mutex<pthread_t?>(nil)
  private let answers: AsyncStream<String?>

  init(_ descriptor: Int32) {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in }
    sigaction(SIGURG, &action, nil)
    let (answers, answer) = AsyncStream.makeStream(of: String?.self)
    self.answers = answers
    let isStarted = DetachedThread.start { [self] in
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGURG)
      pthread_sigmask(SIG_UNBLOCK, &signals, nil)
      thread.withLock { $0 = pthread_self() }
      answer.yield(UnitRestart.text(from: descriptor, within: .seconds(60)))
    }
    precondition(isStarted)
    while thread.withLock({ $0 == nil }) { sched_yield() }
  }

  func interrupt() {
    _ = thread.withLock { $0.map { pthread_kill($0, SIGURG) } }
    sched_yield()
  }

  func text() async -> String? {
    for await answer in answers { return answer }
    return nil
  }
}
