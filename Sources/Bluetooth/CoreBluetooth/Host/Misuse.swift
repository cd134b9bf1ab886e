internal import Logging
internal import Synchronization

/// Logs what a program asks for and Core Bluetooth doesn't do, each thing once.
enum Misuse {
  private static let reported = Mutex<Set<String>>([])
  /// A program that invents messages without end should not fill memory with them.
  private static let reportedMax = 256

  static func report(_ message: String) {
    let isNew = reported.withLock { $0.count < reportedMax && $0.insert(message).inserted }
    guard isNew else { return }
    Logger(label: "CoreBluetooth").error("API MISUSE: \(message)")
  }
}
