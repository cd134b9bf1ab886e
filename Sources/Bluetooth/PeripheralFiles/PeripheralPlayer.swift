public import BluetoothWire
public import Essentials

/// Plays a device's file: answers reads and writes, and returns due notifications and changes of
/// advertising as actions.
///
/// The times of recorded notifications count from the first subscription to any of their
/// characteristics, so that a slow app doesn't miss any. They end with the last subscription, and
/// start again with the next one. The times of advertising changes and of values in a list with
/// `every` count from `init`.
///
/// At most 64 notifications are sent in each ten milliseconds, which is more than a link carries.
/// Additional ones of a recording and of answers are delayed, those of a list with `every` are
/// dropped.
public struct PeripheralPlayer: Sendable {
  /// The index of a characteristic of the file.
  public typealias Index = PeripheralFile.CharacteristicIndex

  /// An action for the caller.
  public enum Action: Hashable, Sendable {
    /// Notify or indicate a value to all subscribers.
    case notify(Index, [UInt8])
    /// Change the advertising data.
    case advertise(data: [UInt8], scanResponse: [UInt8])
  }

  /// Bounds of what centrals can make the player keep, and files can make it do.
  private enum Limits {
    /// Notifications of answers that are still to come; a central that writes on gets no more.
    static let pendingCount = 4_096
    /// Notifications in a turn. A link carries some ten in each connection interval, of 7.5 ms at
    /// least.
    static let turnCount = 64
    /// The length of a turn; advertising changes at most once per turn.
    static let turnTime = PeripheralFile.Limits.shortestInterval
  }

  /// A short time in which the number of notifications is limited.
  private struct Turn: Sendable {
    var end: Instant
    var count = 0
  }

  /// A list of events that is played from a start, once or again and again.
  private struct Track: Sendable {
    var start: Instant
    var next = 0
    /// How often it has been played already.
    var round: Int64 = 0
  }

  private struct Pending: Sendable {
    var time: Instant
    var index: Index
    var value: [UInt8]
  }

  /// The file that is played.
  public let file: PeripheralFile
  private var values: [Index: [UInt8]] = [:]
  /// Which of a list of values is next, and when.
  private var cycles: [Index: (next: Int, time: Instant)] = [:]
  /// The number of the list that goes on first.
  private var firstCycle = 0
  private var subscribed: Set<Index> = []
  /// All recorded notifications, in the order of time.
  private let timeline: [(time: TimeSpan, index: Index, number: Int)]
  private let recorded: Set<Index>
  private let characteristicCount: Int
  private var timelineTrack: Track?
  private var advertisingTrack: Track?
  private var pending: [Pending] = []
  /// The present turn; over when its end has come.
  private var turn: Turn
  /// The earliest time of the next change of advertising.
  private var nextAdvertising: Instant
  /// The number of dropped notifications: of answers because too many were pending, of lists
  /// because too many were due at once.
  public private(set) var droppedCount: UInt64 = 0

  /// Creates a player for a device that is switched on now.
  public init(_ file: PeripheralFile, now: Instant) {
    self.file = file
    turn = Turn(end: now)
    nextAdvertising = now
    var all: [(time: TimeSpan, index: Index, number: Int)] = []
    for index in file.characteristicIndices {
      let characteristic = file[index]
      values[index] = characteristic.values.first ?? []
      if let interval = characteristic.interval { cycles[index] = (1, now + interval) }
      for (number, notification) in characteristic.notifications.enumerated() {
        all.append((notification.time, index, number))
      }
    }
    timeline = all.sorted { ($0.time, $0.index, $0.number) < ($1.time, $1.index, $1.number) }
    recorded = Set(all.map(\.index))
    characteristicCount = values.count
    if file.advertising?.changes.isEmpty == false { advertisingTrack = Track(start: now) }
  }

  /// The result of a read: the whole value, or an error.
  public func read(_ index: Index) -> Result<[UInt8], ATTErrorCode> {
    if let error = file[index].readError { return .failure(error) }
    return .success(values[index] ?? [])
  }

