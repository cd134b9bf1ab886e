/// The telemetry of an Eddystone beacon.
package struct EddystoneTelemetry: Hashable, Sendable {
  /// Battery voltage; 0 where it isn't measured, or 65,535 from some beacons.
  package var batteryMillivolts: UInt16
  /// Temperature in 1/256 °C; -32768 where it isn't measured.
  package var temperature256ths: Int16
  /// Frames sent since it was switched on.
  package var advertisementCount: UInt32
  /// Time since it was switched on, in units of 0.1 s.
  package var uptimeTenths: UInt32
}
