import BeaconMachines
import Essentials
import Testing

@Suite("position estimator")
struct PositionEstimatorTests {
  @Test("the estimator stays within the goals on public tracks, each scored after the others")
  func publicTracks() throws {
    let plan = try #require(try PublicTracks.plan())
    let tracks = try PublicTracks.names.map { try PublicTracks.windows($0, on: plan) }
    var all = PositionScoring()
    for each in PositionScoring.leavingOneOut(tracks, plan: plan) { all.add(each) }
    let score = PositionScore(errors: all.filter)
    #expect(score.errors.count == 287)
    #expect(score.median <= 1.5 && score.mean <= 1.75 && score.percentile(90) <= 3.2, "\(score)")
    for comparison in PositionComparison.allCases {
      let other = PositionScore(errors: all.comparisons[comparison] ?? [])
      #expect(other.errors.count == 287)
      #expect(other.median > score.median && other.percentile(90) > score.percentile(90))
    }
  }

  @Test("an estimate's radius holds the truth about as often as it claims")
  func coverage() throws {
    let plan = try #require(try PublicTracks.plan())
    let tracks = try PublicTracks.names.map { try PublicTracks.windows($0, on: plan) }
    var (inside, count) = (0, 0)
    for left in tracks.indices {
      let others = tracks.indices.filter { $0 != left }.flatMap { tracks[$0] }
      var estimator = PositionEstimator(
        plan: plan, calibration: PositionCalibration(learning: others, on: plan))
      for window in tracks[left] {
        let fix = estimator.update(window)
        let truth = try #require(window.truth)
        inside += fix.position.horizontalDistance(to: truth) <= fix.radius ? 1 : 0
        count += 1
      }
    }
    // The estimator claims 68 %.
    let share = Double(inside) / Double(count)
    #expect((0.45...0.85).contains(share), "\(share)")
  }

  @Test("no estimate depends on what comes later")
  func causal() {
    var hall = SyntheticHall(seed: 3)
    let walk = hall.walk(seconds: 40, noise: 4)
    let calibration = PositionCalibration(learning: walk, on: SyntheticHall.plan)
    var whole = PositionEstimator(plan: SyntheticHall.plan, calibration: calibration)
    var part = whole
    let fixes = walk.map { whole.update($0) }
    #expect(walk.prefix(20).map { part.update($0) } == Array(fixes.prefix(20)))
  }

  @Test("a beacon that doesn't move is found, with its room", arguments: 0..<10 as Range<UInt64>)
  func still(seed: UInt64) throws {
    var hall = SyntheticHall(seed: seed)
    let walk = hall.walk(seconds: 200, noise: 3)
    var estimator = PositionEstimator(
      plan: SyntheticHall.plan,
      calibration: PositionCalibration(learning: walk, on: SyntheticHall.plan))
    let place = FloorPoint(x: 5, y: 6, z: 1.75)
    var fix: PositionFix?
    for second in 0..<20 {
      fix = estimator.update(hall.window(at: place, second: Int64(second), noise: 3))
    }
    let last = try #require(fix)
    #expect(last.position.horizontalDistance(to: place) < 2, "seed \(seed): \(last)")
    #expect(last.rooms.first?.name == "west", "seed \(seed): \(last)")
    #expect(last.rooms.reduce(0) { $0 + $1.probability } <= 1.000_001)
    #expect(last.covariance.xx > 0 && last.covariance.yy > 0)
    let determinant =
      last.covariance.xx * last.covariance.yy
      - last.covariance.xy * last.covariance.xy
    #expect(determinant > 0)
  }

  @Test("silence makes the answer less certain, by as far as one walks")
  func silence() {
    var hall = SyntheticHall(seed: 5)
    let calibration = PositionCalibration(
      learning: hall.walk(seconds: 100, noise: 3), on: SyntheticHall.plan)
    var estimator = PositionEstimator(plan: SyntheticHall.plan, calibration: calibration)
    let place = FloorPoint(x: 10, y: 7, z: 1.75)
    var radius = 0.0
    for second in 0..<10 {
      radius = estimator.update(hall.window(at: place, second: Int64(second), noise: 3)).radius
    }
    let later = ReadingWindow(end: Instant(nanoseconds: 14_000_000_000), heard: [])
    let fix = estimator.update(later)
    #expect(fix.radius > radius + 2 && fix.radius < radius + 8)
    #expect(fix.readingCount == 0)
  }

