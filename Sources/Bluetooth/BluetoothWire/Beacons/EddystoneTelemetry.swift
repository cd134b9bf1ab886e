/// The telemetry of an Eddystone beacon.
public struct EddystoneTelemetry: Hashable, Sendable {
  /// Battery voltage; 0 where it isn't measured, or 65,535 from some beacons.
  public var batteryMillivolts: UInt16
  /// Temperature in 1/256 °C; -32768 where it isn't measured.
  public var temperature256ths: Int16
  /// Frames sent since it was switched on.
  public var advertisementCount: UInt32
  /// Time since it was switched on, in units of 0.1 s.
  public var uptimeTenths: UInt32
}
