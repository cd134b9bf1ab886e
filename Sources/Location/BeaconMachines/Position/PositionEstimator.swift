import Essentials

/// Estimates the position of a beacon on a floor from the readings of several receivers, by a Bayes
/// filter on a grid.
///
/// For each cell of the grid it keeps the probability that the beacon is there. With time, the
/// probability spreads at walking speed; each window of readings multiplies it by the likelihood of
/// the readings in that cell. A fix depends on past readings only. S. Thrun et al., Probabilistic
/// Robotics, §4.1.
///
/// If it isn't certain how loud the beacon is, it keeps such a grid for each of some 21 offsets, and
/// the probability of each offset.
public struct PositionEstimator: Sendable {
  /// The parameters of the motion model and of the readings.
  public struct Settings: Hashable, Sendable {
    /// The walking speed of people, in metres per second.
    public var walkingSpeed = 1.0
    /// The edge of a cell in metres; longer if the floor would have too many cells.
    public var cellSize = 0.5
    /// The distance in metres that a beacon may be outside of receivers and rooms.
    public var margin = 1.0
    /// The share of a reading's information that is independent of the others, 0...1. A body or a
    /// wall changes the levels of several receivers for seconds.
    public var independence = 0.6
    /// The probability that the beacon is at an arbitrary position, independent of the previous
    /// estimate.
    public var restart = 0.001

    /// Creates the default settings.
    public init() {}
  }

  /// A grid of 100 m by 100 m; more cells make a fix slower than some milliseconds.
  static let cellsMax = 40_000
  /// The same where the offset is unknown, which takes a grid for each.
  static let cellsOfUnknownMax = 10_000

  /// The floor.
  public let plan: FloorPlan
  /// The learnt model of receivers.
  public let calibration: PositionCalibration
  /// The settings of the estimator.
  public let settings: Settings
  let grid: FloorGrid
  let floor: FloorModel
  private var hypotheses: [OffsetHypothesis]
  /// The probability of each cell, for any offset.
  private var belief: [Double]
  private var scratch: [Double]
  private var last: Instant?
  private var lastWindow: ReadingWindow?
  private var shift = 0.0

  /// Creates an estimator with a uniform distribution of positions.
  ///
  /// - Parameter offset: How much louder the beacon is than the surveyed one.
  /// - Precondition: The calibration was learnt on a plan with the same number of receivers.
  public init(
    plan: FloorPlan, calibration: PositionCalibration, offset: BeaconOffset = .surveyed,
    settings: Settings = Settings()
  ) {
    precondition(
      calibration.receivers.count == plan.receivers.count, "the calibration is of another plan")
    let grid = Self.grid(of: plan, settings, offset)
    self.init(
      FloorModel(plan: plan, calibration: calibration, grid: grid), plan, calibration, settings,
      offset)
  }

  private init(
    _ floor: FloorModel, _ plan: FloorPlan, _ calibration: PositionCalibration,
    _ settings: Settings, _ offset: BeaconOffset
  ) {
    self.floor = floor
    self.plan = plan
    self.calibration = calibration
    self.settings = settings
    grid = floor.grid
    belief = Array(repeating: 1 / Double(floor.grid.count), count: floor.grid.count)
    scratch = belief
    hypotheses = OffsetHypothesis.all(offset, belief: belief)
  }

  private static func grid(
    of plan: FloorPlan, _ settings: Settings, _ offset: BeaconOffset
  ) -> FloorGrid {
    FloorGrid(
      bounds: plan.bounds, margin: max(settings.margin, 0.1), cellSize: max(settings.cellSize, 0.1),
      cellsMax: offset.isCertain ? cellsMax : cellsOfUnknownMax)
  }

  /// Creates an estimator of another beacon on the same floor, with a uniform distribution of
  /// positions. The two share the model of the floor, which takes most of the memory, unless the floor
  /// is so large that cells are larger for beacons of unknown offset.
  ///
  /// - Parameter offset: How much louder the other beacon is than the surveyed one.
  /// - Returns: The estimator.
  public func ofAnotherBeacon(offset: BeaconOffset) -> PositionEstimator {
    let grid = Self.grid(of: plan, settings, offset)
    let isShared = grid == self.grid
    return PositionEstimator(
      isShared ? floor : FloorModel(plan: plan, calibration: calibration, grid: grid), plan,
      calibration, settings, offset)
  }

