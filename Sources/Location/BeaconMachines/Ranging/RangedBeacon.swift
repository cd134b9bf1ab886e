package import BluetoothWire
package import Essentials

/// A ranged beacon at the time of a report.
package struct RangedBeacon: Hashable, Sendable {
  /// The identity of the beacon.
  package var identity: BeaconIdentity
  /// The address of its latest advertisement.
  package var address: DeviceAddress
  /// The zone of its distance.
  package var proximity: BeaconProximity
  /// The estimated distance; nil if the beacon was silent for a while, or doesn't advertise its
  /// measured power.
  package var distance: DistanceEstimate?
  /// The mean of the measurements since the last report, in dBm; 0 without any.
  package var rssi: Int
  /// The level of the link in dBm, smoothed over a second or so.
  package var level: Double
  /// The time of its latest advertisement.
  package var heardAt: Instant

  /// One standard deviation of the distance in metres; negative if it could not be determined, as
  /// in `CLBeacon`.
  package var accuracyMetres: Double { distance?.accuracyMetres ?? -1 }

  /// Nearest first, unknown last; the rest is for a definite order.
  static func isBefore(_ a: RangedBeacon, _ b: RangedBeacon) -> Bool {
    let left = a.distance?.metres ?? .infinity
    let right = b.distance?.metres ?? .infinity
    if left != right { return left < right }
    if a.identity.major != b.identity.major { return a.identity.major < b.identity.major }
    if a.identity.minor != b.identity.minor { return a.identity.minor < b.identity.minor }
    return a.address.bits < b.address.bits
  }
}
