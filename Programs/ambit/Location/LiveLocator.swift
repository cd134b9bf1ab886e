import BeaconMachines
import Essentials
import Foundation
import JSONWire

/// Reports every second the positions of beacons that receivers hear.
struct LiveLocator: Sendable {
  let plan: FloorPlan
  let radios: ReceiverRadios
  /// The receivers' places in the plan, in the order of the radios.
  let places: [Int]
  /// The beacons, each one constraint.
  let beacons: [BeaconConstraint]
  let surveyed: SurveyedBeacons
  let report: FixReport
  /// Whether explanations are printed.
  let explains: Bool
  /// Where the picture is written anew each second; nil for nowhere.
  let picturePath: String?

  /// The window that is collected for the next second.
  private struct State: Sendable {
    /// In the order of the beacons.
    var collectors: [WindowCollector]
    /// What each beacon was called when it was heard first.
    var names: [RecordedBeacon?]
    /// Receivers of the plan that can't hear.
    var deaf: Set<Int>
  }

  /// One beacon that is followed.
  fileprivate struct Badge {
    var beacon: RecordedBeacon
    var follower: PositionFollower
    var lastReading: Instant
    var isSilent = false
  }

  /// As long as the way that is drawn: ten minutes.
  private static let fixesMax = 600
  /// The time without readings after which a beacon is reported as silent, once.
  fileprivate static let silence = TimeSpan.seconds(10)

  /// Goes on until the task is cancelled.
  func run(_ calibration: PositionCalibration) async throws {
    let state = Guarded(
      State(
        collectors: beacons.map { _ in WindowCollector(plan: plan) },
        names: beacons.map { _ in nil },
        deaf: Set(plan.receivers.indices).subtracting(places)))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        await radios.hear { heard in
          guard let identity = heard.beacon.iBeacon.map({ BeaconIdentity($0) }),
            let index = beacons.firstIndex(where: { $0.matches(identity) })
          else { return }
          let reading = TraceReading(
            time: .zero, receiver: "", beacon: heard.beacon.name, rssi: heard.rssi)
          state.update {
            $0.collectors[index].add(reading, from: places[heard.receiver])
            if $0.names[index] == nil { $0.names[index] = heard.beacon }
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
    let estimator = PositionEstimator(plan: plan, calibration: calibration, offset: .unknown)
    var badges: [Badge?] = beacons.map { _ in nil }
    var next = clock.now
    while true {
      next = max(next + .seconds(1), clock.now)
      try await Task.sleep(for: (next - clock.now).duration)
      let now = clock.now
      for index in beacons.indices {
        let (window, name) = state.update { state in
          var window =
            state.collectors[index].end(at: now) ?? ReadingWindow(end: now, heard: [])
          window.deaf = state.deaf
          return (window, state.names[index])
        }
        // Before the first reading there is no fix.
        if badges[index] == nil, let name {
          badges[index] = Badge(
            beacon: name,
            follower: PositionFollower(
              estimator.ofAnotherBeacon(offset: surveyed.offset(of: name)),
              fixesMax: Self.fixesMax),
            lastReading: now)
        }
        badges[index]?.take(window, report, explains: explains)
      }
      if let picturePath {
        let ways = badges.compactMap(\.self).map { badge in
          FloorPicture.Way(
            name: beacons.count > 1 ? badge.beacon.shortName : nil, fixes: badge.follower.fixes)
        }
        if !ways.isEmpty { try FloorPicture.write(plan, ways, to: picturePath) }
      }
    }
  }
}

extension LiveLocator.Badge {
  /// Handles a window of a second, and reports the fix.
  fileprivate mutating func take(_ window: ReadingWindow, _ report: FixReport, explains: Bool) {
    if window.count > 0 { (lastReading, isSilent) = (window.end, false) }
    let name = String(beacon.identity)
    var rooms: [RoomMonitor.Action] = []
    let fix = follower.take(window, rooms: &rooms)
    for action in rooms { report.tell(action, fix, of: name) }
    if window.end - lastReading < LiveLocator.silence {
      report.tell(fix, explains ? follower.explanation : nil, of: name)
    } else if !isSilent {
      isSilent = true
      report.output.note(
        report.isOfSeveral
          ? "\(Fit.safe(name)) is no longer received." : "The beacon is no longer received.")
    }
  }
}
