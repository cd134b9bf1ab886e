#if Messaging
  import AppLifecycle
  import CoreLocation
  import Foundation
  import Messaging

  /// An app that tells its owner of a beacon at the gate, with a picture. It is launched for the beacon, and woken by the
  /// owner's messages.
  @main
  final class AppDelegate: UIResponder, UIApplicationDelegate {
    private let location = CLLocationManager()
    private var gate: Gate?

    func application(
      _ application: UIApplication,
      didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool {
      guard let text = try? String(contentsOfFile: "settings", encoding: .utf8),
        let settings = Settings(text)
      else {
        print("the file \"settings\" lacks a setting")
        return false
      }
      do {
        let gate = try Gate(settings)
        self.gate = gate
        // An app that was launched in the background is suspended when its launch is over, unless it has a task.
        let task = BackgroundTask(application)
        gate.online = {
          // What came with the resumed session is handled before the app is suspended.
          if application.applicationState == .background {
            await gate.account.prepareForSuspension()
          }
          task.end()
        }
        gate.perform = { [weak self] work in self?.perform(application) { _ in await work() } }
        gate.start()
      } catch {
        print("the messages can't be used: \(error)")
        return false
      }
      // The shortest time. A server that can't be reached is tried again then.
      _ = application.setKeepAliveTimeout(UIMinimumKeepAliveTimeout) { [weak self] in
        self?.perform(application) { await $0.connect() }
      }
      location.delegate = self
      location.requestAlwaysAuthorization()
      location.startMonitoring(for: CLBeaconRegion(uuid: settings.beacon, identifier: "gate"))
      return true
    }

    func applicationDidEnterBackground(_ application: UIApplication) {
      perform(application) { await $0.account.prepareForSuspension() }
    }

    func applicationWillEnterForeground(_ application: UIApplication) {
      gate?.account.setInUse(true)
    }

    /// Does something for which the app isn't suspended.
    private func perform(
      _ application: UIApplication, _ work: @escaping @MainActor (Gate) async -> Void
    ) {
      guard let gate else { return }
      let task = BackgroundTask(application)
      Task {
        await work(gate)
        task.end()
      }
    }
  }

  /// Time in the background, until it is ended or is over.
  @MainActor
  private final class BackgroundTask {
    private let application: UIApplication
    private var identifier = UIBackgroundTaskIdentifier.invalid

    init(_ application: UIApplication) {
      self.application = application
      identifier = application.beginBackgroundTask { [weak self] in self?.end() }
    }

    /// Ends it, once.
    func end() {
      application.endBackgroundTask(identifier)
      identifier = .invalid
    }
  }

  extension AppDelegate: CLLocationManagerDelegate {
    func locationManager(_ manager: CLLocationManager, didEnterRegion region: CLRegion) {
      print("entered \(region.identifier)")
      perform(UIApplication.shared) { await $0.report() }
    }

    func locationManager(
      _ manager: CLLocationManager, monitoringDidFailFor region: CLRegion?,
      withError error: any Error
    ) { print("the gate isn't monitored: \(error)") }
  }
#else
  import Foundation

  @main
  struct App {
    static func main() {
      FileHandle.standardError.write(Data("Build it with: --traits default,Messaging\n".utf8))
      exit(1)
    }
  }
#endif
