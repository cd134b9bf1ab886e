import AppLifecycle

/// A program with an app that no system runs: it prints the calls of its delegate.
@main
final class AppStates: UIResponder, UIApplicationDelegate {
  private let text: String

  override init() {
    text = "made"
    super.init()
  }

  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    write("\(text) \(launchOptions?.count ?? 0)")
    return true
  }

  func applicationDidBecomeActive(_ application: UIApplication) {
    let isSame = application === UIApplication.shared && application.delegate === self
    let task = application.beginBackgroundTask()
    let remaining = application.backgroundTimeRemaining == .greatestFiniteMagnitude
    write("active \(isSame) \(task != .invalid) \(remaining)")
    application.endBackgroundTask(task)
    application.registerForRemoteNotifications()
    do {
      try BGTaskScheduler.shared.submit(BGAppRefreshTaskRequest(identifier: "refresh"))
    } catch {
      write("\((error as NSError).domain) \((error as NSError).code)")
    }
  }

  func application(
    _ application: UIApplication,
    didFailToRegisterForRemoteNotificationsWithError error: any Error
  ) { write("no token \((error as NSError).code)") }

  func applicationWillTerminate(_ application: UIApplication) {
    write("terminate")
    // Longer than a person waits.
    if CommandLine.arguments.contains("--hang") { Thread.sleep(forTimeInterval: 30) }
  }

  private func write(_ text: String) {
    FileHandle.standardOutput.write(Data("\(text)\n".utf8))
  }
}
