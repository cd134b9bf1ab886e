import Essentials
import Testing

@testable import BeaconMachines

@Suite("room monitor")
struct RoomMonitorTests {
  private static func fix(_ rooms: [String: Double], readings: Int = 5) -> PositionFix {
    PositionFix(
      time: .zero, position: FloorPoint(x: 0, y: 0),
      covariance: PositionFix.Covariance(xx: 1, xy: 0, yy: 1), radius: 1,
      rooms: rooms.map { PositionFix.RoomProbability(name: $0, probability: $1) }
        .sorted { $0.probability > $1.probability },
      readingCount: readings)
  }

  private static var settings: RoomMonitor.Settings {
    var settings = RoomMonitor.Settings()
    settings.enterProbability = 0.5
    settings.enterCount = 3
    settings.leaveProbability = 0.2
    settings.leaveTime = .seconds(3)
    return settings
  }

  /// Feeds a fix a second; returns the actions by the second.
  private static func run(_ fixes: [PositionFix]) -> [Int: [RoomMonitor.Action]] {
    var monitor = RoomMonitor(settings: settings)
    var said: [Int: [RoomMonitor.Action]] = [:]
    for (second, fix) in fixes.enumerated() {
      var actions: [RoomMonitor.Action] = []
      monitor.handle(fix, now: .seconds(Double(second)), into: &actions)
      if !actions.isEmpty { said[second] = actions }
    }
    return said
  }

  @Test("a room is entered once, when fixes in a row find it probable")
  func enter() {
    let (a, b) = (Self.fix(["a": 0.6]), Self.fix(["a": 0.3, "b": 0.4]))
    #expect(Self.run([a, a, b, a, a, a, a, a]) == [5: [.entered("a")]])
  }

  @Test("a room is left when it was improbable for some time without a break")
  func leave() {
    let (inside, doubt, outside) = (
      Self.fix(["a": 0.9]), Self.fix(["a": 0.3]), Self.fix(["a": 0.1])
    )
    let fixes = [
      inside, inside, inside, outside, outside, doubt, outside, outside, outside, outside,
    ]
    #expect(Self.run(fixes) == [2: [.entered("a")], 9: [.left("a")]])
  }

  @Test("a room that is entered ends the one before")
  func next() {
    let (a, b) = (Self.fix(["a": 0.9]), Self.fix(["b": 0.7, "a": 0.25]))
    #expect(Self.run([a, a, a, b, b, b]) == [2: [.entered("a")], 5: [.left("a"), .entered("b")]])
  }

  @Test("a room is left when nothing is heard any more, and entered anew after that")
  func silence() throws {
    var monitor = RoomMonitor(settings: Self.settings)
    var actions: [RoomMonitor.Action] = []
    let fix = Self.fix(["a": 0.9])
    for second in 0..<3 { monitor.handle(fix, now: .seconds(Double(second)), into: &actions) }
    // Fixes without a reading are no news.
    monitor.handle(Self.fix(["a": 0.9], readings: 0), now: .seconds(20), into: &actions)
    let wake = try #require(monitor.nextWake)
    #expect(wake == .seconds(32) && actions == [.entered("a")])
    monitor.wake(now: .seconds(31), into: &actions)
    #expect(actions.count == 1)
    monitor.wake(now: wake, into: &actions)
    #expect(actions.last == .left("a") && monitor.room == nil && monitor.nextWake == nil)
    for second in 40..<43 { monitor.handle(fix, now: .seconds(Double(second)), into: &actions) }
    #expect(actions.last == .entered("a"))
  }

  @Test(
    "a room alternates between entered and left, whatever the fixes are",
    arguments: 0..<200 as Range<UInt64>)
  func alternates(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var monitor = RoomMonitor(settings: Self.settings)
    var inside: String?
    var now = 0.0
    for _ in 0..<300 {
      // Time may jump, and go back.
      now += generator.unit() * (generator.unit() < 0.02 ? 100 : 2) - 0.2
      let share = generator.unit()
      let fix = Self.fix(
        ["a": share, "b": (1 - share) * generator.unit()],
        readings: generator.unit() < 0.1 ? 0 : 3)
      var actions: [RoomMonitor.Action] = []
      monitor.handle(fix, now: .seconds(now), into: &actions)
      for action in actions {
        switch action {
        case .entered(let room):
          #expect(inside == nil, "seed \(seed)")
          inside = room
        case .left(let room):
          #expect(inside == room, "seed \(seed)")
          inside = nil
        }
      }
      #expect(monitor.room == inside, "seed \(seed)")
      #expect(monitor.violations() == [], "seed \(seed)")
    }
  }
}
