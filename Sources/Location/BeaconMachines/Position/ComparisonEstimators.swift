import Essentials

/// Simpler estimators that use one window, to compare the filter with.
public enum PositionComparison: CaseIterable, Sendable {
  /// The position of the receiver with the highest level.
  case nearestReceiver
  /// The mean of the receivers' positions, weighted by the received amplitudes.
  case centroid
  /// The position whose distances best fit those from path loss.
  case leastSquares

  /// The estimated position of the beacon; nil without a reading.
  public func position(
    _ window: ReadingWindow, plan: FloorPlan, calibration: PositionCalibration
  ) -> FloorPoint? {
    let heard = window.heard.filter { plan.receivers.indices.contains($0.receiver) }
    switch self {
    case .nearestReceiver:
      return heard.max { $0.rssi < $1.rssi }.map { plan.receivers[$0.receiver].position }
    case .centroid: return Self.centroid(heard, plan)
    case .leastSquares: return Self.leastSquares(heard, plan, calibration)
    }
  }

  private static func centroid(_ heard: [ReadingWindow.Heard], _ plan: FloorPlan) -> FloorPoint? {
    var (x, y, sum) = (0.0, 0.0, 0.0)
    for each in heard {
      let (weight, place) = (
        Exponential.exp(each.rssi / 20 * Exponential.ln10), plan.receivers[each.receiver]
      )
      x += weight * place.position.x
      y += weight * place.position.y
      sum += weight
    }
    return sum > 0 ? FloorPoint(x: x / sum, y: y / sum, z: plan.beaconHeight) : nil
  }

  /// Gauss and Newton's method with damping, from the centroid. An error in dB is a share of the distance,
  /// so near receivers count more.
  private static func leastSquares(
    _ heard: [ReadingWindow.Heard], _ plan: FloorPlan, _ calibration: PositionCalibration
  ) -> FloorPoint? {
    guard var place = centroid(heard, plan) else { return nil }
    let distances = heard.map { each in
      let loss = calibration.receivers[each.receiver].offset - each.rssi
      return Exponential.exp(min(loss / (10 * calibration.exponent), 3) * Exponential.ln10)
    }
    let (low, high) = plan.bounds
    for _ in 0..<20 {
      var (xx, xy, yy, xr, yr) = (0.01, 0.0, 0.01, 0.0, 0.0)
      for (each, wanted) in zip(heard, distances) {
        let receiver = plan.receivers[each.receiver].position
        let distance = max(receiver.distance(to: place), 0.1)
        let (dx, dy) = ((place.x - receiver.x) / distance, (place.y - receiver.y) / distance)
        let weight = 1 / max(wanted * wanted, 0.25)
        xx += weight * dx * dx
        xy += weight * dx * dy
        yy += weight * dy * dy
        xr += weight * dx * (wanted - distance)
        yr += weight * dy * (wanted - distance)
      }
      let determinant = xx * yy - xy * xy
      guard determinant > 1e-9 else { return place }
      place.x += (yy * xr - xy * yr) / determinant
      place.y += (xx * yr - xy * xr) / determinant
      place.x = min(max(place.x, low.x - 1), high.x + 1)
      place.y = min(max(place.y, low.y - 1), high.y + 1)
    }
    return place
  }
}
