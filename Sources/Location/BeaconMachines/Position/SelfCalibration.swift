import Essentials

/// The mean level at which a receiver receives the built-in beacon of another receiver.
public struct ReceiverLink: Hashable, Sendable {
  /// The index in the plan of the receiver that sends.
  public var from: Int
  /// The index in the plan of the receiver that receives.
  public var to: Int
  /// The mean level in dBm.
  public var rssi: Double

  /// Creates a link.
  public init(from: Int, to: Int, rssi: Double) {
    self.from = from
    self.to = to
    self.rssi = rssi
  }
}

extension PositionCalibration {
  /// Learns the exponent and the offsets from receivers that receive each other's beacons.
  ///
  /// A level is the sum of the sender's power, the receiver's sensitivity, and path loss. The links
  /// determine all of these except one: the power of the tracked beacon relative to that of the
  /// receivers. It has no effect on the estimated position if it is the same for all receivers.
  ///
  /// - Parameter powerDifference: The transmit power of the tracked beacon relative to that of the
  ///   receivers, in dB.
  /// - Returns: Nil if there are fewer links than twice the number of receivers, or if their
  ///   distances are too similar.
  public init?(links: [ReceiverLink], on plan: FloorPlan, powerDifference: Double = 0) {
    self.init(plan: plan)
    let indices = plan.receivers.indices
    let links = links.filter {
      $0.from != $0.to && indices.contains($0.from) && indices.contains($0.to)
        && (-127...20).contains($0.rssi)
    }
    guard links.count >= 2 * plan.receivers.count else { return nil }
    let distances = links.map { link in
      let distance = plan.receivers[link.from].position
        .distance(to: plan.receivers[link.to].position)
      return Exponential.log(max(distance, Self.distanceMin)) / Exponential.ln10
    }
    guard let least = distances.min(), let greatest = distances.max(), greatest - least > 0.1
    else { return nil }
    let fit = LinkFit(links: links, distances: distances, receiverCount: plan.receivers.count)
    exponent = fit.exponent
    for index in indices {
      receivers[index].offset = fit.base + fit.hearing[index] + powerDifference
      receivers[index].spread = max(fit.spread, 2)
      receivers[index].spreadNearSamples = max(fit.spread, 2)
    }
  }
}

/// Least squares over all links, one kind of unknown after the other until nothing changes.
private struct LinkFit {
  var base = 0.0
  var exponent = 2.0
  /// In dB, by sender and by listener; both have the mean 0.
  var sending: [Double]
  var hearing: [Double]
  var spread = 0.0

  init(links: [ReceiverLink], distances: [Double], receiverCount: Int) {
    sending = Array(repeating: 0, count: receiverCount)
    hearing = sending
    for _ in 0..<500 {
      let before = exponent
      fitLine(links, distances)
      let residuals = zip(links, distances).map { residual($0, $1) }
      sending = Self.corrected(sending, links.map(\.from), residuals)
      let rest = zip(links, distances).map { residual($0, $1) }
      hearing = Self.corrected(hearing, links.map(\.to), rest)
      if (exponent - before).magnitude < 1e-7 { break }
    }
    let squares = zip(links, distances).reduce(0) { sum, each in
      let rest = residual(each.0, each.1)
      return sum + rest * rest
    }
    spread = (squares / Double(max(links.count - 2 * receiverCount, 1))).squareRoot()
  }

  private func residual(_ link: ReceiverLink, _ distance: Double) -> Double {
    link.rssi - base + 10 * exponent * distance - sending[link.from] - hearing[link.to]
  }

  private mutating func fitLine(_ links: [ReceiverLink], _ distances: [Double]) {
    let count = Double(links.count)
    let values = links.map { $0.rssi - sending[$0.from] - hearing[$0.to] }
    let meanDistance = distances.reduce(0, +) / count
    let meanValue = values.reduce(0, +) / count
    var (product, square) = (0.0, 0.0)
    for (distance, value) in zip(distances, values) {
      product += (distance - meanDistance) * (value - meanValue)
      square += (distance - meanDistance) * (distance - meanDistance)
    }
    let range = PositionCalibration.exponents
    exponent = min(max(-product / square / 10, range.lowerBound), range.upperBound)
    base = meanValue + 10 * exponent * meanDistance
  }

  /// Adds to each the mean residual of its links, and takes the mean of all away.
  private static func corrected(
    _ values: [Double], _ owners: [Int], _ residuals: [Double]
  ) -> [Double] {
    var sums = values.map { _ in (sum: 0.0, count: 0.0) }
    for (owner, residual) in zip(owners, residuals) {
      sums[owner].sum += residual
      sums[owner].count += 1
    }
    // An additional link of residual 0 and weight 0.01 limits the noise of single links.
    let next = zip(values, sums).map { $0 + $1.sum / ($1.count + 0.01) }
    let mean = next.reduce(0, +) / Double(max(next.count, 1))
    return next.map { $0 - mean }
  }
}
