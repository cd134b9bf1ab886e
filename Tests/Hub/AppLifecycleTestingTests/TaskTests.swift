import AppLifecycle
import AppLifecycleTesting
import Essentials
import Testing

/// An app that works in the background without Bluetooth.
@MainActor
private final class TaskDelegate: UIResponder, UIApplicationDelegate {
  nonisolated static let task = "com.example.refresh"
  static var callbacks: [String] = []
  /// Whether it calls completion handlers.
  static var completes = true

  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    Self.callbacks.append("launched")
    _ = BGTaskScheduler.shared.register(forTaskWithIdentifier: Self.task, using: .main) { task in
      let isRefresh = task is BGAppRefreshTask
      MainActor.assumeIsolated {
        Self.callbacks.append(isRefresh ? "task" : "another task")
        task.expirationHandler = { MainActor.assumeIsolated { Self.callbacks.append("expired") } }
        if Self.completes { task.setTaskCompleted(success: true) }
      }
    }
    return true
  }

  func applicationDidEnterBackground(_ application: UIApplication) {
    do {
      try BGTaskScheduler.shared.submit(BGAppRefreshTaskRequest(identifier: Self.task))
    } catch { Self.callbacks.append("\(error)") }
  }

  func application(
    _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
    fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
  ) {
    Self.callbacks.append("notification")
    if Self.completes { completionHandler(.newData) }
  }
}

@Suite(.serialized)
struct TaskTests {
  private static let app = SimulatedApp(
    "com.example.task",
    infoPlist: [
      "UIBackgroundModes": ["fetch", "remote-notification"],
      "BGTaskSchedulerPermittedIdentifiers": ["com.example.refresh"],
    ], delegate: { TaskDelegate() })

  private func run(
    completes: Bool = true, _ body: @Sendable (SimulatedPhone, InstalledApp) async throws -> Void
  ) async throws {
    try await SimulatedPhone.run(seed: 1, apps: [Self.app]) { phone in
      await MainActor.run {
        TaskDelegate.callbacks = []
        TaskDelegate.completes = completes
      }
      let app = phone[Self.app]
      app.open()
      app.sendToBackground()
      #expect(app.state == .suspended)
      app.terminate(.memoryPressure)
      try await body(phone, app)
    }
  }

  @Test func `A submitted task launches the app once`() async throws {
    try await run { _, app in
      #expect(app.runTask(TaskDelegate.task))
      #expect(await TaskDelegate.callbacks == ["launched", "launched", "task"])
      #expect(app.state == .suspended)
      #expect(!app.runTask(TaskDelegate.task))
    }
  }

  @Test func `A task that isn't completed is expired, and ends the app`() async throws {
    try await run(completes: false) { phone, app in
      #expect(app.runTask(TaskDelegate.task))
      phone.advance(by: .seconds(24))
      #expect(app.state == .background)
      phone.advance(by: .seconds(2))
      #expect(await TaskDelegate.callbacks.last == "expired")
      phone.advance(by: .seconds(10))
      #expect(app.state == .notRunning)
    }
  }

  @Test func `A silent notification launches an app, unless its person has ended it`() async throws
  {
    try await run { phone, app in
      app.receiveRemoteNotification(#"{"aps": {"content-available": 1}}"#)
      #expect(await TaskDelegate.callbacks == ["launched", "launched", "notification"])
      phone.advance(by: .seconds(1))
      #expect(app.state == .suspended)
      app.forceQuit()
      app.receiveRemoteNotification(#"{"aps": {"content-available": 1}}"#)
      #expect(app.launches.count == 2)
    }
  }

  @Test func `A notification that was shown has the phone's time`() async throws {
    try await SimulatedPhone.run(seed: 22, apps: [Self.app]) { phone in
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
