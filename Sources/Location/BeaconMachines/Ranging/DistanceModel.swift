import Essentials

/// Estimates the distance of a beacon from its level: path loss is proportional to the logarithm of
/// the distance.
///
/// The level of one link is inexact: bodies, hands and walls shift it by 6 dB and more, for as long
/// as nothing moves, and no filter removes that. So the result is an interval.
package struct DistanceModel: Hashable, Sendable {
  /// The path loss in dB for ten times the distance is ten times this: 2 in free space, more
  /// indoors.
  package var pathLossExponent: Double
  /// The standard deviation of a link's level because of shadowing, in dB.
  package var shadowingDecibels: Double

  /// Creates a model. Both numbers must be positive.
  package init(pathLossExponent: Double = 2.2, shadowingDecibels: Double = 6) {
    precondition(pathLossExponent > 0 && shadowingDecibels > 0, "distances need a spread")
    self.pathLossExponent = pathLossExponent
    self.shadowingDecibels = shadowingDecibels
  }

  /// The distance at which a beacon with `powerAtOneMetre` is received with `level`, both in dBm.
  ///
  /// - Parameter levelVariance: The variance of the level in dB².
  package func distance(
    level: Double, levelVariance: Double, powerAtOneMetre: Int8
  ) -> DistanceEstimate {
    let perDecibel = Exponential.ln10 / (10 * pathLossExponent)
    let sigma = (shadowingDecibels * shadowingDecibels + levelVariance).squareRoot()
    return DistanceEstimate(
      metres: Exponential.exp((Double(powerAtOneMetre) - level) * perDecibel),
      logarithmicSigma: sigma * perDecibel)
  }
}

/// A distance with its uncertainty. Its logarithm is normally distributed.
package struct DistanceEstimate: Hashable, Sendable {
  /// The median in metres.
  package var metres: Double
  /// The standard deviation of the distance's natural logarithm.
  package var logarithmicSigma: Double

  /// Creates an estimate.
  package init(metres: Double, logarithmicSigma: Double) {
    self.metres = metres
    self.logarithmicSigma = logarithmicSigma
  }

  /// The interval in metres within one standard deviation, which contains the distance with a
  /// probability of 68 %.
  package var interval: ClosedRange<Double> {
    let factor = Exponential.exp(abs(logarithmicSigma))
    return metres / factor...metres * factor
  }

  /// The radius in metres that contains the beacon with the probability of one standard deviation,
  /// 68 %.
  ///
  /// That is what `horizontalAccuracy` of Core Location means for a place, and `accuracy` for a
  /// beacon (CLBeacon, `accuracy`).
  package var accuracyMetres: Double {
    // The 68.27 % quantile of the normal distribution lies at 0.4752 sigma.
    metres * Exponential.exp(0.4752 * logarithmicSigma)
  }
}

/// The zone of a beacon's distance; the raw values are those of `CLProximity`.
package enum BeaconProximity: UInt8, Hashable, Sendable {
  /// No distance is known, because the beacon was silent for a while.
  case unknown = 0
  /// Within half a metre.
  case immediate = 1
  /// Within four metres.
  case near = 2
  /// Farther.
  case far = 3

  /// The distance in metres between immediate and near. Apple doesn't document it; this was
  /// observed.
  static let nearFromMetres = 0.5
  static let farFromMetres = 4.0
  /// The factor by which a distance must be beyond such a bound to change the reported zone.
  static let hysteresis = 1.25

  /// The next zone for a distance in metres if this is the current one.
  func next(metres: Double) -> BeaconProximity {
    let towardsNear = Self.nearFromMetres * (self == .immediate ? Self.hysteresis : 1)
    let isImmediate =
      metres < (self == .near || self == .far ? towardsNear / Self.hysteresis : towardsNear)
    let towardsFar =
      Self.farFromMetres * (self == .immediate || self == .near ? Self.hysteresis : 1)
    let isFar = metres > (self == .far ? towardsFar / Self.hysteresis : towardsFar)
    return isImmediate ? .immediate : isFar ? .far : .near
  }
}
