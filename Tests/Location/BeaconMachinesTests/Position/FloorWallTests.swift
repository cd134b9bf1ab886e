import BeaconMachines
import Essentials
import Testing

@Suite("walls and receivers that are off")
struct FloorWallTests {
  private static let receivers = [(0.0, 0.0), (20, 0), (0, 10), (20, 10)].enumerated().map {
    FloorReceiver(id: "r\($0)", position: FloorPoint(x: $1.0, y: $1.1, z: 2))
  }
  /// Through the middle of the floor, from one side to the other.
  private static let wall = FloorWall(
    from: FloorPoint(x: 10, y: -5), to: FloorPoint(x: 10, y: 15), attenuation: 12)

  private static func plan(walls: [FloorWall]) throws -> FloorPlan {
    try #require(FloorPlan(receivers: receivers, walls: walls, beaconHeight: 2))
  }

  /// The readings of a beacon behind the wall, without noise.
  private static func window(at place: FloorPoint, second: Int64) -> ReadingWindow {
    let heard = receivers.enumerated().map { index, receiver in
      let distance = max(receiver.position.distance(to: place), 0.3)
      let isBehind = (receiver.position.x < 10) != (place.x < 10)
      let level = -59 - 20 * Exponential.log(distance) / Exponential.ln10 - (isBehind ? 12 : 0)
      return ReadingWindow.Heard(receiver: index, rssi: level, count: 5)
    }
    return ReadingWindow(
      end: Instant(nanoseconds: second * 1_000_000_000), heard: heard, truth: place)
  }

  @Test("a beacon near a wall is found with the wall on the plan, and elsewhere without")
  func position() throws {
    let place = FloorPoint(x: 12, y: 5, z: 2)
    func error(_ walls: [FloorWall]) throws -> Double {
      let plan = try Self.plan(walls: walls)
      var estimator = PositionEstimator(plan: plan, calibration: PositionCalibration(plan: plan))
      var fix = estimator.update(Self.window(at: place, second: 0))
      for second in 1..<10 as Range<Int64> {
        fix = estimator.update(Self.window(at: place, second: second))
      }
      return fix.position.horizontalDistance(to: place)
    }
    let (with, without) = (try error([Self.wall]), try error([]))
    #expect(with < 1.2 && without > 3, "\(with), \(without)")
  }

  @Test("the attenuation of a known wall is not learnt as fading")
  func learning() throws {
    let places = (0..<200).map { index in
      FloorPoint(x: 1 + Double(index % 19), y: Double(index / 19), z: 2)
    }
    let windows = places.enumerated().map { Self.window(at: $1, second: Int64($0)) }
    let known = PositionCalibration(learning: windows, on: try Self.plan(walls: [Self.wall]))
    let unknown = PositionCalibration(learning: windows, on: try Self.plan(walls: []))
    #expect(abs(known.exponent - 2) < 0.05 && unknown.exponent > 2.5)
    #expect(known.receivers.allSatisfy { abs($0.offset + 59) < 0.5 })
  }

  @Test("the silence of a receiver that is off has no effect")
  func deaf() throws {
    let ends = [
      FloorReceiver(id: "end", position: FloorPoint(x: 0, y: 0, z: 2)),
      FloorReceiver(id: "middle", position: FloorPoint(x: 100, y: 0, z: 2)),
    ]
    let exit = [FloorPoint(x: 200, y: 0), FloorPoint(x: 200, y: 1), FloorPoint(x: 199, y: 0)]
    let plan = try #require(
      FloorPlan(receivers: ends, rooms: [FloorRoom(name: "exit", corners: exit)]))
    /// How much more probable it is that the beacon is beside the end than as far on the other side.
    func ratio(deaf: Set<Int>) -> Double {
      var estimator = PositionEstimator(plan: plan, calibration: PositionCalibration(plan: plan))
      let heard = [ReadingWindow.Heard(receiver: 1, rssi: -98, count: 1)]
      _ = estimator.update(ReadingWindow(end: .zero, heard: heard, deaf: deaf))
      return estimator.probability(at: FloorPoint(x: 1, y: 0))
        / estimator.probability(at: FloorPoint(x: 199, y: 0))
    }
    let (off, silent) = (ratio(deaf: [0]), ratio(deaf: []))
    #expect(off > 0.8 && silent < 0.33, "\(off), \(silent)")
  }

  @Test("a wall that makes no sense is refused")
  func refused() {
    for attenuation in [-1, .nan, 101] {
      var wall = Self.wall
      wall.attenuation = attenuation
      #expect(FloorPlan(receivers: Self.receivers, walls: [wall]) == nil)
    }
    var far = Self.wall
    far.end.x = .infinity
    #expect(FloorPlan(receivers: Self.receivers, walls: [far]) == nil)
  }
}
