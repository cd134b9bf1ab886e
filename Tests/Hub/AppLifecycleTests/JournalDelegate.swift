import AppLifecycle
import Foundation

/// Writes down all calls, with the state of the app.
@MainActor class JournalDelegate: UIResponder, UIApplicationDelegate {
  let journal: Journal
  private var observers: [any NSObjectProtocol] = []
  var launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  var onLaunch: (() -> Void)?
  var completesPushes = true
  var fetchCompletion: ((UIBackgroundFetchResult) -> Void)?

  init(_ journal: Journal, observing names: [Notification.Name] = []) {
    self.journal = journal
    super.init()
    for name in names {
      observers.append(
        NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in
          journal.write(name.rawValue)
        })
    }
  }

  isolated deinit {
    for observer in observers { NotificationCenter.default.removeObserver(observer) }
  }

  private func write(_ name: String, _ application: UIApplication) {
    journal.write("\(name) \(application.applicationState)")
  }

  func application(
    _ application: UIApplication,
    willFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    write("willFinishLaunching", application)
    return true
  }
  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    write("didFinishLaunching", application)
    self.launchOptions = launchOptions
    if let launchOptions {
      journal.write(launchOptions.keys.map(\.rawValue).sorted().joined(separator: ","))
    }
    onLaunch?()
    return true
  }
  func applicationDidBecomeActive(_ application: UIApplication) {
    write("didBecomeActive", application)
  }
  func applicationWillResignActive(_ application: UIApplication) {
    write("willResignActive", application)
  }
  func applicationDidEnterBackground(_ application: UIApplication) {
    write("didEnterBackground", application)
  }
  func applicationWillEnterForeground(_ application: UIApplication) {
    write("willEnterForeground", application)
  }
  func applicationWillTerminate(_ application: UIApplication) {
    write("willTerminate", application)
  }
  func applicationDidReceiveMemoryWarning(_ application: UIApplication) {
    write("didReceiveMemoryWarning", application)
  }
  func application(
    _ application: UIApplication,
    didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
  ) { journal.write("token \(Array(deviceToken))") }
  func application(
    _ application: UIApplication,
    didFailToRegisterForRemoteNotificationsWithError error: any Error
  ) { journal.write("no token \((error as NSError).code)") }
  func application(
    _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
    fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
  ) {
    write("push \(userInfo["door"] ?? "")", application)
    if completesPushes { completionHandler(.newData) } else { fetchCompletion = completionHandler }
  }
  func application(
    _ application: UIApplication,
    performFetchWithCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
  ) {
    write("fetch", application)
    completionHandler(.newData)
    completionHandler(.noData)
  }
}
