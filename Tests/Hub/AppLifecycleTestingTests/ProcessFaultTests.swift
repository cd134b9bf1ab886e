import AppLifecycle
import AppLifecycleTesting
import Essentials
import Glibc
import Testing

@testable import DoorLock

/// Starts a program, and returns its number.
private func start(_ program: String, _ arguments: [String]) -> pid_t {
  var texts: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
  defer { for text in texts { free(text) } }
  var id: pid_t = 0
  return posix_spawn(&id, program, nil, nil, &texts, environ) == 0 ? id : 0
}

@MainActor
private final class ForkingDelegate: UIResponder, UIApplicationDelegate {
  func applicationDidBecomeActive(_ application: UIApplication) {
    print(start("/bin/sleep", ["1000"]))
  }
}

/// An app that crashes with a long report, which another program writes while no thread of the app runs.
@MainActor
private final class ReportingDelegate: UIResponder, UIApplicationDelegate {
  func applicationDidEnterBackground(_ application: UIApplication) {
    let report = "head -c 500000 /dev/zero | tr '\\0' x | fold -w 99 >&2; echo >&2; echo end >&2"
    let id = start("/bin/sh", ["-c", "kill -STOP $PPID; \(report); kill -KILL $PPID"])
    var status: Int32 = 0
    _ = waitpid(id, &status, 0)
  }
}

extension SimulatedApp {
  fileprivate static let forking = SimulatedApp(
    "com.example.forking", delegate: { ForkingDelegate() })
  fileprivate static let reporting = SimulatedApp(
    "com.example.reporting", delegate: { ReportingDelegate() })
  fileprivate static let identifiedLock = SimulatedApp(
    "com.example.identified-lock", infoPlist: ["UIBackgroundModes": ["bluetooth-central"]]
  ) { _ in
    print("process \(getpid())")
    return LockManager()
  }
}

/// What happens to the process of an app from outside, and what it leaves behind.
@Suite(.serialized)
struct ProcessFaultTests {
  @Test func `An app that is killed from outside has crashed, and its connection launches it once`()
    async throws
  {
    try await SimulatedPhone.run(seed: 71, apps: [.identifiedLock]) { phone in
      let lock = LockDevice(of: phone)
      let app = phone[.identifiedLock]
      try suspend(app, on: phone, away: lock)
      let line = try #require(app.output.first?.line)
      let id = try #require(pid_t(line.dropFirst("process ".count)))
      #expect(kill(id, SIGKILL) == 0)
      try await eventually { !app.exits.isEmpty }
      phone.advance(by: .minutes(1))
      #expect(app.state == .notRunning)
      #expect(app.exits.map(\.signal) == [SIGKILL])
      #expect(phone.reports.contains { $0.contains("crashed with signal 9") })
      #expect(app.pendingConnectionCount == 1)
      lock.moveIntoRange()
      phone.advance(by: .minutes(1))
      #expect(lock.openedCount == 1)
      #expect(app.launches.count == 2)
      #expect(app.callbackNames.first == "willRestoreState")
      #expect(app.callbackNames.count { $0 == "didConnect" } == 1)
      #expect(app.unhandledEventCount == 0)
      #expect(phone.failures.isEmpty)
    }
  }

  @Test func `A crash report that is longer than the pipe holds up nothing, and its end is kept`()
    async throws
  {
    try await SimulatedPhone.run(seed: 72, apps: [.reporting]) { phone in
      let app = phone[.reporting]
      app.open()
      app.sendToBackground()
      #expect(app.state == .notRunning)
      #expect(app.exits.map(\.signal) == [SIGKILL])
      #expect(app.output.last?.line == "end")
      #expect(app.output.count > 5_000)
      #expect(phone.failures.isEmpty)
    }
  }

  @Test func `The processes that an app has started stop and end with it`() async throws {
    try await SimulatedPhone.run(seed: 73, apps: [.forking]) { phone in
      let app = phone[.forking]
      app.open()
      let id = try #require(app.output.first.flatMap { pid_t($0.line) })
      #expect(id > 0 && state(of: id) != nil)
      app.sendToBackground()
      phone.advance(by: .seconds(10))
      #expect(app.state == .suspended)
      try await eventually { state(of: id) == "T" }
      app.open()
      try await eventually { state(of: id) == "S" }
      app.terminate(.crash)
      // The program that inherits it may never wait for it.
      try await eventually { state(of: id) == nil || state(of: id) == "Z" }
    }
  }

  private func suspend(
    _ app: InstalledApp, on phone: SimulatedPhone, away lock: LockDevice
  ) throws {
    app.open()
    try phone.until("connected", limit: .seconds(10)) { lock.isConnected }
    phone.advance(by: .seconds(1))
    app.sendToBackground()
    lock.moveOutOfRange()
    phone.advance(by: .minutes(1))
    #expect(app.state == .suspended)
  }

  /// The state of a process by proc_pid_stat(5); nil for one that is gone.
  private func state(of id: pid_t) -> Character? {
    let text = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .isoLatin1)
    return text.flatMap { text in
      text.lastIndex(of: ")").flatMap { text[$0...].dropFirst(2).first }
    }
  }

  /// Waits for something that another process does.
  private func eventually(_ condition: () -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(120)
    while !condition() {
      try #require(ContinuousClock.now < end, "another process didn't do it")
      try await Task.sleep(for: .milliseconds(5))
    }
  }
}
