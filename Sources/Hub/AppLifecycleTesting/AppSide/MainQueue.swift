import Dispatch
import Foundation

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

  /// Waits for the sources of the main run loop, where location managers call their delegates. For a process whose main
  /// thread runs that loop.
  static func settleRunLoop() {
    guard !Thread.isMainThread else { return }
    // The second call is in a later turn of the loop than the first, and the sources are between them.
    for _ in 0..<2 {
      let turn = DispatchGroup()
      turn.enter()
      RunLoop.main.perform { turn.leave() }
      // The call itself doesn't wake the loop.
      DispatchQueue.main.async {}
      turn.wait()
    }
  }

  /// Runs something on it, and waits.
  static func run(_ body: @escaping @MainActor @Sendable () -> Void) {
    if isCurrent {
      MainActor.assumeIsolated(body)
    } else {
      DispatchQueue.main.sync { MainActor.assumeIsolated(body) }
    }
  }
}
