import BeaconMachines
import Essentials
import Foundation
import JSONWire

/// Reports every second the position of a beacon that receivers hear.
struct LiveLocator: Sendable {
  let plan: FloorPlan
  let radios: ReceiverRadios
  /// The receivers' places in the plan, in the order of the radios.
  let places: [Int]
  let beacon: BeaconConstraint
  let report: FixReport
  /// Whether explanations are printed.
  let explains: Bool
  /// Where the picture is written anew each second; nil for nowhere.
  let picturePath: String?

  /// The window that is collected for the next second.
  private struct State: Sendable {
    var collector: WindowCollector
    /// Receivers of the plan that can't hear.
    var deaf: Set<Int>
    var count = 0
  }

  /// As long as the way that is drawn: ten minutes.
  private static let fixesMax = 600
  /// The time without readings after which a beacon is reported as silent, once.
  private static let silence = TimeSpan.seconds(10)

  /// Goes on until the task is cancelled.
  func run(_ calibration: PositionCalibration) async throws {
    let state = Guarded(
      State(
        collector: WindowCollector(plan: plan),
        deaf: Set(plan.receivers.indices).subtracting(places)))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        await radios.hear { heard in
          guard let identity = heard.beacon.iBeacon, beacon.matches(BeaconIdentity(identity))
          else { return }
          let reading = TraceReading(
            time: .zero, receiver: "", beacon: heard.beacon.name, rssi: heard.rssi)
          state.update {
            $0.collector.add(reading, from: places[heard.receiver])
            $0.count += 1
          }
        } onChange: { receiver, works in
          state.update {
            if works {
              $0.deaf.remove(places[receiver])
            } else {
              $0.deaf.insert(places[receiver])
            }
          }
        }
      }
      group.addTask { try await follow(state, calibration) }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  private func follow(_ state: Guarded<State>, _ calibration: PositionCalibration) async throws {
    let clock = MonotonicClock()
    var follower = PositionFollower(
      plan: plan, calibration: calibration, fixesMax: Self.fixesMax)
    var lastReading: Instant?
    var isSilent = false
    var next = clock.now
    while true {
      next = max(next + .seconds(1), clock.now)
      try await Task.sleep(for: (next - clock.now).duration)
      let now = clock.now
      let window = state.update { state in
        var window = state.collector.end(at: now) ?? ReadingWindow(end: now, heard: [])
        window.deaf = state.deaf
        return window
      }
      if window.count > 0 { (lastReading, isSilent) = (now, false) }
      // Before the first reading there is no fix.
      guard let lastReading else { continue }
      var rooms: [RoomMonitor.Action] = []
      let fix = follower.take(window, rooms: &rooms)
      for action in rooms { report.tell(action, fix) }
      if now - lastReading < Self.silence {
        report.tell(fix, explains ? follower.explanation : nil)
      } else if !isSilent {
        isSilent = true
        report.output.note("The beacon is no longer received.")
      }
      if let picturePath {
        try FloorPicture.write(plan, follower.fixes, to: picturePath)
      }
    }
  }
}
