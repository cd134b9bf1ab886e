import AppLifecycle
import AppLifecycleTesting
import Essentials
import Testing

/// An app that works in the background without Bluetooth.
@MainActor
private final class TaskDelegate: UIResponder, UIApplicationDelegate {
  nonisolated static let task = "com.example.refresh"
  /// Whether it calls completion handlers.
  private let completes: Bool

  init(completes: Bool) { self.completes = completes }

  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    AppNotes.write("launched")
    let completes = completes
    BGTaskScheduler.shared.register(forTaskWithIdentifier: Self.task, using: .main) { task in
      let isRefresh = task is BGAppRefreshTask
      MainActor.assumeIsolated {
        AppNotes.write(isRefresh ? "task" : "another task")
        task.expirationHandler = { AppNotes.write("expired") }
        if completes { task.setTaskCompleted(success: true) }
      }
    }
    return true
  }

  func applicationDidEnterBackground(_ application: UIApplication) {
    do {
      try BGTaskScheduler.shared.submit(BGAppRefreshTaskRequest(identifier: Self.task))
    } catch { AppNotes.write("\(error)") }
  }

  func application(
    _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
    fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
  ) {
    AppNotes.write("notification")
    if completes { completionHandler(.newData) }
  }
}

@Suite(.serialized)
struct TaskTests {
  private static let infoPlist: [String: [String]] = [
    "UIBackgroundModes": ["fetch", "remote-notification"],
    "BGTaskSchedulerPermittedIdentifiers": ["com.example.refresh"],
  ]
  private static let app = SimulatedApp(
    "com.example.task", infoPlist: infoPlist, delegate: { TaskDelegate(completes: true) })
  private static let endless = SimulatedApp(
    "com.example.endless", infoPlist: infoPlist, delegate: { TaskDelegate(completes: false) })

  private func run(
    _ isolation: SimulatedPhone.Isolation, of definition: SimulatedApp = Self.app,
    _ body: @Sendable (SimulatedPhone, InstalledApp) async throws -> Void
  ) async throws {
    try await SimulatedPhone.run(seed: 1, apps: [definition], isolation: isolation) { phone in
      AppNotes.reset()
      let app = phone[definition]
      app.open()
      app.sendToBackground()
      #expect(app.state == .suspended)
      app.terminate(.memoryPressure)
      try await body(phone, app)
    }
  }

  @Test(arguments: isolations) func `A submitted task launches the app once`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await run(isolation) { _, app in
      #expect(app.runTask(TaskDelegate.task))
      #expect(AppNotes.all(of: app, isolation) == ["launched", "launched", "task"])
      #expect(app.state == .suspended)
      #expect(!app.runTask(TaskDelegate.task))
    }
  }

  @Test(arguments: isolations) func `A task that isn't completed is expired, and ends the app`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await run(isolation, of: Self.endless) { phone, app in
      #expect(app.runTask(TaskDelegate.task))
      phone.advance(by: .seconds(24))
      #expect(app.state == .background)
      phone.advance(by: .seconds(2))
      #expect(AppNotes.all(of: app, isolation).last == "expired")
      phone.advance(by: .seconds(10))
      #expect(app.state == .notRunning)
    }
  }

  @Test(arguments: isolations)
  func `A silent notification launches an app, unless its person has ended it`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await run(isolation) { phone, app in
      app.receiveRemoteNotification(#"{"aps": {"content-available": 1}}"#)
      #expect(AppNotes.all(of: app, isolation) == ["launched", "launched", "notification"])
      phone.advance(by: .seconds(1))
      #expect(app.state == .suspended)
      app.forceQuit()
      app.receiveRemoteNotification(#"{"aps": {"content-available": 1}}"#)
      #expect(app.launches.count == 2)
    }
  }

  @Test func `A notification that was shown has the phone's time`() async throws {
    try await SimulatedPhone.run(seed: 22, apps: [Self.app], isolation: .inProcess) { phone in
      let app = phone[Self.app]
      app.open()
      app.sendToBackground()
      phone.advance(by: .hours(1))
      app.receiveRemoteNotification(#"{"aps": {"alert": "Hello"}}"#)
      let shown = await UNUserNotificationCenter.current().deliveredNotifications()
      let date = try #require(shown.first?.date)
      let time = (phone.now - .zero).seconds
      #expect(abs(date.timeIntervalSinceReferenceDate - time) < 0.001)
    }
  }
}
