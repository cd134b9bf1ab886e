import AppLifecycle
import AppLifecycleTesting
import Essentials
import Testing

@testable import DoorLock

/// An app's delegate as in many projects: it owns the manager, and makes it early in the launch.
@MainActor
private final class LockDelegate: UIResponder, UIApplicationDelegate {
  private var manager: LockManager?
  private var task = UIBackgroundTaskIdentifier.invalid
  /// Whether it begins a background task, and doesn't end it.
  private let overstays: Bool

  init(overstays: Bool) { self.overstays = overstays }

  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    let centrals = launchOptions?[.bluetoothCentrals] as? [String]
    note("launched for \(centrals ?? [])", application)
    manager = LockManager()
    return true
  }

  func applicationDidBecomeActive(_ application: UIApplication) { note("active", application) }
  func applicationDidEnterBackground(_ application: UIApplication) {
    note("background", application)
    guard overstays else { return }
    task = application.beginBackgroundTask(withName: "work") { AppNotes.write("expired") }
  }
  func applicationWillTerminate(_ application: UIApplication) { note("terminating", application) }

  private func note(_ name: String, _ application: UIApplication) {
    AppNotes.write("\(name), state \(application.applicationState.rawValue)")
  }
}

extension SimulatedApp {
  fileprivate static let delegateLock = SimulatedApp(
    "com.example.delegate-lock", infoPlist: ["UIBackgroundModes": ["bluetooth-central"]],
    delegate: { LockDelegate(overstays: false) })
  fileprivate static let overstayingLock = SimulatedApp(
    "com.example.delegate-lock", infoPlist: ["UIBackgroundModes": ["bluetooth-central"]],
    delegate: { LockDelegate(overstays: true) })
}

@Suite(.serialized)
struct DelegateTests {
  @Test(arguments: isolations)
  func `An app delegate is launched for its manager, which is restored first`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await SimulatedPhone.run(seed: 5, apps: [.delegateLock], isolation: isolation) { phone in
      AppNotes.reset()
      let lock = LockDevice(of: phone)
      let app = phone[.delegateLock]
      app.open()
      try phone.until("connected", limit: .seconds(10)) { lock.isConnected }
      phone.advance(by: .seconds(1))
      app.sendToBackground()
      let notes = ["launched for [], state 1", "active, state 0", "background, state 2"]
      #expect(AppNotes.all(of: app, isolation) == notes)
      lock.moveOutOfRange()
      phone.advance(by: .minutes(2))
      app.terminate(.memoryPressure)
      #expect(AppNotes.all(of: app, isolation) == notes)
      lock.moveIntoRange()
      try phone.until("opened", limit: .seconds(10)) { lock.openedCount == 1 }
      #expect(app.launchOptions?[.bluetoothCentrals] as? [String] == ["lock"])
      #expect(
        AppNotes.all(of: app, isolation) == notes + ["launched for [\"lock\"], state 2"])
      #expect(app.callbackNames.first == "willRestoreState")
      phone.advance(by: .seconds(10))
      #expect(app.state == .suspended)
    }
  }

  @Test(arguments: isolations)
  func `An app that its person ends in the foreground is terminated with a callback`(
    _ isolation: SimulatedPhone.Isolation
  )
    async throws
  {
    try await SimulatedPhone.run(seed: 5, apps: [.delegateLock], isolation: isolation) { phone in
      AppNotes.reset()
      let app = phone[.delegateLock]
      app.open()
      app.forceQuit()
      #expect(app.state == .notRunning)
      #expect(AppNotes.all(of: app, isolation).last == "terminating, state 0")
    }
  }

  @Test(arguments: isolations)
  func `A background task that isn't ended is expired, and then the app is ended`(
    _ isolation: SimulatedPhone.Isolation
  )
    async throws
  {
    try await SimulatedPhone.run(seed: 5, apps: [.overstayingLock], isolation: isolation) { phone in
      AppNotes.reset()
      let app = phone[.overstayingLock]
      app.open()
      app.sendToBackground()
      phone.advance(by: .seconds(20))
      #expect(app.state == .background)
      phone.advance(by: .seconds(6))
      #expect(AppNotes.all(of: app, isolation).last == "expired")
      phone.advance(by: .seconds(5))
      #expect(app.state == .notRunning)
      #expect(phone.reports.contains { $0.contains("backgroundTask") })
    }
  }
}
