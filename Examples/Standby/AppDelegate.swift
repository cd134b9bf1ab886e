import AppLifecycle
import Foundation

/// An app that stays reachable: the system holds its connection while it is suspended, and launches it for a message
/// after it was terminated.
@main
final class AppDelegate: UIResponder, UIApplicationDelegate {
  private var line: MessageLine?

  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    guard let server = Server(contentsOf: "server") else {
      print("the file \"server\" has no host and port")
      return false
    }
    let line = MessageLine(server)
    self.line = line
    line.connect()
    // Ten minutes are the shortest time. The system calls back while the app is suspended, too.
    let isSet = application.setKeepAliveTimeout(UIMinimumKeepAliveTimeout) { line.beat() }
    print(isSet ? "keeps the line alive" : "has no heartbeat in the background")
    return true
  }

  func applicationDidEnterBackground(_ application: UIApplication) {
    print("in the background")
  }
}
