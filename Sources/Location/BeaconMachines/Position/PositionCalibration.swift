import Essentials

/// The learnt model of receivers: the path loss exponent, an offset for each receiver, and local
/// corrections.
///
/// The expected level is `offset - 10 · exponent · log10(distance)`, corrected by the mean of the
/// measurements nearby. Log-distance path loss: Rappaport, Wireless Communications, §4.9.
public struct PositionCalibration: Hashable, Sendable {
  /// The learnt parameters of one receiver.
  public struct Receiver: Hashable, Sendable {
    /// The level in dBm at a distance of one metre.
    public var offset: Double
    /// The standard deviation in dB of the mean of one window around path loss alone.
    public var spread: Double
    /// The standard deviation in dB around path loss that is corrected by measurements nearby.
    public var spreadNearSamples: Double
    /// Differences between measurements and path loss, with their positions.
    var samples: [Sample]
    /// The share of windows without a reading of this receiver although the signal was strong
    /// enough.
    public var missRate: Double

    /// The number of measurements that correct the path loss.
    public var sampleCount: Int { samples.count }
  }

  struct Sample: Hashable, Sendable {
    var x: Double
    var y: Double
    /// In dB above path loss.
    var residual: Double
  }

  /// The path loss exponent: 2 in free space; less along corridors, more through walls.
  public internal(set) var exponent: Double
  /// The learnt parameters, in the order of the plan's receivers.
  public internal(set) var receivers: [Receiver]
  /// The lowest level that receivers detect, in dBm.
  public internal(set) var sensitivity: Double

  /// Creates a calibration with typical path loss, without learning from measurements.
  ///
  /// - Parameter powerAtOneMetre: The measured power that beacons advertise, in dBm.
  public init(
    plan: FloorPlan, exponent: Double = 2, powerAtOneMetre: Double = -59, spread: Double = 6
  ) {
    self.exponent = min(max(exponent, Self.exponents.lowerBound), Self.exponents.upperBound)
    sensitivity = -100
    receivers = plan.receivers.map { _ in
      Receiver(
        offset: powerAtOneMetre, spread: spread, spreadNearSamples: spread, samples: [],
        missRate: 0.05)
    }
  }

  /// What exponents are measured indoors (Rappaport, table 4.2), with room.
  static let exponents = 1.0...5.0
  /// Metres within which measurements speak for each other: the width of a Gaussian.
  static let reach = 1.5
  /// How many measurements weigh as much as the path loss model. A body or a door changes more in a
  /// place than three seconds of measurements show.
  static let priorWeight = 5.0
  /// As many measurements of one receiver as are kept: enough for 20 minutes.
  static let samplesMax = 1_200
  /// In metres, nearer than which path loss is not extrapolated.
  static let distanceMin = 0.3

  /// The level of a receiver by path loss alone, in dBm.
  func pathLoss(of receiver: Int, at distance: Double) -> Double {
    receivers[receiver].offset
      - 10 * exponent * Exponential.log(max(distance, Self.distanceMin)) / Exponential.ln10
  }

  /// What measurements near a place add to path loss: in dB, and the weight of the measurements, 0...1.
  func correction(
    of receiver: Int, x: Double, y: Double, without left: Int? = nil
  ) -> (residual: Double, weight: Double) {
    var (sum, weights) = (0.0, 0.0)
    let scale = -1 / (2 * Self.reach * Self.reach)
    for (index, sample) in receivers[receiver].samples.enumerated() where index != left {
      let (dx, dy) = (x - sample.x, y - sample.y)
      let square = dx * dx + dy * dy
      guard square < 16 * Self.reach * Self.reach else { continue }
      let weight = Exponential.exp(square * scale)
      sum += weight * sample.residual
      weights += weight
    }
    let all = weights + Self.priorWeight
    return (sum / all, weights / all)
  }
}

// MARK: - Learning

extension PositionCalibration {
  /// One window's mean with its distance.
  private struct Measurement {
    var receiver: Int
    var place: FloorPoint
    var logDistance: Double
    var rssi: Double
    var weight = 1.0
  }

  /// Learns the parameters from windows with known true positions, and ignores other windows.
  ///
  /// Receivers without readings get the mean of the others. Outliers count less (Student's t).
  public init(learning windows: [ReadingWindow], on plan: FloorPlan) {
    self.init(plan: plan)
    var measurements: [Measurement] = []
    for window in windows {
      guard let place = window.truth else { continue }
      for heard in window.heard where plan.receivers.indices.contains(heard.receiver) {
        let position = plan.receivers[heard.receiver].position
        let distance = position.distance(to: place)
        measurements.append(
          Measurement(
            receiver: heard.receiver, place: place,
            logDistance: Exponential.log(max(distance, Self.distanceMin)) / Exponential.ln10,
            // What walls take is known, and so isn't learnt.
            rssi: heard.rssi + plan.wallLoss(from: position, to: place)))
      }
    }
    guard !measurements.isEmpty else { return }
    for _ in 0..<5 {
      fitPathLoss(measurements)
      for index in measurements.indices {
        let each = measurements[index]
        let deviation = residual(each) / receivers[each.receiver].spread
        measurements[index].weight = StudentT.weight(deviation)
      }
    }
    learnResiduals(measurements)
    learnSilence(windows, on: plan)
  }

