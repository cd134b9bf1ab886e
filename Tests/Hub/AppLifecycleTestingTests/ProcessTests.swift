import AppLifecycle
import AppLifecycleTesting
import CoreBluetooth
import Essentials
import Glibc
import Testing

@testable import DoorLock

/// An app that counts its launches.
@MainActor
private final class CountingDelegate: UIResponder, UIApplicationDelegate {
  /// As in many apps: new in each process.
  static var launchCount = 0

  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    Self.launchCount += 1
    let defaults = UserDefaults.standard
    defaults.set(defaults.integer(forKey: "launches") + 1, forKey: "launches")
    print("launch \(Self.launchCount), by the defaults \(defaults.integer(forKey: "launches"))")
    print("home \(NSHomeDirectory())")
    return true
  }

  func applicationDidBecomeActive(_ application: UIApplication) { print("active") }

  func applicationDidEnterBackground(_ application: UIApplication) { print("background") }
}

@MainActor
private final class FaultyDelegate: UIResponder, UIApplicationDelegate {
  /// What the app does when it enters the background.
  nonisolated let fault: @Sendable () -> Void

  init(_ fault: @escaping @Sendable () -> Void) { self.fault = fault }

  func applicationDidEnterBackground(_ application: UIApplication) {
    print("before")
    fault()
  }
}

extension SimulatedApp {
  fileprivate static let counting = SimulatedApp(
    "com.example.counting", delegate: { CountingDelegate() })
  fileprivate static let other = SimulatedApp(
    "com.example.other", delegate: { CountingDelegate() })
  fileprivate static let aborting = SimulatedApp(
    "com.example.aborting",
    delegate: {
      FaultyDelegate {
        FileHandle.standardError.write(Data("the reason\n".utf8))
        abort()
      }
    })
  fileprivate static let identified = SimulatedApp("com.example.identified") { _ in
    print(getpid())
    return NSObject()
  }
  fileprivate static let exiting = SimulatedApp(
    "com.example.exiting", delegate: { FaultyDelegate { exit(3) } })
  fileprivate static let hanging = SimulatedApp(
    "com.example.hanging", delegate: { FaultyDelegate { while true { pause() } } })
  fileprivate static let writing = SimulatedApp(
    "com.example.writing",
    delegate: {
      FaultyDelegate {
        let bytes = [UInt8](repeating: 0xFF, count: 64)
        _ = write(3, bytes, bytes.count)
      }
    })
}

