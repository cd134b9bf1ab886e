public import BluetoothWire
public import Essentials

/// A ranged beacon at the time of a report.
public struct RangedBeacon: Hashable, Sendable {
  /// The identity of the beacon.
  public var identity: BeaconIdentity
  /// The address of its latest advertisement.
  public var address: DeviceAddress
  /// The zone of its distance.
  public var proximity: BeaconProximity
  /// The estimated distance; nil if the beacon was silent for a while, or doesn't advertise its
  /// measured power.
  public var distance: DistanceEstimate?
  /// The mean of the measurements since the last report, in dBm; 0 without any.
  public var rssi: Int
  /// The level of the link in dBm, smoothed over a second or so.
  public var level: Double
  /// The time of its latest advertisement.
  public var heardAt: Instant

  /// One standard deviation of the distance in metres; negative if it could not be determined, as
  /// in `CLBeacon`.
  public var accuracyMetres: Double { distance?.accuracyMetres ?? -1 }

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
