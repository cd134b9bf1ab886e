import Essentials
import Testing

@testable import BeaconMachines

@Suite("Beacons that are louder or fainter than the surveyed one")
struct BeaconOffsetTests {
  /// The public tracks, each after learning from the others, as if their beacon were louder.
  private func score(louder difference: Double, _ offset: BeaconOffset) throws -> PositionScoring {
    let plan = try #require(try PublicTracks.plan())
    let tracks = try PublicTracks.names.map { try PublicTracks.windows($0, on: plan) }
    var all = PositionScoring()
    for left in tracks.indices {
      let others = tracks.indices.filter { $0 != left }.flatMap { tracks[$0] }
      var track = tracks[left]
      for index in track.indices {
        for reading in track[index].heard.indices {
          track[index].heard[reading].rssi += difference
        }
        // Receivers don't hear what is fainter than this.
        track[index].heard.removeAll { $0.rssi < -100 }
      }
      all.add(
        track, plan: plan, calibration: PositionCalibration(learning: others, on: plan),
        offset: offset)
    }
    return all
  }

  @Test(
    "another beacon than the surveyed one is found as well, and the radius holds two thirds",
    arguments: [-12, -7.5, 0, 4.5, 12])
  func another(difference: Double) throws {
    let scoring = try score(louder: difference, .unknown)
    let score = PositionScore(errors: scoring.filter)
    #expect(score.errors.count > 260)
    #expect(score.median <= 1.4 && score.percentile(90) <= 3.2, "\(score.median)")
    #expect((0.62...0.75).contains(scoring.insideShare), "\(scoring.insideShare)")
  }

  @Test(
    "the surveyed beacon is found on another day, too, and the radius holds two thirds",
    arguments: [-12, -8, -5, -3, 0, 3, 5, 8, 12])
  func surveyedBefore(difference: Double) throws {
    let scoring = try score(louder: difference, .surveyedBefore)
    let score = PositionScore(errors: scoring.filter)
    #expect(score.median <= 1.5, "\(score.median)")
    // Between the two hypotheses, no offset and any offset, a tenth of the fixes is a little farther off.
    #expect(score.percentile(90) <= 3.6, "\(score.percentile(90))")
    #expect((0.62...0.75).contains(scoring.insideShare), "\(scoring.insideShare)")
    guard difference == 0 else { return }
    // Where it is no louder, hardly any accuracy is lost.
    let certain = PositionScore(errors: try self.score(louder: 0, .surveyed).filter)
    #expect(score.median <= 1.05 * certain.median && score.mean <= 1.05 * certain.mean)
  }

  @Test("taken for the surveyed beacon it is found metres off, so that the test can fail")
  func mistaken() throws {
    let scoring = try score(louder: -6, .surveyed)
    #expect(PositionScore(errors: scoring.filter).median > 5 && scoring.insideShare < 0.2)
  }

  @Test("a difference of the advertised powers is found where it is more than the unknown ones are")
  func advertised() throws {
    let scoring = try score(louder: -20, .advertised(-79, surveyed: -59))
    #expect(PositionScore(errors: scoring.filter).median <= 2)
    // One that is wrong by a few decibels does little harm.
    let wrong = try score(louder: -4, .advertised(-59, surveyed: -59))
    #expect(PositionScore(errors: wrong.filter).median <= 1.5)
  }

  @Test(
    "a beacon that advertises a wrong power is found as well, and the radius holds two thirds",
    arguments: [(-12, 0), (12, 0), (0, -12), (0, 12), (-18, 0), (0, -18), (0, 18)]
      as [(Double, Int8)])
  func wrongClaim(difference: Double, claim: Int8) throws {
    let scoring = try score(louder: difference, .advertised(-59 + claim, surveyed: -59))
    let score = PositionScore(errors: scoring.filter)
    #expect(score.median <= 2, "\(score.median)")
    #expect((0.55...0.8).contains(scoring.insideShare), "\(scoring.insideShare)")
  }

