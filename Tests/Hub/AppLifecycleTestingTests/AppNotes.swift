import AppLifecycleTesting
import Synchronization

/// What an app notes about itself: the lines that it prints, which a test in the same process can't read.
enum AppNotes {
  private static let lines = Mutex<[String]>([])

  static func write(_ line: String) {
    print(line)
    lines.withLock { $0.append(line) }
  }

  /// The notes of all processes of an app on a phone, in order.
  static func all(of app: InstalledApp, _ isolation: SimulatedPhone.Isolation) -> [String] {
    isolation == .inProcess ? lines.withLock { $0 } : app.output.map(\.line)
  }

  /// Forgets the notes of earlier phones. Apps of one phone run in this process at a time.
  static func reset() { lines.withLock { $0 = [] } }
}
