import Essentials

/// The logarithm of the probability that a receiver hears nothing of a signal in a window, by the
/// signal's margin above the sensitivity.
struct MissTable: Sendable {
  /// In standard deviations; beyond it nothing changes by more than 1 in 10,000.
  private static let marginMax = 6.0
  private static let stepsPerDeviation = 32.0
  private let values: [Double]

  init(missRate: Double) {
    values = (0...Int(2 * Self.marginMax * Self.stepsPerDeviation)).map { step in
      let margin = Double(step) / Self.stepsPerDeviation - Self.marginMax
      // The logistic function that is next to the normal distribution's.
      let faint = 1 / (1 + Exponential.exp(1.702 * margin))
      return Exponential.log(missRate + (1 - missRate) * faint)
    }
  }

  func logProbability(margin: Double) -> Double {
    let limited = min(max(margin, -Self.marginMax), Self.marginMax)
    return values[Int((limited + Self.marginMax) * Self.stepsPerDeviation + 0.5)]
  }
}
