import AppLifecycle
import CoreLocation

/// An app of the tests of the manager of apps: it prints what its system tells it, and does what the words in the file
/// `orders` of its folder name when it is launched.
@main
final class AppServices: UIResponder, UIApplicationDelegate {
  static let uuid = "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0"
  private let location = CLLocationManager()
  private let orders: [String]

  override init() {
    let text = (try? String(contentsOfFile: "orders", encoding: .utf8)) ?? ""
    orders = text.split(whereSeparator: \.isWhitespace).map(String.init)
    super.init()
  }

  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    let isForLocation = launchOptions?[.location] != nil
    let isInBackground = application.applicationState == .background
    write(
      "launched\(isInBackground ? " in the background" : "")\(isForLocation ? " for location" : "")"
    )
    if orders.contains("regions") { monitor() }
    return true
  }

  func applicationDidEnterBackground(_ application: UIApplication) { write("in the background") }

  private func monitor() {
    location.delegate = self
    location.requestAlwaysAuthorization()
    guard location.monitoredRegions.isEmpty, let uuid = UUID(uuidString: Self.uuid) else {
      return write("monitors still")
    }
    location.startMonitoring(for: CLBeaconRegion(uuid: uuid, identifier: "shop"))
  }

  private func write(_ text: String) {
    FileHandle.standardOutput.write(Data("\(text)\n".utf8))
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
