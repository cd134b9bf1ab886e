import BluetoothWire
import Essentials

/// How often each beacon is heard: the mean time between its sightings, in served time.
///
/// It is longer than the beacon's advertising interval if the receiver misses advertisements; both
/// make longer silences of a beacon that is still there.
struct BeaconIntervals: Sendable {
  private struct Entry {
    /// Nil while the receiver doesn't scan.
    var lastHeard: Instant?
    /// Nil until the second sighting.
    var mean: TimeSpan?
  }

  /// The number of beacons that are remembered: about 20 kB, and a short search in a flood of made-up
  /// beacons.
  static let countMax = 256
  /// A new interval moves the mean by one part of this number.
  private static let inertia: Int64 = 8

  private var entries: [BeaconIdentity: Entry] = [:]

  var count: Int { entries.count }

  /// Handles a sighting and returns the beacon's mean interval; nil if it isn't known yet.
  ///
  /// - Parameter absence: The silence from which on a beacon with this mean interval was away. Nothing is
  ///   learnt from it.
  mutating func heard(
    _ identity: BeaconIdentity, at now: Instant, absence: (_ mean: TimeSpan?) -> TimeSpan
  ) -> TimeSpan? {
    guard var entry = entries[identity] else {
      if entries.count >= Self.countMax { release() }
      entries[identity] = Entry(lastHeard: now)
      return nil
    }
    if let last = entry.lastHeard, now - last < absence(entry.mean) {
      let interval = now - last
      entry.mean =
        entry.mean.map { mean in
          .nanoseconds(
            mean.nanoseconds + (interval.nanoseconds - mean.nanoseconds) / Self.inertia)
        } ?? interval
    }
    entry.lastHeard = now
    entries[identity] = entry
    return entry.mean
  }

  /// The receiver stopped scanning: the time until the next sighting is no interval.
  mutating func pause() {
    for identity in entries.keys { entries[identity]?.lastHeard = nil }
  }

  /// Forgets the beacons that are of no interest any more.
  mutating func keep(where isWanted: (BeaconIdentity) -> Bool) {
    entries = entries.filter { isWanted($0.key) }
  }

  /// Forgets one beacon: one that was heard once if there is any, the one not heard for longest.
  private mutating func release() {
    let least = entries.min { a, b in
      let (a, b) = (a.value, b.value)
      if (a.mean == nil) != (b.mean == nil) { return a.mean == nil }
      return (a.lastHeard ?? .zero) < (b.lastHeard ?? .zero)
    }
    if let least { entries[least.key] = nil }
  }
}
