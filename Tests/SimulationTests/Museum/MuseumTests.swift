import BeaconMachines
import Essentials
import Foundation
import Simulation
import Testing

@Suite("A visit to a museum")
struct MuseumTests {
  private static func number(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }

  /// `AMBIT_SEEDS` sets the number of visits, `AMBIT_FIRST_SEED` the first seed.
  private static let seeds: Range<UInt64> = {
    let usual: UInt64 = number("AMBIT_OPTIMIZED_MACHINES") == nil ? 8 : 60
    let first = number("AMBIT_FIRST_SEED") ?? 1
    return first..<first + (number("AMBIT_SEEDS") ?? usual)
  }()

  /// Phones that walked through the museum before, with the places known.
  private static let surveys: Range<UInt64> = 1_000_000..<1_000_006

  /// A museum that was surveyed.
  private struct Surveyed {
    let museum: Museum
    let calibration: PositionCalibration

    init() throws {
      museum = try Museum()
      var windows: [ReadingWindow] = []
      for seed in MuseumTests.surveys { windows += MuseumVisit(museum, seed: seed).windows }
      calibration = PositionCalibration(learning: windows, on: museum.plan)
    }

    /// Judges a visit by rooms' probabilities, and by the zone around the loudest beacon.
    func judge(_ visit: MuseumVisit) -> (filter: MuseumJudgement, nearest: MuseumJudgement) {
      var estimator = PositionEstimator(plan: museum.plan, calibration: calibration)
      var monitor = RoomMonitor()
      var hasty = RoomMonitor.Settings()
      hasty.enterCount = 1
      hasty.leaveTime = .seconds(4)
      var nearest = RoomMonitor(settings: hasty)
      var (said, saidOfNearest) = ([MuseumJudgement.Event](), [MuseumJudgement.Event]())
      for window in visit.windows {
        var fix = estimator.update(window)
        said += Self.events(fix, &monitor)
        let place = PositionComparison.nearestReceiver.position(
          window, plan: museum.plan, calibration: calibration)
        let zone = place.flatMap { place in museum.plan.rooms.first { $0.contains(place) } }
        fix.rooms = zone.map { [PositionFix.RoomProbability(name: $0.name, probability: 1)] } ?? []
        saidOfNearest += Self.events(fix, &nearest)
      }
      var (filter, loudest) = (MuseumJudgement(), MuseumJudgement())
      filter.judge(said, visit)
      loudest.judge(saidOfNearest, visit)
      return (filter, loudest)
    }

    private static func events(
      _ fix: PositionFix, _ monitor: inout RoomMonitor
    ) -> [MuseumJudgement.Event] {
      var actions: [RoomMonitor.Action] = []
      monitor.handle(fix, now: fix.time, into: &actions)
      return actions.map { ((fix.time - .zero).seconds, $0) }
    }
  }

  @Test("exhibits are entered once, during the visitor's stay, and left after it")
  func visits() throws {
    let surveyed = try Surveyed()
    var (filter, nearest) = (MuseumJudgement(), MuseumJudgement())
    var badSeeds: [UInt64] = []
    for seed in Self.seeds {
      let visit = MuseumVisit(surveyed.museum, seed: seed)
      #expect(visit.stays.count == 8, "seed \(seed)")
      let judged = surveyed.judge(visit)
      if judged.filter.mistakes > 0 { badSeeds.append(seed) }
      filter.add(judged.filter)
      nearest.add(judged.nearest)
    }
    let told: Comment =
      "seeds \(Self.seeds), not perfect: \(badSeeds); \(filter.line); \(nearest.line)"
    if Self.number("AMBIT_SEEDS") != nil { print("\(told)") }
    // Rates that decision 116 has measured on seeds that nothing was chosen on, with room for few visits.
    let stays = Double(filter.stays)
    #expect(Double(filter.again) <= 0.002 * stays + 1, told)
    #expect(Double(filter.missed) <= 0.02 * stays + 2, told)
    #expect(Double(filter.wrong) <= 0.015 * stays + 2, told)
    #expect(Double(filter.early.count) <= 0.006 * stays + 2, told)
    #expect(filter.exitDelays.allSatisfy { $0 <= 60 }, told)
    #expect(MuseumJudgement.percentile(filter.entryDelays, 50) <= 8, told)
    // The loudest beacon causes a wrong entry in every stay, on average.
    #expect(nearest.mistakes > 20 * max(filter.mistakes, 1), told)
  }
}
