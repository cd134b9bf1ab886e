import Essentials

/// Determines from two clocks whether the machine slept: the boot time goes on while it sleeps, the
/// monotonic time does not (clock_gettime(2)).
struct SleepWatch {
  /// Two clocks, read at about the same time.
  struct Reading {
    /// With the time asleep (CLOCK_BOOTTIME), read first: so being held up between both makes the
    /// time asleep shorter, never longer.
    var sinceBoot: Instant
    /// Without it (CLOCK_MONOTONIC).
    var awake: Instant
  }

  /// A shorter sleep misses nothing.
  static let sleepMin = TimeSpan.seconds(1)

  private var asleep: TimeSpan

  /// Starts to watch.
  init(_ reading: Reading) { asleep = reading.sinceBoot - reading.awake }

  /// How long the machine slept since the last call; nil if it did not.
  mutating func slept(_ reading: Reading) -> TimeSpan? {
    let (before, total) = (asleep, reading.sinceBoot - reading.awake)
    let span = TimeSpan(nanoseconds: total.nanoseconds - before.nanoseconds)
    guard span >= Self.sleepMin else { return nil }
    asleep = total
    return span
  }
}