  /// Handles a write of a whole value. If it is refused, nothing changes.
  public mutating func write(
    _ index: Index, _ value: [UInt8], now: Instant, into actions: inout [Action]
  ) -> Result<Void, ATTErrorCode> {
    defer { assertInvariants() }
    let characteristic = file[index]
    if let answer = characteristic.answers.first(where: { $0.written == value }) {
      if let error = answer.error { return .failure(error) }
      values[index] = answer.value ?? value
      for notification in answer.notifications {
        guard pending.count < Limits.pendingCount else {
          droppedCount += 1
          continue
        }
        pending.append(
          Pending(
            time: now + notification.time, index: notification.target, value: notification.value))
      }
      // Stable: what comes at the same time keeps the order of the file.
      pending = pending.enumerated()
        .sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(\.element)
      wake(now: now, into: &actions)
      return .success(())
    }
    guard value.count <= characteristic.longest else {
      return .failure(.invalidAttributeValueLength)
    }
    values[index] = value
    if let echo = characteristic.echo {
      let targets = file.characteristicIndices.filter {
        $0.service == index.service && file[$0].uuid == echo
      }
      if let target = targets.first { notify(target, value, into: &actions) }
    } else if characteristic.isNotified {
      notify(index, value, into: &actions)
    }
    return .success(())
  }

  /// Updates whether a characteristic has subscribers.
  public mutating func setSubscribed(_ index: Index, _ isSubscribed: Bool, now: Instant) {
    defer { assertInvariants() }
    if isSubscribed { subscribed.insert(index) } else { subscribed.remove(index) }
    if subscribed.isDisjoint(with: recorded) {
      timelineTrack = nil
    } else if timelineTrack == nil {
      timelineTrack = Track(start: now)
    }
  }

  /// The time to call `wake`; nil if no timer is running.
  public var nextWake: Instant? {
    var times = cycles.values.map(\.time)
    let isFull = turn.count >= Limits.turnCount
    for time in [pending.first?.time, nextNotificationTime] {
      if let time { times.append(isFull ? max(time, turn.end) : time) }
    }
    if let time = nextChangeTime { times.append(max(time, nextAdvertising)) }
    return times.min()
  }

  /// Appends the due actions. If it is called late, each list of values advances by one only, and
  /// delayed recorded notifications are sent as far as the limits allow.
  public mutating func wake(now: Instant, into actions: inout [Action]) {
    if now >= turn.end { turn = Turn(end: now + Limits.turnTime) }
    playPending(now: now, into: &actions)
    // Recorded notifications come before lists, whose values are dropped if the turn is full.
    playNotifications(now: now, into: &actions)
    advanceCycles(now: now, into: &actions)
    playAdvertising(now: now, into: &actions)
    assertInvariants()
  }

  private mutating func playPending(now: Instant, into actions: inout [Action]) {
    var count = 0
    while turn.count < Limits.turnCount, let next = pending[safe: count], next.time <= now {
      count += 1
      turn.count += 1
      notify(next.index, next.value, into: &actions)
    }
    pending.removeFirst(count)
  }

  private mutating func notify(
    _ index: Index, _ value: [UInt8], into actions: inout [Action]
  ) {
    values[index] = value
    if subscribed.contains(index) { actions.append(.notify(index, value)) }
  }

  /// Lists that found no room are the first the next time.
  private mutating func advanceCycles(now: Instant, into actions: inout [Action]) {
    let indices = cycles.keys.sorted()
    var firstDropped: Int?
    for offset in indices.indices {
      let number = (firstCycle + offset) % indices.count
      let droppedBefore = droppedCount
      advanceCycle(indices[number], now: now, into: &actions)
      if droppedCount > droppedBefore { firstDropped = firstDropped ?? number }
    }
    firstCycle = firstDropped ?? firstCycle
  }

  private mutating func advanceCycle(
    _ index: Index, now: Instant, into actions: inout [Action]
  ) {
    guard let cycle = cycles[index], cycle.time <= now, let interval = file[index].interval else {
      return
    }
    let list = file[index].values
    var next = cycle.next
    if list.count > 1 {
      values[index] = list[next % list.count]
      next = (next + 1) % list.count
    }
    let due = cycle.time + interval
    cycles[index] = (next, due > now ? due : now + interval)
    guard file[index].isNotified, subscribed.contains(index) else { return }
    guard turn.count < Limits.turnCount else {
      droppedCount += 1
      return
    }
    turn.count += 1
    actions.append(.notify(index, values[index] ?? []))
  }

  // MARK: Recorded events

  /// The length of a round: `duration`, or by default one second more than the last event.
  private func length(_ duration: TimeSpan?, last: TimeSpan) -> TimeSpan {
    max(duration ?? last + .seconds(1), PeripheralFile.Limits.shortestInterval)
  }

