/// How far estimates are from the truth.
public struct PositionScore: Hashable, Sendable {
  /// In metres, ascending.
  public let errors: [Double]

  /// Makes a score of errors in metres, in any order.
  public init(errors: [Double]) { self.errors = errors.sorted() }

  /// The error that half of the estimates stay below; 0 without any.
  public var median: Double { percentile(50) }

  /// The mean error; 0 without any.
  public var mean: Double { errors.reduce(0, +) / Double(max(errors.count, 1)) }

  /// The percentile of errors, interpolated; 0 without any.
  public func percentile(_ percent: Double) -> Double {
    guard let last = errors.last else { return 0 }
    let place = min(max(percent / 100, 0), 1) * Double(errors.count - 1)
    let index = Int(place)
    guard index + 1 < errors.count else { return last }
    return errors[index] + (place - Double(index)) * (errors[index + 1] - errors[index])
  }
}

/// Errors of the filter and of what it is compared with, on walks whose truth is known.
public struct PositionScoring: Sendable {
  /// A window with fewer receptions is not scored, but the filter has it all the same.
  public static let receptionsMin = 3

  /// Of the filter.
  public private(set) var filter: [Double] = []
  /// Of what it is compared with.
  public private(set) var comparisons: [PositionComparison: [Double]] = [:]

  /// Starts without errors.
  public init() {}

  /// Adds the errors along a track that the calibration wasn't learnt from.
  public mutating func add(
    _ track: [ReadingWindow], plan: FloorPlan, calibration: PositionCalibration
  ) {
    var estimator = PositionEstimator(plan: plan, calibration: calibration)
    for window in track {
      let fix = estimator.update(window)
      guard let truth = window.truth, window.count >= Self.receptionsMin else { continue }
      filter.append(fix.position.horizontalDistance(to: truth))
      for comparison in PositionComparison.allCases {
        let place = comparison.position(window, plan: plan, calibration: calibration)
        guard let place else { continue }
        comparisons[comparison, default: []].append(place.horizontalDistance(to: truth))
      }
    }
  }

  /// Adds the errors of another track.
  public mutating func add(_ other: PositionScoring) {
    filter += other.filter
    comparisons.merge(other.comparisons) { $0 + $1 }
  }

  /// Scores each track with a calibration learnt from all others, in their order.
  ///
  /// - Parameter training: More tracks to learn from, which are not scored.
  public static func leavingOneOut(
    _ tracks: [[ReadingWindow]], training: [[ReadingWindow]] = [], plan: FloorPlan
  ) -> [PositionScoring] {
    tracks.indices.map { left in
      let others = tracks.indices.filter { $0 != left }.flatMap { tracks[$0] }
      var scoring = PositionScoring()
      scoring.add(
        tracks[left], plan: plan,
        calibration: PositionCalibration(learning: training.flatMap { $0 } + others, on: plan))
      return scoring
    }
  }
}
