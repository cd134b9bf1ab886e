package import Essentials

/// How often and for how long something was heard: what tells a beacon that is there from a packet
/// that is made up.
package struct SightingHistory: Hashable, Sendable {
  /// After a silence of this length the history begins anew.
  private static let silenceMax = TimeSpan.seconds(60)
  /// The number of sightings from which on it is steady.
  private static let steadyCount = 3
  /// The time between the first and the last sighting from which on it is steady. A burst is shorter.
  private static let steadyTime = TimeSpan.seconds(1)

  /// The number of sightings.
  package private(set) var count: Int
  /// The time of the first one.
  package private(set) var first: Instant
  /// The time of the last one.
  package private(set) var last: Instant

  /// Begins with a sighting.
  package init(at now: Instant) { self.init(count: 1, first: now, last: now) }

  init(count: Int, first: Instant, last: Instant) {
    self.count = count
    self.first = first
    self.last = last
  }

  /// Adds a sighting.
  package mutating func heard(at now: Instant) {
    guard now - last < Self.silenceMax else {
      self = SightingHistory(at: now)
      return
    }
    count += 1
    last = max(last, now)
  }

  /// Whether it was heard several times over a while. A packet that comes once is not steady, however
  /// loud it is.
  package var isSteady: Bool { count >= Self.steadyCount && last - first >= Self.steadyTime }

  /// The mean time between two sightings; zero before the second.
  var meanInterval: TimeSpan {
    count > 1 ? .nanoseconds((last - first).nanoseconds / Int64(count - 1)) : .zero
  }
}

/// The histories of what found no room in a table, so that what comes again becomes steady in spite of a
/// flood of what comes once. Bounded: beyond the bound, the one that was begun first is forgotten.
package struct SightingMemory<Key: Hashable & Sendable>: Sendable {
  private struct Entry: Sendable {
    var history: SightingHistory
    var place: Int
  }

  private let capacity: Int
  private var entries: [Key: Entry] = [:]
  /// The keys in the order in which they came, from `next` on, around the end.
  private var ring: [Key] = []
  private var next = 0

  /// Creates a memory of `capacity` histories.
  package init(capacity: Int) {
    precondition(capacity > 0, "a memory needs room")
    self.capacity = capacity
  }

  package var count: Int { entries.count }

  /// The history with a sighting that is added, without keeping it.
  package func history(of key: Key, heardAt now: Instant) -> SightingHistory {
    guard var history = entries[key]?.history else { return SightingHistory(at: now) }
    history.heard(at: now)
    return history
  }

  /// Keeps a history.
  package mutating func keep(_ history: SightingHistory, of key: Key) {
    if entries[key] != nil {
      entries[key]?.history = history
      return
    }
    if ring.count < capacity {
      entries[key] = Entry(history: history, place: ring.count)
      ring.append(key)
      return
    }
    // The key may have been forgotten, and have come again in another place.
    if entries[ring[next]]?.place == next { entries[ring[next]] = nil }
    ring[next] = key
    entries[key] = Entry(history: history, place: next)
    next = (next + 1) % capacity
  }

  /// Forgets a history: what it is of has found room.
  package mutating func forget(_ key: Key) { entries[key] = nil }

  /// Forgets everything.
  package mutating func removeAll() { self = SightingMemory(capacity: capacity) }
}
