import AppLifecycle
import CoreLocation
import UserNotifications

/// An app that greets its user with a notification where a shop's beacons begin.
class ShopAppDelegate: NSObject, UIApplicationDelegate {
  static let region = CLBeaconRegion(
    uuid: UUID(uuidString: "8D847D20-0116-435F-9A21-2FA79A706D9E") ?? UUID(),
    identifier: "shop")

  private(set) var log: [String] = []
  private let locationManager = CLLocationManager()

  override init() {
    super.init()
    locationManager.delegate = self
  }

  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplicationLaunchOptionsKey: Any]?
  ) -> Bool {
    UNUserNotificationCenter.current().delegate = self
    UNUserNotificationCenter.current().requestAuthorization(options: [.alert, .sound, .badge]) {
      granted, error in
      if let error = error { print("Notifications: \(error.localizedDescription)") }
      guard granted else { return }
    }
    if launchOptions?[.location] != nil { log.append("launched for a region") }
    locationManager.requestAlwaysAuthorization()
    ShopAppDelegate.region.notifyEntryStateOnDisplay = true
    locationManager.startMonitoring(for: ShopAppDelegate.region)
    return true
  }

  func applicationWillResignActive(_ application: UIApplication) { log.append("resign") }
  func applicationDidBecomeActive(_ application: UIApplication) {
    application.applicationIconBadgeNumber = 0
    log.append("active")
  }

  private func notify(title: String, body: String) {
    let content = UNMutableNotificationContent()
    content.title = title
    content.body = body
    content.sound = UNNotificationSound.default
    content.userInfo = ["region": ShopAppDelegate.region.identifier]
    let trigger = UNTimeIntervalNotificationTrigger(timeInterval: 1, repeats: false)
    let request = UNNotificationRequest(identifier: title, content: content, trigger: trigger)
    UNUserNotificationCenter.current().add(request) { error in
      if error != nil { print("The notification was not added.") }
    }
  }
}

extension ShopAppDelegate: CLLocationManagerDelegate {
  func locationManager(_ manager: CLLocationManager, didEnterRegion region: CLRegion) {
    log.append("entered \(region.identifier)")
    if UIApplication.shared.applicationState != .active {
      notify(title: "Welcome", body: "Today's offers")
    }
  }

  func locationManager(_ manager: CLLocationManager, didExitRegion region: CLRegion) {
    log.append("left \(region.identifier)")
    notify(title: "Goodbye", body: "See you soon")
  }
}

extension ShopAppDelegate: UNUserNotificationCenterDelegate {
  func userNotificationCenter(
    _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
    withCompletionHandler completionHandler: @escaping (UNNotificationPresentationOptions) -> Void
  ) {
    log.append("presents \(notification.request.identifier)")
    completionHandler([.alert, .sound])
  }

  func userNotificationCenter(
    _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
    withCompletionHandler completionHandler: @escaping () -> Void
  ) {
    if response.actionIdentifier == UNNotificationDefaultActionIdentifier {
      let info = response.notification.request.content.userInfo
      log.append("tapped \(info["region"] as? String ?? "")")
    }
    completionHandler()
  }
}
