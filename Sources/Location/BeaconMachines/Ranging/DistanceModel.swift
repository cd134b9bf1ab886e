import Essentials

/// The distance of a beacon from its strength: path loss grows with the logarithm of the distance.
///
/// One link is inexact: bodies, hands and walls shift its level by 6 dB and more, for as long as
/// nothing moves, and no filter removes that. So the result is an interval.
public struct DistanceModel: Hashable, Sendable {
  /// Ten times this is the loss in dB for ten times the distance: 2 in free space, more indoors.
  public var pathLossExponent: Double
  /// One sigma of what shifts a link's level for long, in dB.
  public var shadowingDecibels: Double

  /// A model for a place; both numbers have to be positive.
  public init(pathLossExponent: Double = 2.2, shadowingDecibels: Double = 6) {
    precondition(pathLossExponent > 0 && shadowingDecibels > 0, "distances need a spread")
    self.pathLossExponent = pathLossExponent
    self.shadowingDecibels = shadowingDecibels
  }

  /// The distance at which a beacon with `powerAtOneMetre` is heard with `level`, both in dBm.
  ///
  /// - Parameter levelVariance: How uncertain the level itself is, in dB².
  public func distance(
    level: Double, levelVariance: Double, powerAtOneMetre: Int8
  ) -> DistanceEstimate {
    let perDecibel = Exponential.ln10 / (10 * pathLossExponent)
    let sigma = (shadowingDecibels * shadowingDecibels + levelVariance).squareRoot()
    return DistanceEstimate(
      metres: Exponential.exp((Double(powerAtOneMetre) - level) * perDecibel),
      logarithmicSigma: sigma * perDecibel)
  }
}

/// A distance and how uncertain it is: its logarithm is normally distributed.
public struct DistanceEstimate: Hashable, Sendable {
  /// The median in metres: the beacon is nearer as likely as farther.
  public var metres: Double
  /// One sigma of the distance's natural logarithm.
  public var logarithmicSigma: Double

  /// An estimate from its parts.
  public init(metres: Double, logarithmicSigma: Double) {
    self.metres = metres
    self.logarithmicSigma = logarithmicSigma
  }

  /// The interval in metres that is one sigma wide to both sides: the beacon is in it in 68 of 100
  /// cases.
  public var interval: ClosedRange<Double> {
    let factor = Exponential.exp(abs(logarithmicSigma))
    return metres / factor...metres * factor
  }

  /// The radius in metres within which the beacon is with the probability of one sigma, 68 %.
  ///
  /// That is what `horizontalAccuracy` of Core Location means for a place, and `accuracy` for a beacon
  /// (CLBeacon, `accuracy`).
  public var accuracyMetres: Double {
    // The 68.27 % quantile of the normal distribution lies at 0.4752 sigma.
    metres * Exponential.exp(0.4752 * logarithmicSigma)
  }
}

/// How near a beacon is, roughly; the values are those of `CLProximity`.
public enum BeaconProximity: UInt8, Hashable, Sendable {
  /// Not known: nothing was heard for a while.
  case unknown = 0
  /// Within half a metre.
  case immediate = 1
  /// Within four metres.
  case near = 2
  /// Farther.
  case far = 3

  /// The distances at which they meet, in metres; Apple's are not documented, these are observed.
  static let nearFromMetres = 0.5
  static let farFromMetres = 4.0
  /// The factor by which a distance must be beyond such a bound to change the reported zone.
  static let hysteresis = 1.25

  /// What follows for a distance in metres after this one.
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