/// Apps in processes of their own.
@Suite(.serialized)
struct ProcessTests {
  @Test func `Each launch of an app has new globals and the same defaults and home`() async throws {
    var homes: Set<String> = []
    for _ in 0..<2 {
      let home = try await SimulatedPhone.run(seed: 1, apps: [.counting, .other]) { phone in
        let app = phone[.counting]
        for _ in 0..<2 {
          app.open()
          app.sendToBackground()
          phone.advance(by: .seconds(10))
          app.terminate(.memoryPressure)
        }
        let lines = app.output.map(\.line)
        let home = try #require(lines.dropFirst().first)
        #expect(
          lines == [
            "launch 1, by the defaults 1", home, "active", "background",
            "launch 1, by the defaults 2", home, "active", "background",
          ])
        #expect(app.output.map(\.launchNumber) == [1, 1, 1, 1, 2, 2, 2, 2])
        phone[.other].open()
        #expect(phone[.other].output.first?.line == "launch 1, by the defaults 1")
        #expect(phone[.other].output.dropFirst().first?.line != home)
        return home
      }
      let path = String(home.dropFirst("home ".count))
      #expect(access(path, F_OK) != 0)
      homes.insert(path)
    }
    #expect(homes.count == 2)
  }

  @Test func `An app that is deleted and installed again has new defaults`() async throws {
    try await SimulatedPhone.run(seed: 1, apps: [.counting]) { phone in
      let app = phone[.counting]
      app.open()
      app.remove()
      phone.advance(by: .seconds(10))
      phone.install(.counting)
      app.open()
      #expect(app.launches.count == 2)
      let lines = app.output.map(\.line).filter { $0.hasPrefix("launch") }
      #expect(lines == ["launch 1, by the defaults 1", "launch 1, by the defaults 1"])
    }
  }

  @Test func `A condition that does not hold in time shows what the apps wrote`() async throws {
    let error = await #expect(throws: SimulatedPhoneTimeout.self) {
      try await SimulatedPhone.run(seed: 1, apps: [.counting]) { phone in
        phone[.counting].open()
        try phone.until("never", limit: .seconds(1)) { false }
      }
    }
    #expect(error?.output.last == "com.example.counting: active")
    #expect(error?.description.contains("The apps wrote:") == true)
  }

  @Test func `The output of an app and its callbacks are in order`() async throws {
    try await SimulatedPhone.run(seed: 1, apps: [.counting]) { phone in
      let app = phone[.counting]
      app.open()
      app.sendToBackground()
      #expect(
        app.callbackNames == [
          "applicationDidBecomeActive", "applicationWillResignActive",
          "applicationDidEnterBackground",
        ])
      #expect(app.output.map(\.callbackCount) == [0, 0, 1, 3])
    }
  }

  @Test func `A crash ends the app only, and is reported with its signal and its last words`()
    async throws
  {
    try await SimulatedPhone.run(seed: 1, apps: [.aborting]) { phone in
      let app = phone[.aborting]
      for number in 1...2 {
        app.open()
        #expect(app.state == .active)
        app.sendToBackground()
        #expect(app.state == .notRunning)
        #expect(app.exits.count == number)
        #expect(app.exits.last?.signal == SIGABRT)
        #expect(app.exits.last?.launchNumber == number)
        phone.advance(by: .hours(1))
      }
      // Swift's runtime may add where it crashed.
      for number in 1...2 {
        let lines = app.output.filter { $0.launchNumber == number }.map(\.line)
        #expect(lines.prefix(2) == ["before", "the reason"])
      }
      #expect(phone.reports.contains { $0.contains("crashed with signal 6") })
      #expect(phone.failures.isEmpty)
    }
  }

  @Test func `An app that exits is reported with its status`() async throws {
    try await SimulatedPhone.run(seed: 1, apps: [.exiting]) { phone in
      let app = phone[.exiting]
      app.open()
      app.sendToBackground()
      #expect(app.state == .notRunning)
      #expect(app.exits.last?.status == 3)
      #expect(app.exits.last?.signal == nil)
    }
  }

  @Test func `An app that does not return from a callback is ended, and fails the test`()
    async throws
  {
    // Long enough for the start of a process on a busy machine.
    let limit = TimeSpan.seconds(10)
    await #expect(
      throws: SimulatedAppFailure.hangs(
        app: "com.example.hanging", work: "applicationDidEnterBackground", limit: limit)
    ) {
      try await SimulatedPhone.run(
        seed: 1, apps: [.hanging], isolation: .process(answeringWithin: limit)
      ) { phone in
        let app = phone[.hanging]
        app.open()
        app.sendToBackground()
        #expect(app.state == .notRunning)
        #expect(app.output.map(\.line) == ["before"])
      }
    }
  }

  @Test func `An app that writes to the socket of its phone is ended, and fails the test`()
    async throws
  {
    await #expect(throws: SimulatedAppFailure.self) {
      try await SimulatedPhone.run(seed: 1, apps: [.writing]) { phone in
        let app = phone[.writing]
        app.open()
        app.sendToBackground()
        #expect(app.state == .notRunning)
        #expect(phone.failures.count == 1)
      }
    }
  }

  @Test(.timeLimit(.minutes(5)))
  func `A suspended app is stopped, and goes on when it is opened`() async throws {
    try await SimulatedPhone.run(seed: 1, apps: [.identified]) { phone in
      let app = phone[.identified]
      app.open()
      let id = try #require(app.output.first.flatMap { UInt32($0.line) })
      app.sendToBackground()
      phone.advance(by: .seconds(10))
      #expect(app.state == .suspended)
      // Returns when it has stopped.
      var information = siginfo_t()
      #expect(waitid(P_PID, id, &information, Int32(WSTOPPED | WNOWAIT)) == 0)
      #expect(information.si_signo == SIGCHLD)
      app.open()
      #expect(app.state == .active)
      #expect(waitid(P_PID, id, &information, Int32(WCONTINUED | WNOWAIT)) == 0)
    }
  }

  @Test func `Two apps run at a time`() async throws {
    try await SimulatedPhone.run(seed: 2, apps: [.doorLock, .counting]) { phone in
      let lock = LockDevice(of: phone)
      let app = phone[.doorLock]
      app.open()
      try phone.until("connected", limit: .seconds(10)) { lock.isConnected }
      phone.advance(by: .seconds(1))
      app.sendToBackground()
      phone[.counting].open()
      #expect(phone[.counting].state == .active)
      lock.moveOutOfRange()
      phone.advance(by: .minutes(1))
      lock.moveIntoRange()
      phone.advance(by: .minutes(1))
      #expect(lock.openedCount == 1)
      #expect(app.state == .suspended)
      #expect(phone[.counting].state == .active)
      #expect(app.launches.count == 1)
    }
  }

  @Test func `Processes that are gone leave no descriptor and no process`() async throws {
    let (descriptors, children) = (openDescriptorCount(), childCount())
    try await SimulatedPhone.run(seed: 2, apps: [.counting]) { phone in
      for _ in 0..<100 {
        phone[.counting].open()
        phone[.counting].terminate(.crash)
        phone.advance(by: .hours(12))
      }
      #expect(phone[.counting].launches.count == 100)
    }
    // Other tests may have some.
    #expect(openDescriptorCount() - descriptors < 50)
    #expect(childCount() - children < 50)
  }
}

private func openDescriptorCount() -> Int {
  (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count ?? 0
}

/// The processes that this one has started, also those that have ended and were not waited for.
private func childCount() -> Int {
  let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
  return processes.count { name in
    let text = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .isoLatin1)
    let fields = text.map { $0[($0.lastIndex(of: ")") ?? $0.startIndex)...].split(separator: " ") }
    return fields.map { $0.count > 2 && $0[2] == "\(getpid())" } ?? false
  }
}
