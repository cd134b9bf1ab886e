import AppLifecycle
import CoreLocation

/// An app of the tests of the manager of apps: it prints the calls of its delegates, and begins what the words in the
/// file `orders` of its folder name when it is launched.
@main
final class AppServices: UIResponder, UIApplicationDelegate {
  static let uuid = "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0"
  private let location = CLLocationManager()
  private let orders: [String]
  private var bell: Bell?

  override init() {
    let text = (try? String(contentsOfFile: "orders", encoding: .utf8)) ?? ""
    orders = text.split(whereSeparator: \.isWhitespace).map(String.init)
    super.init()
  }

  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    let isInBackground = application.applicationState == .background
    var words = ["launched"]
    if isInBackground { words.append("in the background") }
    if launchOptions?[.location] != nil { words.append("for location") }
    if launchOptions?[.remoteNotification] != nil { words.append("from a notification") }
    write(words.joined(separator: " "))
    if orders.contains("regions") { monitor() }
    if orders.contains("bell") { bell = Bell { [self] in write($0) } }
    if orders.contains("push") { application.registerForRemoteNotifications() }
    if orders.contains("task") { scheduleTask(submits: !isInBackground) }
    if orders.contains("notify") { authorize() }
    return true
  }

  func applicationDidEnterBackground(_ application: UIApplication) {
    if orders.contains("notify") { notify() }
    write("in the background")
  }

  private func write(_ text: String) {
    FileHandle.standardOutput.write(Data("\(text)\n".utf8))
  }

  // MARK: Regions

  private func monitor() {
    location.delegate = self
    location.requestAlwaysAuthorization()
    guard location.monitoredRegions.isEmpty, let uuid = UUID(uuidString: Self.uuid) else {
      return write("monitors still")
    }
    location.startMonitoring(for: CLBeaconRegion(uuid: uuid, identifier: "shop"))
  }

  // MARK: Remote notifications

  func application(
    _ application: UIApplication,
    didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
  ) { write("token of \(deviceToken.count) bytes") }

  func application(
    _ application: UIApplication,
    didReceiveRemoteNotification userInfo: [AnyHashable: Any],
    fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
  ) {
    write("got \(userInfo["text"] ?? "nothing")")
    completionHandler(.newData)
  }

  // MARK: Tasks

  private func scheduleTask(submits: Bool) {
    BGTaskScheduler.shared.register(forTaskWithIdentifier: "refresh", using: .main) { task in
      task.expirationHandler = { print("expired") }
      print("refreshes")
      if !FileManager.default.fileExists(atPath: "hangs") { task.setTaskCompleted(success: true) }
    }
    guard submits else { return }
    do {
      try BGTaskScheduler.shared.submit(BGAppRefreshTaskRequest(identifier: "refresh"))
      write("submitted")
    } catch { write("\(error)") }
  }

  // MARK: Local notifications

  private func authorize() {
    let center = UNUserNotificationCenter.current()
    center.delegate = self
    center.requestAuthorization { isGranted, _ in print("may notify \(isGranted)") }
  }

  private func notify() {
    let content = UNMutableNotificationContent()
    content.title = "News"
    content.body = "Something happened."
    let trigger = UNTimeIntervalNotificationTrigger(timeInterval: 0.1, repeats: false)
    UNUserNotificationCenter.current().add(
      UNNotificationRequest(identifier: "n", content: content, trigger: trigger))
  }
}

extension AppServices: CLLocationManagerDelegate {
  nonisolated func locationManager(
    _ manager: CLLocationManager, didStartMonitoringFor region: CLRegion
  ) { print("monitors \(region.identifier)") }

  nonisolated func locationManager(_ manager: CLLocationManager, didEnterRegion region: CLRegion) {
    print("entered \(region.identifier)")
  }

  nonisolated func locationManager(_ manager: CLLocationManager, didExitRegion region: CLRegion) {
    print("exited \(region.identifier)")
  }
}

extension AppServices: UNUserNotificationCenterDelegate {
  nonisolated func userNotificationCenter(
    _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse
  ) async { print("opened from \(response.notification.request.content.title)") }
}
