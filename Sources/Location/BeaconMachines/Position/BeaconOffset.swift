import Essentials

/// How much louder a beacon is than the surveyed one, as far as that is known: another model, another
/// setting of its power, or a body in another place.
///
/// The difference is the same for all receivers. The estimator infers it together with the position.
public struct BeaconOffset: Hashable, Sendable {
  /// The expected difference in dB.
  public var mean: Double
  /// The standard deviation of the difference in dB; 0 if it is certain.
  public var spread: Double
  /// The probability that mean and spread follow from a claim or an assumption that is wrong: then any
  /// offset is possible that beacons have.
  public private(set) var doubt = 0.0

  /// Creates an offset without a doubt.
  ///
  /// - Precondition: Both are finite, and the spread is not negative.
  public init(mean: Double, spread: Double) {
    precondition(mean.isFinite && spread.isFinite && spread >= 0, "a spread is a size")
    self.mean = mean
    self.spread = spread
  }

  /// The surveyed beacon itself, in a walk of the same day: the difference is certainly 0.
  public static let surveyed = BeaconOffset(mean: 0, spread: 0)

  /// The surveyed beacon itself, on another day: most probably nothing has changed, but a battery, a
  /// case, a setting or another body may have made it some decibels louder or fainter. So with a
  /// probability of a fifth any difference is possible.
  public static let surveyedBefore = {
    var offset = BeaconOffset(mean: 0, spread: 1.5)
    offset.doubt = 0.2
    return offset
  }()

  /// A beacon of which nothing is known: the settings of one model span 20 dB and more, most of them
  /// are used in the middle of it.
  public static let unknown = BeaconOffset(mean: 0, spread: 6)

  /// A beacon that advertises its measured power, where that of the surveyed one is known as well.
  ///
  /// Advertised values are those of a model, in the open: a body and a case change them by some
  /// decibels. A difference beyond those of settings is a mistake, or a lie, and limited. One within
  /// them may be wrong as well, as of a beacon that was set to another power and still advertises the
  /// old one; so a tenth of the probability is that of any beacon.
  ///
  /// - Parameters:
  ///   - power: The measured power at one metre that the beacon advertises, in dBm.
  ///   - surveyed: The same of the surveyed beacon.
  public static func advertised(_ power: Int8, surveyed: Int8) -> BeaconOffset {
    let difference = Double(power) - Double(surveyed)
    var offset = BeaconOffset(mean: min(max(difference, -20), 20), spread: 4)
    offset.doubt = 0.1
    return offset
  }
}

// MARK: - Hypotheses

extension BeaconOffset {
  /// The distance of neighbours in standard deviations; the outermost are 2.5 of them away. With twice
  /// the distance the error between two of them is 0.15 m larger.
  private static let step = 0.25
  private static let stepsOnEachSide = 10
  /// The offset of any beacon, around 0: with wrong claims, the outermost setting is possible.
  private static let spreadOfAny = 8.0

  /// Whether only one offset is possible.
  var isCertain: Bool { spread == 0 && doubt == 0 }

  /// The offsets to tell apart, in dB, each with its probability: 21, or up to 26 where there is a
  /// doubt about a great one.
  var hypotheses: [(offset: Double, prior: Double)] {
    guard !isCertain else { return [(mean, 1)] }
    let offsets = doubt > 0 ? doubtedOffsets : undoubtedOffsets
    let densities = offsets.map(density)
    let sum = densities.reduce(0, +)
    return zip(offsets, densities).map { ($0, $1 / sum) }
  }

  private var undoubtedOffsets: [Double] {
    (-Self.stepsOnEachSide...Self.stepsOnEachSide).map { mean + Double($0) * Self.step * spread }
  }

  /// From the lowest to the highest that is possible, whether the claim is right or wrong.
  private var doubtedOffsets: [Double] {
    let reach = Double(Self.stepsOnEachSide) * Self.step
    let low = min(mean - reach * spread, -reach * Self.spreadOfAny)
    let high = max(mean + reach * spread, reach * Self.spreadOfAny)
    let count = max(1, ((high - low) / (Self.step * Self.spreadOfAny)).rounded(.up))
    return (0...Int(count)).map { low + (high - low) * Double($0) / count }
  }