  /// Adds a window of readings and returns the beacon's position. Windows must be in order of time;
  /// an older one is treated as one of the same time.
  public mutating func update(_ window: ReadingWindow) -> PositionFix {
    let now = max(window.end, last ?? window.end)
    if let last, now > last { move(for: (now - last).seconds) }
    last = now
    let before = mean()
    weigh(window)
    assert(abs(belief.reduce(0, +) - 1) < 1e-6, "the probabilities of all cells make 1")
    lastWindow = window
    let after = mean()
    shift = before.horizontalDistance(to: after)
    return fix(at: now, mean: after, readingCount: window.count)
  }

  /// The probability that the beacon is in the cell around a point; 0 outside the grid.
  public func probability(at point: FloorPoint) -> Double {
    grid.cell(at: point).map { belief[$0] } ?? 0
  }

  // MARK: - The filter

  /// Spreads the probabilities by a Gaussian, first along x, then along y.
  private mutating func move(for seconds: Double) {
    // A minute is enough to walk across a floor; after that any position is possible.
    let deviation = settings.walkingSpeed * min(seconds, 60) / 2.0.squareRoot() / grid.step
    guard deviation > 0.01 else { return }
    let kernel = Self.kernel(deviation, radiusMax: max(grid.columns, grid.rows))
    for index in hypotheses.indices {
      Self.spread(
        &hypotheses[index].belief, by: kernel, on: grid, restart: settings.restart, &scratch)
    }
    mix()
  }

  private static func spread(
    _ belief: inout [Double], by kernel: [Double], on grid: FloorGrid, restart: Double,
    _ scratch: inout [Double]
  ) {
    convolve(
      belief, into: &scratch, kernel, count: grid.columns, stride: 1,
      lines: grid.rows, lineStride: grid.columns)
    convolve(
      scratch, into: &belief, kernel, count: grid.rows, stride: grid.columns,
      lines: grid.columns, lineStride: 1)
    let scale = (1 - restart) / belief.reduce(0, +)
    let floor = restart / Double(belief.count)
    for cell in belief.indices { belief[cell] = belief[cell] * scale + floor }
  }

  /// Makes the belief from those of all hypotheses.
  private mutating func mix() {
    for cell in belief.indices { belief[cell] = 0 }
    for hypothesis in hypotheses {
      for cell in belief.indices { belief[cell] += hypothesis.weight * hypothesis.belief[cell] }
    }
  }

  /// One side of a Gaussian, from its middle on.
  private static func kernel(_ deviation: Double, radiusMax: Int) -> [Double] {
    let radius = min(Int(3 * deviation) + 1, radiusMax)
    return (0...radius).map { Exponential.exp(-Double($0 * $0) / (2 * deviation * deviation)) }
  }

  private static func convolve(
    _ source: [Double], into target: inout [Double], _ kernel: [Double], count: Int, stride: Int,
    lines: Int, lineStride: Int
  ) {
    for line in 0..<lines {
      let start = line * lineStride
      for index in 0..<count {
        var sum = 0.0
        let low = max(0, index - kernel.count + 1)
        let high = min(count - 1, index + kernel.count - 1)
        for other in low...high {
          sum += source[start + other * stride] * kernel[abs(other - index)]
        }
        target[start + index * stride] = sum
      }
    }
  }

  /// Multiplies by the likelihood of a window (Bayes' rule).
  private mutating func weigh(_ window: ReadingWindow) {
    guard !window.heard.isEmpty else { return }
    var heard = Array(repeating: Double?.none, count: floor.expectations.count)
    for each in window.heard where heard.indices.contains(each.receiver) {
      heard[each.receiver] = each.rssi
    }
    for index in hypotheses.indices {
      hypotheses[index].weigh(
        floor.expectations, heard: heard, deaf: window.deaf, independence: settings.independence,
        scratch: &scratch)
    }
    OffsetHypothesis.weigh(&hypotheses)
    mix()
  }

  // MARK: - Results