  @Test("offsets are possible as far as any beacon's, and most probable near the claimed one")
  func possibleOffsets() throws {
    for power in [-79, -62, -59, -50, -39] as [Int8] {
      let offset = BeaconOffset.advertised(power, surveyed: -59)
      let all = offset.hypotheses
      #expect((21...26).contains(all.count))
      let offsets = all.map { $0.offset }
      #expect(offsets.min() ?? 0 <= -20 && offsets.max() ?? 0 >= 20)
      #expect(abs(all.reduce(0) { $0 + $1.prior } - 1) < 1e-9)
      let likeliest = try #require(all.max { $0.prior < $1.prior })
      #expect(abs(likeliest.offset - offset.mean) <= 2)
      #expect(all.allSatisfy { $0.prior > 1e-5 })
    }
    #expect(BeaconOffset.unknown.hypotheses.count == 21)
    #expect(BeaconOffset.surveyedBefore.hypotheses.count == 21)
    #expect(BeaconOffset.surveyed.hypotheses.map { $0.prior } == [1])
  }

  @Test("estimators of several beacons share the floor, and estimate as if each were the only one")
  func sharedFloor() {
    var hall = SyntheticHall(seed: 5)
    let plan = SyntheticHall.plan
    let calibration = PositionCalibration(
      learning: hall.walk(seconds: 100, noise: 3), on: plan)
    var first = PositionEstimator(plan: plan, calibration: calibration, offset: .unknown)
    for window in hall.walk(seconds: 5, noise: 3) { _ = first.update(window) }
    let walk = hall.walk(seconds: 20, noise: 3)
    for offset in [.unknown, .surveyed, .advertised(-65, surveyed: -59)] as [BeaconOffset] {
      var other = first.ofAnotherBeacon(offset: offset)
      let isShared = first.floor.expectations.withUnsafeBufferPointer { one in
        other.floor.expectations.withUnsafeBufferPointer { $0.baseAddress == one.baseAddress }
      }
      #expect(isShared)
      var alone = PositionEstimator(plan: plan, calibration: calibration, offset: offset)
      #expect(walk.map { other.update($0) } == walk.map { alone.update($0) })
    }
  }

  @Test("the offset is estimated, and becomes more certain", arguments: [-9.0, 0, 6])
  func estimate(difference: Double) {
    var hall = SyntheticHall(seed: 11)
    let calibration = PositionCalibration(
      learning: hall.walk(seconds: 200, noise: 3), on: SyntheticHall.plan)
    var estimator = PositionEstimator(
      plan: SyntheticHall.plan, calibration: calibration, offset: .unknown)
    #expect(estimator.offset.mean.magnitude < 1e-9 && estimator.offset.spread > 5)
    var fix: PositionFix?
    for var window in hall.walk(seconds: 30, noise: 3) {
      for index in window.heard.indices { window.heard[index].rssi += difference }
      fix = estimator.update(window)
    }
    let offset = estimator.offset
    #expect(fix?.beaconOffset == offset && offset.spread < 3, "\(offset)")
    #expect(abs(offset.mean - difference) <= 2, "\(offset)")
    // Expectations are those of this beacon.
    let parts = estimator.explanation?.parts ?? []
    let rest = parts.reduce(0) { $0 + (($1.rssi ?? 0) - $1.expected) / Double(parts.count) }
    #expect(abs(rest) < 4, "\(rest)")
  }

  @Test("advertised powers that can't be are limited")
  func lies() {
    #expect(BeaconOffset.advertised(-128, surveyed: -1).mean == -20)
    #expect(BeaconOffset.advertised(127, surveyed: -128).mean == 20)
    #expect(BeaconOffset.advertised(-65, surveyed: -59).mean == -6)
  }

  @Test("hostile windows make no nonsense of an unknown offset")
  func hostile() {
    var estimator = PositionEstimator(
      plan: SyntheticHall.plan, calibration: PositionCalibration(plan: SyntheticHall.plan),
      offset: BeaconOffset(mean: -20, spread: 6))
    let loud = (0..<6).map { ReadingWindow.Heard(receiver: $0, rssi: 20, count: 1) }
    let faint = (0..<6).map { ReadingWindow.Heard(receiver: $0, rssi: -127, count: 1) }
    for (second, heard) in [loud, faint, loud + faint, []].enumerated() {
      let fix = estimator.update(
        ReadingWindow(end: .zero + .seconds(Int64(second)), heard: heard))
      #expect(fix.position.x.isFinite && fix.radius.isFinite && fix.beaconOffset.mean.isFinite)
    }
  }
}