  @Test("a receiver that hears nothing makes positions beside it less probable")
  func censored() throws {
    let ends = [
      FloorReceiver(id: "end", position: FloorPoint(x: 0, y: 0, z: 2)),
      FloorReceiver(id: "middle", position: FloorPoint(x: 100, y: 0, z: 2)),
    ]
    let exit = [FloorPoint(x: 200, y: 0), FloorPoint(x: 200, y: 1), FloorPoint(x: 199, y: 0)]
    let plan = try #require(
      FloorPlan(receivers: ends, rooms: [FloorRoom(name: "exit", corners: exit)]))
    var estimator = PositionEstimator(plan: plan, calibration: PositionCalibration(plan: plan))
    let heard = [ReadingWindow.Heard(receiver: 1, rssi: -98, count: 1)]
    _ = estimator.update(ReadingWindow(end: .zero, heard: heard))
    // Both places are as far from the receiver that heard it.
    let beside = estimator.probability(at: FloorPoint(x: 1, y: 0))
    let away = estimator.probability(at: FloorPoint(x: 199, y: 0))
    #expect(beside < away / 3, "\(beside), \(away)")
  }

  @Test("an estimate explains its position by readings, offsets and weights")
  func explanation() throws {
    var hall = SyntheticHall(seed: 7)
    let calibration = PositionCalibration(
      learning: hall.walk(seconds: 200, noise: 3), on: SyntheticHall.plan)
    var estimator = PositionEstimator(plan: SyntheticHall.plan, calibration: calibration)
    #expect(estimator.explanation == nil)
    var window = hall.window(at: FloorPoint(x: 5, y: 5, z: 1.75), second: 1, noise: 0)
    window.heard.removeLast()
    window.heard[1].rssi -= 40
    _ = estimator.update(window)
    let parts = try #require(estimator.explanation).parts
    #expect(parts.count == 6 && abs(parts.reduce(0) { $0 + $1.weight } - 1) < 1e-9)
    #expect(parts.last?.rssi == nil && parts.last?.receiver == "r5" && parts.last?.weight == 0)
    let heard = parts.dropLast()
    #expect(heard.map { $0.rssi ?? 0 } == heard.map { $0.rssi ?? 0 }.sorted(by: >))
    let outlier = try #require(heard.first { $0.receiver == "r1" })
    #expect(heard.allSatisfy { $0.weight >= outlier.weight })
    for part in heard { #expect(part.spread >= 2 && part.distance > 0 && part.offset < -40) }
  }

  @Test("hostile windows neither trap nor make nonsense of the answer")
  func hostile() {
    var estimator = PositionEstimator(
      plan: SyntheticHall.plan, calibration: PositionCalibration(plan: SyntheticHall.plan))
    let far = ReadingWindow.Heard(receiver: 99, rssi: -50, count: 1)
    let loud = (0..<6).map { ReadingWindow.Heard(receiver: $0, rssi: 20, count: 1) }
    let faint = (0..<6).map { ReadingWindow.Heard(receiver: $0, rssi: -127, count: 1) }
    let ends: [Instant] = [.zero, .distantFuture, .zero, Instant(nanoseconds: .min)]
    for (end, heard) in zip(ends, [[far], loud, faint, loud + faint]) {
      let fix = estimator.update(ReadingWindow(end: end, heard: heard))
      #expect(fix.position.x.isFinite && fix.radius.isFinite && fix.covariance.xx.isFinite)
    }
  }

  @Test("a plan that is not sound is refused")
  func plans() {
    let receiver = FloorReceiver(id: "a", position: FloorPoint(x: 0, y: 0))
    let far = FloorReceiver(id: "b", position: FloorPoint(x: .nan, y: 0))
    #expect(FloorPlan(receivers: []) == nil)
    #expect(FloorPlan(receivers: [receiver, receiver]) == nil)
    #expect(FloorPlan(receivers: [receiver, far]) == nil)
    #expect(FloorPlan(receivers: [receiver], rooms: [FloorRoom(name: "", corners: [])]) == nil)
    #expect(FloorPlan(receivers: [receiver]) != nil)
  }
}
