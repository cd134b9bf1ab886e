import AppLifecycle

/// An app that records a heart rate in the background, for hours and over terminations, and prints its processor time.
@main
final class AppDelegate: UIResponder, UIApplicationDelegate {
  private var recorder: PulseRecorder?

  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    if let managers = launchOptions?[.bluetoothCentrals] as? [String] {
      print("launched for \(managers.joined(separator: ", "))")
    }
    recorder = PulseRecorder(log: PulseLog(path: "pulses.csv"))
    return true
  }

  func applicationDidEnterBackground(_ application: UIApplication) {
    print("in the background")
  }
}
