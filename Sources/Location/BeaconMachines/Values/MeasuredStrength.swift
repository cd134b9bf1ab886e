/// Which strengths a receiver or the maker of a beacon can have measured: one rule for everything that
/// is heard, recorded or advertised. All others are unknown.
package enum MeasuredStrength {
  /// The received strengths that a controller may report, in dBm (Core 5.4, Vol 4, Part E, §7.7.65.2).
  package static let rssiRange = -127...20

  /// The strengths in dBm that a beacon may have at a distance of one metre.
  ///
  /// At most 20 dBm are sent (Core 5.4, Vol 6, Part A, §3), of which 41 dB are lost over the first metre;
  /// that leaves −21 dBm, and antennas may add some 10 dB. Below −100 dBm a receiver hears nothing.
  package static let powerRange = -100 ... -10

  /// The received strength; nil if it is unknown: 127, 0, which controllers report that don't measure,
  /// or a value out of range.
  package static func rssi(_ value: Int) -> Int8? {
    value != 0 && rssiRange.contains(value) ? Int8(exactly: value) : nil
  }

  /// The measured power at one metre; nil if the value is out of range.
  package static func power(_ value: Int8) -> Int8? {
    powerRange.contains(Int(value)) ? value : nil
  }
}
