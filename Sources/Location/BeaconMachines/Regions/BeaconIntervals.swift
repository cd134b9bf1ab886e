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
    /// The number of the last sighting, as several may have one time.
    var lastSighting: UInt64
    /// Nil until the second sighting.
    var mean: TimeSpan?
    /// When the beacon came back after it was away, if that was not too long; nil if it wasn't away.
    var cameBack: Instant?
  }

  /// The number of beacons that are remembered: about 20 kB, and a short search in a flood of made-up
  /// beacons.
  static let countMax = 256
  /// A new interval moves the mean by one part of this number.
  private static let inertia: Int64 = 8
  /// An absence is an interval if the beacon was there before for less than one part of this number of
  /// it, and was away before that, too.
  private static let stayDivisor: Int64 = 4

  private var entries: [BeaconIdentity: Entry] = [:]
  private var sightingCount: UInt64 = 0

  var count: Int { entries.count }

  /// Handles a sighting and returns the beacon's mean interval; nil if it isn't known yet.
  ///
  /// A beacon may advertise less often from some time on, so that it seems to go and come back each time.
  /// One absence may be that of a visitor, and teaches nothing. The second in a row does. Of
  /// an absence only the time until the region was left is served, and counts.
  ///
  /// - Parameters:
  ///   - absenceMax: A longer silence is never an interval.
  ///   - absence: The silence from which on a beacon with this mean interval was away.
  mutating func heard(
    _ identity: BeaconIdentity, at now: Instant, absenceMax: TimeSpan,
    absence: (_ mean: TimeSpan?) -> TimeSpan
  ) -> TimeSpan? {
    sightingCount += 1
    guard var entry = entries[identity] else {
      if entries.count >= Self.countMax { release() }
      entries[identity] = Entry(lastHeard: now, lastSighting: sightingCount)
      return nil
    }
    if let last = entry.lastHeard {
      let interval = now - last
      if interval < absence(entry.mean) {
        entry.mean = entry.mean.map { Self.moved($0, by: interval) } ?? interval
      } else if interval <= absenceMax {
        if let began = entry.cameBack, (last - began) * Self.stayDivisor < interval {
          entry.mean = interval
        }
        entry.cameBack = now
      } else {
        entry.cameBack = nil
      }
    }
    entry.lastHeard = now
    entry.lastSighting = sightingCount
    entries[identity] = entry
    return entry.mean
  }

  private static func moved(_ mean: TimeSpan, by interval: TimeSpan) -> TimeSpan {
    .nanoseconds(mean.nanoseconds + (interval.nanoseconds - mean.nanoseconds) / inertia)
  }

  /// The receiver stopped scanning: the time until the next sighting is no interval.
  mutating func pause() {
    for identity in entries.keys {
      entries[identity]?.lastHeard = nil
      entries[identity]?.cameBack = nil
    }
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
      return a.lastSighting < b.lastSighting
    }
    if let least { entries[least.key] = nil }
  }
}
