package import Essentials

/// Estimates the level of one link from an advertiser to a receiver, from measurements that fading
/// scatters.
///
/// A Kalman filter of a random walk. The weight of a measurement depends only on the time since the
/// previous one, not on the values: the estimate of a constant level is therefore unbiased, and
/// rare measurements get a higher weight.
package struct LinkFilter: Hashable, Sendable {
  /// Variance of a single measurement around the level, in dB²: the scatter of 4 dB that multipath
  /// fading over three advertising channels has indoors.
  static let measurementVariance = 16.0
  /// How fast the level walks, in dB² per second: with one measurement per second a step of 9 dB is
  /// followed to 1.5 dB in three seconds.
  static let walkVariancePerSecond = 6.0
  /// The maximum variance of the level, in dB²: that of a level without measurements.
  static let varianceMax = 400.0

  /// The level in dBm; nil before the first measurement.
  package private(set) var level: Double?
  private var variance = LinkFilter.varianceMax
  private var updatedAt = Instant.zero

  /// Creates a filter without measurements.
  package init() {}

  /// Starts at a level that was measured `count` times.
  init(level: Double, count: Int, now: Instant) {
    self.level = level
    variance = Self.measurementVariance / Double(max(1, count))
    updatedAt = now
  }

  /// Adds a measurement in dBm. Returns false for unknown ones, which are ignored
  /// (``MeasuredStrength/rssi(_:)``).
  @discardableResult
  package mutating func add(rssi: Int8, now: Instant) -> Bool {
    guard let rssi = MeasuredStrength.rssi(Int(rssi)) else { return false }
    let measured = Double(rssi)
    let prior = variance(at: now)
    let gain = prior / (prior + Self.measurementVariance)
    assert((0...1).contains(gain), "a measurement takes the level beyond itself")
    let old = level ?? measured
    level = old + gain * (measured - old)
    variance = prior * (1 - gain)
    updatedAt = max(updatedAt, now)
    return true
  }

  /// The variance of the level's error at an instant, in dB².
  package func variance(at now: Instant) -> Double {
    let passed = max(TimeSpan.zero, now - updatedAt).seconds
    return min(Self.varianceMax, variance + passed * Self.walkVariancePerSecond)
  }
}
