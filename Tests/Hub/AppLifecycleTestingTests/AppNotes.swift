import AppLifecycleTesting
import Synchronization

/// What an app notes about itself: the lines that it prints, which a test in the same process can't read.
enum AppNotes {
  /// Nil in a process of its own.
  private static let lines = Mutex<[String]?>(nil)

  static func write(_ line: String) {
    let isProcess = lines.withLock { lines in
      lines?.append(line)
      return lines == nil
    }
    if isProcess { print(line) }
  }

  /// The notes of all processes of an app on a phone, in order.
  static func all(of app: InstalledApp, _ isolation: SimulatedPhone.Isolation) -> [String] {
    isolation == .inProcess ? lines.withLock { $0 ?? [] } : app.output.map(\.line)
  }

  /// Forgets the notes of earlier phones. Apps of one phone run in this process at a time.
  static func reset() { lines.withLock { $0 = [] } }
}
