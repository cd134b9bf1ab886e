/// The distribution of the errors of estimates.
public struct PositionScore: Hashable, Sendable {
  /// The errors in metres, ascending.
  public let errors: [Double]

  /// Creates a score from errors in metres, in any order.
  public init(errors: [Double]) { self.errors = errors.sorted() }

  /// The median error; 0 without errors.
  public var median: Double { percentile(50) }

  /// The mean error; 0 without errors.
  public var mean: Double { errors.reduce(0, +) / Double(max(errors.count, 1)) }

  /// A percentile of the errors, interpolated; 0 without errors.
  public func percentile(_ percent: Double) -> Double {
    guard let last = errors.last else { return 0 }
    let place = min(max(percent / 100, 0), 1) * Double(errors.count - 1)
    let index = Int(place)
    guard index + 1 < errors.count else { return last }
    return errors[index] + (place - Double(index)) * (errors[index + 1] - errors[index])
  }
}

/// The errors of the filter and of the simpler estimators, on tracks with known true positions.
public struct PositionScoring: Sendable {
  /// A window with fewer receptions is not scored; the filter gets it nevertheless.
  public static let receptionsMin = 3

  /// The errors of the filter, in metres.
  public private(set) var filter: [Double] = []
  /// The number of these errors that are within the radius of their fix.
  public private(set) var insideCount = 0
  /// The errors of the simpler estimators, in metres.
  public private(set) var comparisons: [PositionComparison: [Double]] = [:]

  /// Creates a scoring without errors.
  public init() {}

  /// The share of the errors that are within the radius of their fix; 0 without errors.
  public var insideShare: Double { Double(insideCount) / Double(max(filter.count, 1)) }

  /// Adds the errors along a track that was not used for the calibration.
  ///
  /// - Parameter offset: How much louder its beacon is than the surveyed one.
  public mutating func add(
    _ track: [ReadingWindow], plan: FloorPlan, calibration: PositionCalibration,
    offset: BeaconOffset = .surveyed
  ) {
    var estimator = PositionEstimator(plan: plan, calibration: calibration, offset: offset)
    for window in track {
      let fix = estimator.update(window)
      guard let truth = window.truth, window.count >= Self.receptionsMin else { continue }
      let error = fix.position.horizontalDistance(to: truth)
      filter.append(error)
      insideCount += error <= fix.radius ? 1 : 0
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
    insideCount += other.insideCount
    comparisons.merge(other.comparisons) { $0 + $1 }
  }

  /// Scores each track with a calibration that was learnt from all other tracks, in their order.
  ///
  /// - Parameters:
  ///   - training: Additional tracks to learn from, which are not scored.
  ///   - offset: How much louder the beacon of a scored track is than that of the others.
  public static func leavingOneOut(
    _ tracks: [[ReadingWindow]], training: [[ReadingWindow]] = [], plan: FloorPlan,
    offset: BeaconOffset = .surveyed
  ) -> [PositionScoring] {
    tracks.indices.map { left in
      let others = tracks.indices.filter { $0 != left }.flatMap { tracks[$0] }
      var scoring = PositionScoring()
      scoring.add(
        tracks[left], plan: plan,
        calibration: PositionCalibration(learning: training.flatMap { $0 } + others, on: plan),
        offset: offset)
      return scoring
    }
  }
}
