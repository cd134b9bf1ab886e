import Essentials

/// The events that wait for a process of an app, in the order of arrival.
struct AppQueue: Sendable {
  struct Entry: Sendable {
    var id: AppEventID
    var event: AppEvent
    /// When a request is refused; nil for other events.
    var deadline: Instant?
    /// It launched a process that didn't make its receiver in time, and launches no other one.
    var hasLaunched = false
    /// It came while the app was suspended without the mode, and waits for the foreground.
    var waitsForForeground = false
  }

  private(set) var entries: [Entry] = []
  private(set) var byteCount = 0

  var isEmpty: Bool { entries.isEmpty }
  var count: Int { entries.count }

  mutating func append(_ entry: Entry) {
    entries.append(entry)
    byteCount += entry.event.payload.count
  }

  /// The waiting event with the same receiver and key.
  func index(coalescedBy event: AppEvent) -> Int? {
    guard let key = event.key else { return nil }
    return entries.firstIndex { $0.event.key == key && $0.event.receiver == event.receiver }
  }

  /// The event that is discarded where there is no room for another one: a value or discovery of its peer, or else
  /// an earlier event of its peer, or else any value or discovery, or else the oldest one.
  func indexToDiscard(for event: AppEvent) -> Int? {
    func isOfPeer(_ entry: Entry) -> Bool {
      event.kind.peer != nil && entry.event.kind.peer == event.kind.peer
        && entry.event.receiver == event.receiver
    }
    return entries.firstIndex { isOfPeer($0) && $0.event.kind.isBulk }
      ?? entries.firstIndex(where: isOfPeer)
      ?? entries.firstIndex { $0.event.kind.isBulk }
      ?? entries.indices.first
  }

  @discardableResult
  mutating func remove(at index: Int) -> Entry {
    let entry = entries.remove(at: index)
    byteCount -= entry.event.payload.count
    return entry
  }

  /// Removes at most `limit` events for which `isTaken` is true.
  mutating func take(_ limit: Int = .max, where isTaken: (Entry) -> Bool) -> [Entry] {
    guard limit > 0, !entries.isEmpty else { return [] }
    var taken: [Entry] = []
    var rest: [Entry] = []
    for entry in entries {
      if taken.count < limit, isTaken(entry) { taken.append(entry) } else { rest.append(entry) }
    }
    guard !taken.isEmpty else { return [] }
    entries = rest
    byteCount -= taken.reduce(0) { $0 + $1.event.payload.count }
    return taken
  }

  /// The events of these receivers launch no other process.
  mutating func endLaunches(for receivers: Set<AppReceiver>) {
    for index in entries.indices where receivers.contains(entries[index].event.receiver) {
      entries[index].hasLaunched = true
    }
  }

  /// When the next request is refused.
  var nextDeadline: Instant? { entries.lazy.compactMap(\.deadline).min() }

  func violations(perTable limit: Int) -> [String] {
    var found: [String] = []
    let sum = entries.prefix(limit).reduce(0) { $0 + $1.event.payload.count }
    if entries.count <= limit ? byteCount != sum : byteCount < sum {
      found.append("the bytes that wait are miscounted")
    }
    let last = entries.suffix(limit)
    for (a, b) in zip(last, last.dropFirst()) where a.id >= b.id {
      found.append("event \(b.id.rawValue) waits behind a later one")
    }
    for entry in last where (entry.deadline != nil) != entry.event.kind.isRequest {
      found.append("event \(entry.id.rawValue) has a time for an answer, or a request has none")
    }
    return found
  }
}
