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

/// An app that registers without a queue, as most apps do, and works in tasks of the language.
@MainActor
private final class ConcurrentDelegate: UIResponder, UIApplicationDelegate {
  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    BGTaskScheduler.shared.register(forTaskWithIdentifier: TaskDelegate.task, using: nil) { task in
      Task {
        await Self.work()
        AppNotes.write("task")
        task.setTaskCompleted(success: true)
      }
    }
    UNUserNotificationCenter.current().requestAuthorization(options: []) { isGranted, _ in
      AppNotes.write("granted \(isGranted)")
    }
    return true
  }

  private nonisolated static func work() async {
    for _ in 0..<1_000 { await Task.yield() }
  }

  func applicationDidEnterBackground(_ application: UIApplication) {
    do {
      try BGTaskScheduler.shared.submit(BGAppRefreshTaskRequest(identifier: TaskDelegate.task))
    } catch { AppNotes.write("\(error)") }
  }

  func application(
    _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
    fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
  ) {
    Task {
      await Self.work()
      AppNotes.write("notification")
      completionHandler(.newData)
    }
  }
}

/// An app that shows alerts, and notes how it was launched.
@MainActor
private final class AlertDelegate: UIResponder, UIApplicationDelegate {
  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    let payload = launchOptions?[.remoteNotification] as? [AnyHashable: Any]
    AppNotes.write("launched for \(payload?["number"] ?? "nothing")")
    UNUserNotificationCenter.current().requestAuthorization(options: [.alert]) { _, _ in }
    return true
  }

  func application(
    _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
    fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
  ) {
    AppNotes.write("notification \(userInfo["number"] ?? "without number")")
    completionHandler(.newData)
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

  private static let concurrent = SimulatedApp(
    "com.example.concurrent", infoPlist: infoPlist, delegate: { ConcurrentDelegate() })

  private static let alerting = SimulatedApp(
    "com.example.alerting", infoPlist: infoPlist, delegate: { AlertDelegate() })

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

  @Test(arguments: isolations)
  func `Virtual time waits for the tasks of the language with which an app handles an event`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await run(isolation, of: Self.concurrent) { phone, app in
      let reports = phone.reports
      app.open()
      app.sendToBackground()
      phone.advance(by: .seconds(10))
      #expect(app.runTask(TaskDelegate.task))
      phone.advance(by: .days(1))
      app.receiveRemoteNotification(#"{"aps":{"content-available":1}}"#)
      phone.advance(by: .days(1))
      let notes = AppNotes.all(of: app, isolation)
      #expect(notes == ["granted true", "granted true", "task", "notification"])
      #expect(app.launches.count == 2 && app.state == .suspended)
      #expect(phone.reports == reports)
      #expect(app.backgroundTime < .seconds(1))
    }
  }

  @Test(arguments: isolations) func `A submitted task launches the app once`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await run(isolation) { _, app in
      #expect(app.runTask(TaskDelegate.task))
      #expect(AppNotes.all(of: app, isolation) == ["launched", "launched", "task"])
      #expect(app.callbackNames == ["launchHandler(\(TaskDelegate.task))"])
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
      #expect(app.callbackNames == ["didReceiveRemoteNotification"])
      phone.advance(by: .seconds(1))
      #expect(app.state == .suspended)
      app.forceQuit()
      app.receiveRemoteNotification(#"{"aps": {"content-available": 1}}"#)
      #expect(app.launches.count == 2)
    }
  }

  @Test(arguments: isolations)
  func `An alert for an app that doesn't run is given to it when it is tapped, and not by its icon`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await run(isolation, of: Self.alerting) { phone, app in
      app.receiveRemoteNotification(#"{"aps": {"alert": "Hello"}, "number": 1}"#)
      phone.advance(by: .minutes(1))
      // It is shown, and launches nothing.
      #expect(app.alerts.count == 1 && app.launches.count == 1)
      app.open()
      phone.advance(by: .seconds(1))
      #expect(app.launches.count == 2 && app.launchOptions == nil)
      app.sendToBackground()
      app.terminate(.memoryPressure)
      app.receiveRemoteNotification(#"{"aps": {"alert": "Hello"}, "number": 2}"#)
      phone.advance(by: .minutes(1))
      #expect(app.alerts.count == 2 && app.launches.count == 2)
      app.open(try #require(app.alerts.last))
      phone.advance(by: .seconds(1))
      #expect(app.launches.count == 3 && app.state == .active)
      let payload = app.launchOptions?[.remoteNotification] as? [AnyHashable: Any]
      #expect(payload?["number"] as? Int == 2)
      #expect(app.callbackNames.contains("didReceive(response)"))
      let byIcon = "launched for nothing"
      #expect(
        AppNotes.all(of: app, isolation) == [byIcon, byIcon, "launched for 2", "notification 2"])
    }
  }

  @Test(arguments: isolations)
  func `The callbacks of an app in the foreground have its notifications and fetches`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await run(isolation) { _, app in
      app.open()
      app.receiveRemoteNotification(#"{"aps": {"alert": "Hello"}}"#)
      app.performFetch()
      #expect(app.callbackNames.suffix(2) == ["willPresent(notification)", "performFetch"])
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