  /// How much louder the beacon is than the surveyed one, as far as the readings tell.
  public var offset: BeaconOffset {
    let mean = hypotheses.reduce(0) { $0 + $1.weight * $1.offset }
    let variance = hypotheses.reduce(0) {
      $0 + $1.weight * ($1.offset - mean) * ($1.offset - mean)
    }
    return BeaconOffset(mean: mean, spread: variance.squareRoot())
  }

  private func mean() -> FloorPoint {
    var (x, y) = (0.0, 0.0)
    for row in 0..<grid.rows {
      var sum = 0.0
      for column in 0..<grid.columns {
        let probability = belief[row * grid.columns + column]
        sum += probability
        x += probability * Double(column)
      }
      y += sum * Double(row)
    }
    return FloorPoint(
      x: grid.low.x + x * grid.step, y: grid.low.y + y * grid.step, z: plan.beaconHeight)
  }

  private func fix(at time: Instant, mean: FloorPoint, readingCount: Int) -> PositionFix {
    var covariance = PositionFix.Covariance(xx: 0, xy: 0, yy: 0)
    // Probability by distance, in tenths of a cell: exact enough for a radius.
    var rings = Array(repeating: 0.0, count: 10 * (grid.columns + grid.rows) + 1)
    var rooms = Array(repeating: 0.0, count: plan.rooms.count)
    for cell in belief.indices {
      let probability = belief[cell]
      let point = grid.point(cell)
      let (dx, dy) = (point.x - mean.x, point.y - mean.y)
      covariance.xx += probability * dx * dx
      covariance.xy += probability * dx * dy
      covariance.yy += probability * dy * dy
      let ring = Int((dx * dx + dy * dy).squareRoot() / grid.step * 10)
      rings[min(ring, rings.count - 1)] += probability
      let room = floor.roomOfCell[cell]
      if room >= 0 { rooms[room] += probability }
    }
    var (inside, ring) = (0.0, 0)
    while inside < 0.68, ring < rings.count {
      inside += rings[ring]
      ring += 1
    }
    // A cell is not a point.
    covariance.xx += grid.step * grid.step / 12
    covariance.yy += grid.step * grid.step / 12
    let named = zip(plan.rooms, rooms).filter { $1 >= 0.001 }
      .map { PositionFix.RoomProbability(name: $0.name, probability: min($1, 1)) }
      .sorted { $0.probability > $1.probability }
    return PositionFix(
      time: time, position: mean, covariance: covariance,
      radius: max(Double(ring) / 10, 0.5) * grid.step,
      rooms: named, readingCount: readingCount, beaconOffset: offset)
  }

  /// The readings, offsets and weights behind the last fix; nil before the first.
  public var explanation: PositionExplanation? {
    guard let lastWindow else { return nil }
    let place = mean()
    var parts = plan.receivers.indices.map { index in
      let heard = lastWindow.heard.first { $0.receiver == index }
      return part(index, heard: heard, at: place)
    }
    let sum = parts.reduce(0) { $0 + $1.weight }
    if sum > 0 { for index in parts.indices { parts[index].weight /= sum } }
    parts.sort { ($0.rssi ?? -1_000) > ($1.rssi ?? -1_000) }
    return PositionExplanation(parts: parts, shift: shift)
  }

  private func part(
    _ index: Int, heard: ReadingWindow.Heard?, at place: FloorPoint
  ) -> PositionExplanation.Part {
    let receiver = plan.receivers[index]
    let distance = receiver.position.distance(to: place)
    let known = calibration.correction(of: index, x: place.x, y: place.y)
    let expected =
      calibration.pathLoss(of: index, at: distance) + known.residual
      - plan.wallLoss(from: receiver.position, to: place) + offset.mean
    let spread = calibration.receivers[index].spread(measured: known.weight)
    let weight = heard.map {
      StudentT.weight(($0.rssi - expected) / spread) / (spread * spread)
    }
    return PositionExplanation.Part(
      receiver: receiver.id, rssi: heard?.rssi, count: heard?.count ?? 0, distance: distance,
      expected: expected, offset: calibration.receivers[index].offset, correction: known.residual,
      spread: spread, weight: weight ?? 0)
  }
}