  private var timelineLength: TimeSpan {
    length(file.duration, last: timeline.last?.time ?? .zero)
  }

  private var nextNotificationTime: Instant? {
    guard let track = timelineTrack, timeline.indices.contains(track.next) else { return nil }
    return track.start + timelineLength * track.round + timeline[track.next].time
  }

  private mutating func playNotifications(now: Instant, into actions: inout [Action]) {
    // At most one round per call, so that a late caller doesn't get all missed notifications.
    for _ in timeline.indices {
      guard turn.count < Limits.turnCount, let time = nextNotificationTime, time <= now,
        var track = timelineTrack
      else { return }
      turn.count += 1
      let event = timeline[track.next]
      notify(event.index, file[event.index].notifications[event.number].value, into: &actions)
      advance(&track, count: timeline.count, length: timelineLength, now: now)
      timelineTrack = track
    }
  }

  private var nextChangeTime: Instant? {
    guard let track = advertisingTrack, let advertising = file.advertising,
      track.next <= advertising.changes.count
    else { return nil }
    let start = track.start + advertisingLength * track.round
    // After the last change the first advertising data follows.
    return start
      + (track.next == 0 ? .zero : advertising.changes[track.next - 1].time)
  }

  private var advertisingLength: TimeSpan {
    length(file.advertising?.duration, last: file.advertising?.changes.last?.time ?? .zero)
  }

  private mutating func playAdvertising(now: Instant, into actions: inout [Action]) {
    guard let advertising = file.advertising, now >= nextAdvertising else { return }
    var latest: Action?
    for _ in 0...advertising.changes.count {
      guard let time = nextChangeTime, time <= now, var track = advertisingTrack else { break }
      if track.next == 0 {
        latest = .advertise(data: advertising.data, scanResponse: advertising.scanResponse)
      } else {
        let change = advertising.changes[track.next - 1]
        latest = .advertise(data: change.data, scanResponse: change.scanResponse)
      }
      advance(
        &track, count: advertising.changes.count + 1, length: advertisingLength, now: now)
      advertisingTrack = track
    }
    guard let latest else { return }
    nextAdvertising = now + Limits.turnTime
    actions.append(latest)
  }

  /// Goes on to the next event, or the next round; rounds that are over entirely are left out.
  private func advance(_ track: inout Track, count: Int, length: TimeSpan, now: Instant) {
    track.next += 1
    guard track.next == count, file.repeats else { return }
    track.next = 0
    let rounds = (now - track.start).nanoseconds / length.nanoseconds
    track.round = max(track.round + 1, rounds)
  }
}

// MARK: - Invariants

extension PeripheralPlayer {
  private func assertInvariants() {
    assert(violations(perTable: 8).isEmpty, violations(perTable: 8).joined(separator: "; "))
  }

  /// How the tables contradict the file or each other; a sentence for each contradiction.
  ///
  /// - Parameter limit: The number of rows of each table that are checked.
  func violations(perTable limit: Int = .max) -> [String] {
    var found = trackViolations()
    if pending.count > Limits.pendingCount { found.append("too many answers are pending") }
    for (one, next) in zip(pending, pending.dropFirst()).prefix(limit) where one.time > next.time {
      found.append("the pending answers are out of order")
    }
    if turn.count < 0 || turn.count > Limits.turnCount {
      found.append("a turn has \(turn.count) notifications")
    }
    if firstCycle != 0, firstCycle >= cycles.count { found.append("no list is the first") }
    for (index, cycle) in cycles.prefix(limit) {
      if file[index].interval == nil { found.append("a value is repeated without an interval") }
      if cycle.next >= max(file[index].values.count, 2) {
        found.append("a list goes on after its end")
      }
    }
    if values.count != characteristicCount { found.append("not all characteristics have a value") }
    return found
  }

  private func trackViolations() -> [String] {
    var found: [String] = []
    if (timelineTrack != nil) == subscribed.isDisjoint(with: recorded) {
      found.append("the recording is played without a subscriber, or not to one")
    }
    if let track = timelineTrack, track.next > timeline.count {
      found.append("the recording is played beyond its end")
    }
    if let track = advertisingTrack, track.next > (file.advertising?.changes.count ?? 0) + 1 {
      found.append("advertising is played beyond its end")
    }
    if timelineTrack != nil, file.repeats, timelineTrack?.next == timeline.count {
      found.append("a repeated recording has stopped")
    }
    return found
  }
}