  private func residual(_ each: Measurement) -> Double {
    each.rssi - receivers[each.receiver].offset + 10 * exponent * each.logDistance
  }

  /// The exponent within receivers, so that their offsets can't hide in it; then the offsets.
  private mutating func fitPathLoss(_ measurements: [Measurement]) {
    struct Sums { var weight = 0.0, distance = 0.0, rssi = 0.0 }
    var sums = Array(repeating: Sums(), count: receivers.count)
    for each in measurements {
      sums[each.receiver].weight += each.weight
      sums[each.receiver].distance += each.weight * each.logDistance
      sums[each.receiver].rssi += each.weight * each.rssi
    }
    var (product, square) = (0.0, 0.0)
    for each in measurements {
      let sum = sums[each.receiver]
      let dx = each.logDistance - sum.distance / sum.weight
      product += each.weight * dx * (each.rssi - sum.rssi / sum.weight)
      square += each.weight * dx * dx
    }
    if square > 0.01 {
      exponent = -product / square / 10
      exponent = min(max(exponent, Self.exponents.lowerBound), Self.exponents.upperBound)
    }
    let total = sums.reduce(into: Sums()) {
      $0.weight += $1.weight
      $0.distance += $1.distance
      $0.rssi += $1.rssi
    }
    let mean = (total.rssi + 10 * exponent * total.distance) / total.weight
    for (index, sum) in sums.enumerated() {
      // As if each had been heard twice more, at the mean of all.
      receivers[index].offset =
        (sum.rssi + 10 * exponent * sum.distance + 2 * mean) / (sum.weight + 2)
    }
    fitSpreads(measurements)
  }

  private mutating func fitSpreads(_ measurements: [Measurement]) {
    let squares = measurements.map { (receiver: $0.receiver, square: residual($0) * residual($0)) }
    setSpreads(squares, \.spread)
  }

  /// Standard deviations of each receiver, drawn towards that of all where there is little.
  private mutating func setSpreads(
    _ squares: [(receiver: Int, square: Double)], _ path: WritableKeyPath<Receiver, Double>
  ) {
    let all = squares.reduce(0) { $0 + $1.square } / Double(max(squares.count, 1))
    var sums = Array(repeating: (square: 5 * all, count: 5.0), count: receivers.count)
    for each in squares {
      sums[each.receiver].square += each.square
      sums[each.receiver].count += 1
    }
    for (index, sum) in sums.enumerated() {
      // RSSI has a resolution of 1 dB, and no receiver is better than 2 dB.
      receivers[index][keyPath: path] = max((sum.square / sum.count).squareRoot(), 2)
    }
  }

  private mutating func learnResiduals(_ measurements: [Measurement]) {
    var counts = Array(repeating: 0, count: receivers.count)
    for each in measurements { counts[each.receiver] += 1 }
    var seen = Array(repeating: 0, count: receivers.count)
    for each in measurements {
      // Of too many, every n-th.
      let stride = (counts[each.receiver] + Self.samplesMax - 1) / Self.samplesMax
      seen[each.receiver] += 1
      guard seen[each.receiver] % stride == 0 else { continue }
      receivers[each.receiver].samples.append(
        Sample(x: each.place.x, y: each.place.y, residual: residual(each)))
    }
    var squares: [(receiver: Int, square: Double)] = []
    for (index, receiver) in receivers.enumerated() {
      for (number, sample) in receiver.samples.enumerated() {
        let known = correction(of: index, x: sample.x, y: sample.y, without: number)
        let rest = sample.residual - known.residual
        squares.append((index, rest * rest))
      }
    }
    setSpreads(squares, \.spreadNearSamples)
  }

  /// Learns the sensitivity, and how often a receiver misses stronger signals.
  private mutating func learnSilence(
    _ windows: [ReadingWindow], on plan: FloorPlan
  ) {
    let heard = windows.lazy.filter { $0.truth != nil }.flatMap(\.heard)
    sensitivity = heard.reduce(0) { min($0, $1.rssi) }
    var (chances, missed) = (receivers.map { _ in 0.0 }, receivers.map { _ in 0.0 })
    for window in windows {
      guard let place = window.truth else { continue }
      let heard = Set(window.heard.map(\.receiver))
      for (index, receiver) in receivers.enumerated() {
        let distance = plan.receivers[index].position.distance(to: place)
        let loss = plan.wallLoss(from: plan.receivers[index].position, to: place)
        guard pathLoss(of: index, at: distance) - loss > sensitivity + receiver.spread else {
          continue
        }
        chances[index] += 1
        missed[index] += heard.contains(index) ? 0 : 1
      }
    }
    // Never 0 or 1: what wasn't seen yet isn't impossible.
    for index in receivers.indices {
      assert(missed[index] <= chances[index], "more was missed than was sent")
      receivers[index].missRate = (missed[index] + 1) / (chances[index] + 2)
    }
  }
}

/// Student's t distribution with four degrees of freedom: nearly normal, but a reading that is far
/// off, as behind a body, has a small weight instead of a dominant one.
enum StudentT {
  static let freedom = 4.0

  /// The weight of a reading that is this number of standard deviations off.
  static func weight(_ deviation: Double) -> Double {
    (freedom + 1) / (freedom + deviation * deviation)
  }
}
