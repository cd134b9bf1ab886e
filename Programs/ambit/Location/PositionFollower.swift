import BeaconMachines
import Essentials

/// Follows one beacon: windows go in, fixes and rooms come out.
struct PositionFollower: Sendable {
  private var estimator: PositionEstimator
  private var monitor = RoomMonitor()
  /// The last of them, as many as a picture shows.
  private(set) var fixes: [PositionFix] = []
  private let fixesMax: Int

  /// - Parameters:
  ///   - estimator: Estimates the beacon's position, and has had no readings yet.
  ///   - fixesMax: How many fixes are kept.
  init(_ estimator: PositionEstimator, fixesMax: Int = .max) {
    self.estimator = estimator
    self.fixesMax = fixesMax
  }

  /// Why the last fix is where it is.
  var explanation: PositionExplanation? { estimator.explanation }

  /// Handles the next window; appends entered and left rooms to `rooms`.
  mutating func take(
    _ window: ReadingWindow, rooms: inout [RoomMonitor.Action]
  ) -> PositionFix {
    let fix = estimator.update(window)
    monitor.handle(fix, now: fix.time, into: &rooms)
    if fixes.count >= fixesMax { fixes.removeFirst() }
    fixes.append(fix)
    return fix
  }
}
