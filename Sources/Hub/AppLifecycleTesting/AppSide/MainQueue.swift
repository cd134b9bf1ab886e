import Dispatch

/// The queue of the main actor.
enum MainQueue {
  private static let key: DispatchSpecificKey<Void> = {
    let key = DispatchSpecificKey<Void>()
    DispatchQueue.main.setSpecific(key: key, value: ())
    return key
  }()

  /// Whether this code runs on it.
  static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) != nil }

  /// Waits for its work, and for the work that this adds, a few times: an app may pass a callback on to it.
  static func settle() {
    guard !isCurrent else { return }
    for _ in 0..<turnCount { DispatchQueue.main.sync {} }
  }

  private static let turnCount = 3

  /// Runs something on it, and waits.
  static func run(_ body: @escaping @MainActor @Sendable () -> Void) {
    if isCurrent {
      MainActor.assumeIsolated(body)
    } else {
      DispatchQueue.main.sync { MainActor.assumeIsolated(body) }
    }
  }
}
