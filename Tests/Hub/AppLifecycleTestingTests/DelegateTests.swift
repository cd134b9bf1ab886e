import AppLifecycle
import AppLifecycleTesting
import Essentials
import Testing

@testable import DoorLock

/// An app's delegate as in many projects: it owns the manager, and makes it early in the launch.
@MainActor
private final class LockDelegate: UIResponder, UIApplicationDelegate {
  static var last: LockDelegate?
  private var manager: LockManager?
  private(set) var centrals: [String]?
  private(set) var callbacks: [String] = []
  private(set) var states: [UIApplication.State] = []
  private var task = UIBackgroundTaskIdentifier.invalid
  /// Whether it begins a background task, and doesn't end it.
  static var overstays = false

  override init() {
    super.init()
    Self.last = self
  }

  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    centrals = launchOptions?[.bluetoothCentrals] as? [String]
    note("launched", application)
    manager = LockManager()
    return true
  }

  func applicationDidBecomeActive(_ application: UIApplication) { note("active", application) }
  func applicationDidEnterBackground(_ application: UIApplication) {
    note("background", application)
    guard Self.overstays else { return }
    task = application.beginBackgroundTask(withName: "work") { [weak self] in
      self?.callbacks.append("expired")
    }
  }
  func applicationWillTerminate(_ application: UIApplication) { note("terminating", application) }

  private func note(_ name: String, _ application: UIApplication) {
    callbacks.append(name)
    states.append(application.applicationState)
  }
}

extension SimulatedApp {
  fileprivate static let delegateLock = SimulatedApp(
    "com.example.delegate-lock", infoPlist: ["UIBackgroundModes": ["bluetooth-central"]],
    delegate: { LockDelegate() })
}

@Suite(.serialized)
struct DelegateTests {
  @Test func `An app delegate is launched for its manager, which is restored first`() async throws {
    try await SimulatedPhone.run(seed: 5, apps: [.delegateLock]) { phone in
      let lock = LockDevice(of: phone)
      let app = phone[.delegateLock]
      app.open()
      try phone.until("connected", limit: .seconds(10)) { lock.isConnected }
      phone.advance(by: .seconds(1))
      app.sendToBackground()
      #expect(await LockDelegate.last?.callbacks == ["launched", "active", "background"])
      #expect(await LockDelegate.last?.states == [.inactive, .active, .background])
      lock.moveOutOfRange()
      phone.advance(by: .minutes(2))
      app.terminate(.memoryPressure)
      #expect(await LockDelegate.last?.callbacks == ["launched", "active", "background"])
      lock.moveIntoRange()
      try phone.until("opened", limit: .seconds(10)) { lock.openedCount == 1 }
      #expect(app.launchOptions?[.bluetoothCentrals] as? [String] == ["lock"])
      #expect(await LockDelegate.last?.centrals == ["lock"])
      #expect(app.callbackNames.first == "willRestoreState")
      #expect(await LockDelegate.last?.states == [.background])
      phone.advance(by: .seconds(10))
      #expect(app.state == .suspended)
    }
  }

  @Test func `An app that its person ends in the foreground is terminated with a callback`()
    async throws
  {
    try await SimulatedPhone.run(seed: 5, apps: [.delegateLock]) { phone in
      let app = phone[.delegateLock]
      app.open()
      app.forceQuit()
      #expect(app.state == .notRunning)
      #expect(await LockDelegate.last?.callbacks.last == "terminating")
    }
  }

  @Test func `A background task that isn't ended is expired, and then the app is ended`()
    async throws
  {
    await MainActor.run { LockDelegate.overstays = true }
    try await SimulatedPhone.run(seed: 5, apps: [.delegateLock]) { phone in
      let app = phone[.delegateLock]
      app.open()
      app.sendToBackground()
      phone.advance(by: .seconds(20))
      #expect(app.state == .background)
      phone.advance(by: .seconds(6))
      #expect(await LockDelegate.last?.callbacks.last == "expired")
      phone.advance(by: .seconds(5))
      #expect(app.state == .notRunning)
      #expect(phone.reports.contains { $0.contains("backgroundTask") })
    }
    await MainActor.run { LockDelegate.overstays = false }
  }
}
