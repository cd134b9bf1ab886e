import Essentials
/// Cells over a floor.
struct FloorGrid: Hashable, Sendable {
  /// The middle of the first cell.
  let low: FloorPoint
  /// In metres.
  let step: Double
  let columns: Int
  let rows: Int

  var count: Int { columns * rows }

  init(
    bounds: (low: FloorPoint, high: FloorPoint), margin: Double, cellSize: Double, cellsMax: Int
  ) {
    let width = bounds.high.x - bounds.low.x + 2 * margin
    let depth = bounds.high.y - bounds.low.y + 2 * margin
    var step = cellSize
    while (width / step + 1) * (depth / step + 1) > Double(cellsMax) { step *= 1.1 }
    self.step = step
    low = FloorPoint(x: bounds.low.x - margin, y: bounds.low.y - margin)
    columns = Int(width / step) + 1
    rows = Int(depth / step) + 1
    assert((1...cellsMax).contains(count), "a grid of \(columns) by \(rows) cells")
  }

  /// The middle of a cell.
  func point(_ cell: Int) -> FloorPoint {
    FloorPoint(
      x: low.x + Double(cell % columns) * step, y: low.y + Double(cell / columns) * step)
  }

  /// The cell that a point is in.
  func cell(at point: FloorPoint) -> Int? {
    let column = ((point.x - low.x) / step).rounded()
    let row = ((point.y - low.y) / step).rounded()
    guard column >= 0, row >= 0, column < Double(columns), row < Double(rows) else { return nil }
    return Int(row) * columns + Int(column)
  }
}

/// Everything about a floor that depends on no beacon. It takes most of the memory; copies share it.
struct FloorModel: Sendable {
  let grid: FloorGrid
  let expectations: [ReceiverExpectation]
  /// -1 outside of rooms.
  let roomOfCell: [Int]

  init(plan: FloorPlan, calibration: PositionCalibration, grid: FloorGrid) {
    self.grid = grid
    expectations = plan.receivers.indices.map {
      ReceiverExpectation(receiver: $0, plan: plan, calibration: calibration, grid: grid)
    }
    roomOfCell = (0..<grid.count).map { cell in
      let point = grid.point(cell)
      return plan.rooms.firstIndex { $0.contains(point) } ?? -1
    }
  }
}

/// What a receiver is expected to hear from each cell.
struct ReceiverExpectation: Sendable {
  /// In dBm.
  private var means: [Double]
  /// 1 / (spread² · degrees of freedom).
  private var scales: [Double]
  private var logSpreads: [Double]
  /// How far the sensitivity is below each mean, in spreads.
  private var margins: [Double]
  private var inverseSpreads: [Double]
  private let missTable: MissTable

  init(receiver: Int, plan: FloorPlan, calibration: PositionCalibration, grid: FloorGrid) {
    let own = calibration.receivers[receiver]
    let position = plan.receivers[receiver].position
    means = []
    scales = []
    logSpreads = []
    margins = []
    inverseSpreads = []
    missTable = MissTable(missRate: own.missRate)
    for cell in 0..<grid.count {
      var point = grid.point(cell)
      point.z = plan.beaconHeight
      let known = calibration.correction(of: receiver, x: point.x, y: point.y)
      let mean =
        calibration.pathLoss(of: receiver, at: position.distance(to: point)) + known.residual
        - plan.wallLoss(from: position, to: point)
      let spread = own.spread(measured: known.weight)
      means.append(mean)
      scales.append(1 / (spread * spread * StudentT.freedom))
      logSpreads.append(Exponential.log(spread))
      margins.append((mean - calibration.sensitivity) / spread)
      inverseSpreads.append(1 / spread)
    }
  }

  /// Adds to each cell's logarithm that of the probability that the receiver hears nothing of a beacon
  /// that is louder than the surveyed one by `offset`.
  func addMiss(to logs: inout [Double], offset: Double) {
    for cell in logs.indices {
      logs[cell] += missTable.logProbability(
        margin: margins[cell] + offset * inverseSpreads[cell])
    }
  }

  /// Multiplies each cell's product by `1 + deviation² / freedom`, and takes the spread off its logarithm.
  func multiply(_ products: inout [Double], _ logs: inout [Double], rssi: Double) {
    for cell in products.indices {
      let difference = rssi - means[cell]
      // No more than 1,000 each, so that a hundred receivers stay within a Double.
      products[cell] *= min(1 + difference * difference * scales[cell], 1_000)
      logs[cell] -= logSpreads[cell]
    }
  }
}

extension PositionCalibration.Receiver {
  /// Standard deviation of readings in dB, for a weight of measurements nearby of 0...1.
  func spread(measured weight: Double) -> Double {
    (spreadNearSamples * spreadNearSamples * weight + spread * spread * (1 - weight)).squareRoot()
  }
}
