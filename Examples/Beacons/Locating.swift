import BeaconMachines
import Essentials

/// A hall with a receiver in each corner.
func makeHall() -> FloorPlan? {
  let receivers = [(0.0, 0.0), (12, 0), (12, 8), (0, 8)].enumerated().map { number, corner in
    FloorReceiver(id: "r\(number)", position: FloorPoint(x: corner.0, y: corner.1, z: 2.5))
  }
  let west = FloorRoom(
    name: "West", corners: [(0, 0), (6, 0), (6, 8), (0, 8)].map { FloorPoint(x: $0.0, y: $0.1) })
  let east = FloorRoom(
    name: "East", corners: [(6, 0), (12, 0), (12, 8), (6, 8)].map { FloorPoint(x: $0.0, y: $0.1) })
  return FloorPlan(receivers: receivers, rooms: [west, east])
}

/// Learns from a walk whose places were noted, then follows another one.
func follow(
  _ walk: PositionTrace, taughtBy surveyed: PositionTrace, on plan: FloorPlan
) throws -> [PositionFix] {
  let calibration = PositionCalibration(learning: try surveyed.windows(on: plan), on: plan)
  var estimator = PositionEstimator(plan: plan, calibration: calibration)
  return try walk.windows(on: plan).map { estimator.update($0) }
}

/// Learns from the signals between receivers' beacons, without a walk.
func calibrate(_ plan: FloorPlan, from links: [ReceiverLink]) -> PositionCalibration {
  // Too few links, or all of one length, teach nothing: then path loss is a guess.
  PositionCalibration(links: links, on: plan) ?? PositionCalibration(plan: plan)
}
