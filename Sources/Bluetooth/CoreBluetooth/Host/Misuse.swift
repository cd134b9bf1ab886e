internal import Synchronization

/// Tells programmers on standard error what Core Bluetooth will not do; each thing once.
enum Misuse {
  private static let reported = Mutex<Set<String>>([])
  /// A program that invents messages without end should not fill memory with them.
  private static let reportedMax = 256

  static func report(_ message: String) {
    let isNew = reported.withLock { $0.count < reportedMax && $0.insert(message).inserted }
    guard isNew else { return }
    FileHandle.standardError.write(Data("[CoreBluetooth] API MISUSE: \(message)\n".utf8))
  }
}
