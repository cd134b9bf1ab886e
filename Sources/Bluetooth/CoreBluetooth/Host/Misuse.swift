internal import Logging
internal import Synchronization

/// Logs calls that Core Bluetooth ignores or rejects, each message once.
enum Misuse {
  private static let reported = Mutex<Set<String>>([])
  /// Limits the memory if a program's messages are all different.
  private static let reportedMax = 256

  static func report(_ message: String) {
    let isNew = reported.withLock { $0.count < reportedMax && $0.insert(message).inserted }
    guard isNew else { return }
    Logger(label: "CoreBluetooth").error("API MISUSE: \(message)")
  }
}