  private func density(_ offset: Double) -> Double {
    guard doubt > 0 else { return Self.bell((offset - mean) / spread) }
    // No claim is exact.
    let width = max(spread, 1)
    let own = Self.bell((offset - mean) / width) / width
    return (1 - doubt) * own + doubt * Self.bell(offset / Self.spreadOfAny) / Self.spreadOfAny
  }

  /// Of a normal distribution, but for a factor.
  private static func bell(_ deviation: Double) -> Double {
    Exponential.exp(-deviation * deviation / 2)
  }
}

/// The probabilities of places under one assumed offset of the beacon.
struct OffsetHypothesis: Sendable {
  /// In dB.
  let offset: Double
  /// The probability of the offset before any reading.
  let prior: Double
  /// The probability of the offset.
  var weight: Double
  /// The probability of each cell, if the offset is right.
  var belief: [Double]
  /// The logarithm of the likelihood of the last window.
  private var logEvidence = 0.0

  /// The share of the prior in the weights of each window. An offset isn't quite constant: a visitor
  /// turns, and the body is behind the badge or in front of it.
  private static let renewal = 0.02

  private init(offset: Double, prior: Double, belief: [Double]) {
    self.offset = offset
    self.prior = prior
    weight = prior
    self.belief = belief
  }

  /// The hypotheses about an offset; one if it is certain.
  static func all(_ offset: BeaconOffset, belief: [Double]) -> [OffsetHypothesis] {
    offset.hypotheses.map { offset, prior in
      OffsetHypothesis(offset: offset, prior: prior, belief: belief)
    }
  }

  /// Multiplies the probabilities of the cells by the likelihood of a window (Bayes' rule).
  ///
  /// - Parameters:
  ///   - heard: The level of each receiver in dBm; nil without a reading.
  ///   - deaf: Receivers of which the absence of a reading has no meaning.
  ///   - independence: The share of a reading's information that is independent of the others.
  ///   - scratch: An array with an element for each cell.
  mutating func weigh(
    _ expectations: [ReceiverExpectation], heard: [Double?], deaf: Set<Int>, independence: Double,
    scratch: inout [Double]
  ) {
    // Products of (1 + deviation² / freedom) in `scratch`, so that each cell needs one logarithm.
    for cell in scratch.indices { scratch[cell] = 1 }
    var logs = Array(repeating: 0.0, count: belief.count)
    for (index, expectation) in expectations.enumerated() {
      if let rssi = heard[index] {
        expectation.multiply(&scratch, &logs, rssi: rssi - offset)
      } else if !deaf.contains(index) {
        expectation.addMiss(to: &logs, offset: offset)
      }
    }
    var greatest = -Double.infinity
    for cell in logs.indices {
      logs[cell] -= (StudentT.freedom + 1) / 2 * Exponential.log(scratch[cell])
      greatest = max(greatest, logs[cell])
    }
    var sum = 0.0
    for cell in belief.indices {
      belief[cell] *= Exponential.exp((logs[cell] - greatest) * independence)
      sum += belief[cell]
    }
    logEvidence = greatest * independence + Exponential.log(max(sum, Self.leastSum))
    guard sum > Self.leastSum else {
      // The readings contradict everything that was known: start again from them.
      for cell in belief.indices { belief[cell] = 1 / Double(belief.count) }
      return
    }
    for cell in belief.indices { belief[cell] /= sum }
  }

  private static let leastSum = 1e-280

  /// Multiplies the probabilities of the offsets by the likelihoods of the last window.
  static func weigh(_ hypotheses: inout [OffsetHypothesis]) {
    guard hypotheses.count > 1 else { return }
    let greatest = hypotheses.reduce(-Double.infinity) { max($0, $1.logEvidence) }
    for index in hypotheses.indices {
      hypotheses[index].weight *= Exponential.exp(hypotheses[index].logEvidence - greatest)
    }
    let sum = hypotheses.reduce(0) { $0 + $1.weight }
    for index in hypotheses.indices {
      hypotheses[index].weight =
        (1 - renewal) * hypotheses[index].weight / sum + renewal * hypotheses[index].prior
    }
  }
}
