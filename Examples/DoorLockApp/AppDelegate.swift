import AppLifecycle
import DoorLock

/// The door lock as an app that lives in the background: the system launches it when its lock comes into range.
@main
final class AppDelegate: UIResponder, UIApplicationDelegate {
  private var lock: LockManager?

  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    if let managers = launchOptions?[.bluetoothCentrals] as? [String] {
      print("launched for \(managers.joined(separator: ", "))")
    }
    lock = LockManager()
    return true
  }

  func applicationDidEnterBackground(_ application: UIApplication) {
    print("in the background")
  }
}
