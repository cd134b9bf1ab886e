import BeaconMachines
import Essentials

/// The readings at one place of a survey, and whether they are enough.
struct SurveyStop: Sendable {
  /// The mean of this number of readings is within 2 dB of the mean of all, as they fade by 4 to 6 dB.
  static let readingsEnough = 10
  /// The number of receivers that determine a place.
  static let receiversEnough = 3
  /// A window of a second counts once however many readings it has, and five count as much as the model.
  static let least = TimeSpan.seconds(10)
  /// More readings don't help where too few receivers hear the beacon.
  static let most = TimeSpan.seconds(60)

  /// Whether a place is done.
  enum State: Equatable, Sendable {
    case incomplete
    case enough
    /// The time is up: the place is kept, but fewer receivers than needed have heard it well.
    case sparse
  }

  let start: Instant
  private var counts: [Int]

  init(start: Instant, receiverCount: Int) {
    self.start = start
    counts = Array(repeating: 0, count: receiverCount)
  }

  mutating func hear(by receiver: Int) { counts[receiver] += 1 }

  var receptionCount: Int { counts.reduce(0, +) }

  /// The receivers with enough readings.
  var readyCount: Int { counts.filter { $0 >= Self.readingsEnough }.count }

  /// How many of them there have to be.
  var neededCount: Int { min(Self.receiversEnough, counts.count) }

  func state(at now: Instant) -> State {
    let spent = now - start
    if spent >= Self.least, readyCount >= neededCount { return .enough }
    return spent >= Self.most ? .sparse : .incomplete
  }
}

/// How well the places of a survey cover a floor.
struct SurveyCoverage: Sendable {
  /// Measurements speak for places within about twice the reach of the model, in metres.
  static let distanceEnough = 3.0
  /// The distance of the points that are looked at, in metres, and their largest number along a side.
  private static let step = 0.5
  private static let countMax = 200.0

  /// The place on the floor that is farthest from all that were surveyed.
  let farthest: FloorPoint
  /// Its distance from the nearest that was, in metres.
  let distance: Double

  var isEnough: Bool { distance <= Self.distanceEnough }

  /// Nil without places. The floor is its rooms, or all between its receivers where it has none.
  init?(of plan: FloorPlan, by places: [FloorPoint]) {
    let (low, high) = plan.bounds
    let step = max(Self.step, max(high.x - low.x, high.y - low.y) / Self.countMax)
    var worst: (FloorPoint, Double)?
    for y in stride(from: low.y, through: high.y, by: step) {
      for x in stride(from: low.x, through: high.x, by: step) {
        let point = FloorPoint(x: x, y: y)
        guard plan.rooms.isEmpty || plan.rooms.contains(where: { $0.contains(point) }),
          let nearest = places.map({ $0.horizontalDistance(to: point) }).min(),
          nearest > worst?.1 ?? -1
        else { continue }
        worst = (point, nearest)
      }
    }
    guard let worst else { return nil }
    (farthest, distance) = worst
  }
}
