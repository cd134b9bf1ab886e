package import BluetoothWire
package import Essentials

/// Reports once a second, for each constraint of an app, the beacons in range and their distances.
///
/// A beacon that changes its address is one beacon: the track with the new address replaces the one
/// that was silent longest and is about as loud, which is hidden while it stays silent. Two beacons with the same
/// identity that advertise at the same time are reported separately.
package struct RangingMachine: Machine, Sendable {
  /// Limits and times.
  package struct Settings: Hashable, Sendable {
    /// The time between two reports.
    package var reportInterval = TimeSpan.seconds(1)
    /// The silence after which a beacon's proximity is unknown. Apple: within 2 s.
    package var unknownDelay = TimeSpan.seconds(2)
    /// The silence after which a beacon is no longer reported. Apple: within 10 s.
    package var goneDelay = TimeSpan.seconds(10)
    /// The maximum number of tracked beacons, each with an address; about 300 bytes each. Beyond it
    /// a beacon that is heard repeatedly takes the place of one that was heard once, and a louder one
    /// that of a weaker one.
    package var tracksMax = 8192
    /// The maximum number of tracked beacons with the same identity, at least one. Beyond it as
    /// with `tracksMax`.
    package var sameIdentityMax = 16
    /// The maximum number of constraints.
    package var constraintsMax = 256
    /// The model for estimating distances from levels.
    package var distanceModel = DistanceModel()

    /// Creates the settings of Apple's systems, as far as they are known.
    package init() {}
  }

  /// An event that a host passes to the machine.
  package enum Event: Hashable, Sendable {
    /// The receiver has started or stopped scanning.
    case scanning(Bool)
    /// A beacon's advertisement was received.
    case sighted(BeaconSighting)
  }

  /// A report that a host passes to the client.
  package enum Action: Hashable, Sendable {
    /// The beacons in range that satisfy the constraint, the nearest first and those with unknown
    /// proximity last. When scanning stops, an empty list is reported at once.
    case ranged(BeaconConstraint, [RangedBeacon])
  }

  /// The reason why a constraint is not ranged.
  package enum Failure: Error, Hashable, Sendable {
    /// The limit of ranged constraints is reached.
    case tooManyConstraints(max: Int)
  }

  /// Counters since the machine was created.
  package struct Counters: Hashable, Sendable {
    /// Sightings that belonged to a constraint.
    package var matches = 0
    /// Matches without a signal strength that can be. They change no level.
    package var unmeasured = 0
    /// Matches of beacons that exceeded a limit, which were dropped.
    package var untracked = 0
    /// Tracks that were ended to make room for others.
    package var displaced = 0
    /// Calls that were so late that the preceding time was not counted as silence.
    package var stalls = 0
  }

  let settings: Settings
  var ranged: [BeaconConstraint] = []
  var table: BeaconTrackTable
  var clock = StallAwareClock()
  var isScanning = false
  private var nextReport = Instant.zero
  var counted = Counters()
  /// What found no room in the table.
  private var memory = SightingMemory<TrackKey>(capacity: memoryMax)

  private struct TrackKey: Hashable {
    var identity: BeaconIdentity
    var address: DeviceAddress
  }

  /// In a flood of 400 made-up addresses a second, one that is heard every five seconds is remembered;
  /// about 100 bytes each.
  private static var memoryMax: Int { 4096 }

  /// Creates a machine without constraints, with a receiver that doesn't scan.
  package init(settings: Settings = Settings()) {
    precondition(settings.reportInterval > .zero, "reports need time between them")
    self.settings = settings
    table = BeaconTrackTable(
      capacity: settings.tracksMax, sameIdentityMax: settings.sameIdentityMax)
  }

  /// The ranged constraints, in the order in which they were added.
  package var constraints: [BeaconConstraint] { ranged }

  /// The number of tracked beacons, including hidden ones.
  package var trackCount: Int { table.count }

  /// The counters of this machine.
  package var counters: Counters {
    var counters = counted
    counters.stalls = clock.stallCount
    return counters
  }

  // MARK: Constraints

  /// Starts ranging a constraint. Does nothing if it is ranged already.
  package mutating func start(_ constraint: BeaconConstraint, now: Instant) throws(Failure) {
    guard !ranged.contains(constraint) else { return }
    guard ranged.count < settings.constraintsMax else {
      throw .tooManyConstraints(max: settings.constraintsMax)
    }
    advance(to: now)
    if ranged.isEmpty { nextReport = now + settings.reportInterval }
    ranged.append(constraint)
    assertInvariants()
  }

  /// Stops ranging a constraint. Returns false if it was not ranged.
  @discardableResult
  package mutating func stop(_ constraint: BeaconConstraint) -> Bool {
    guard let index = ranged.firstIndex(of: constraint) else { return false }
    ranged.remove(at: index)
    for slot in table.indices {
      if let track = table[slot], !isRanged(track.identity) { table.remove(slot) }
    }
    assertInvariants()
    return true
  }

  /// The highest level in dBm of the beacons in range of each UUID that has any.
  package var highestLevels: [BluetoothUUID: Double] {
    var highest: [BluetoothUUID: Double] = [:]
    for slot in table.indices {
      guard let track = table[slot], clock.now - track.lastHeard < settings.unknownDelay,
        let level = track.filter.level
      else { continue }
      highest[track.identity.uuid] = max(level, highest[track.identity.uuid] ?? level)
    }
    return highest
  }

  func isRanged(_ identity: BeaconIdentity) -> Bool {
    ranged.contains { $0.matches(identity) }
  }

  // MARK: Events

  /// Handles an event; appends actions for the client.
  package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    defer { assertInvariants() }
    advance(to: now)
    switch event {
    case .scanning(let isScanning):
      guard isScanning != self.isScanning else { return }
      self.isScanning = isScanning
      nextReport = now + settings.reportInterval
      if !isScanning {
        for slot in table.indices where table[slot] != nil { table.remove(slot) }
        memory.removeAll()
        actions += ranged.map { .ranged($0, []) }
      }
    case .sighted(let sighting):
      if isScanning { sighted(sighting, now) }
    }
  }

  /// The time to call `wake`; nil if no constraint is ranged.
  package var nextWake: Instant? {
    guard isScanning, !ranged.isEmpty else { return nil }
    return min(nextReport, clock.nextHeartbeat)
  }

  /// Appends reports if they are due. After a stall there is one report, not one for each missed
  /// interval.
  package mutating func wake(now: Instant, into actions: inout [Action]) {
    advance(to: now)
    guard isScanning, !ranged.isEmpty, now >= nextReport else { return }
    let missed = (now - nextReport).nanoseconds / settings.reportInterval.nanoseconds
    nextReport = nextReport + settings.reportInterval * (missed + 1)
    report(now, into: &actions)
    assertInvariants()
  }

  /// A machine that waited for nothing was not called, and that is no stall.
  private mutating func advance(to now: Instant) {
    if nextWake == nil { clock.restart(at: now) } else { clock.advance(to: now) }
  }

  // MARK: Sightings

  private mutating func sighted(_ sighting: BeaconSighting, _ now: Instant) {
    var slot = table.slot(sighting.identity, sighting.address)
    guard slot != nil || isRanged(sighting.identity) else { return }
    counted.matches += 1
    let rssi = sighting.measuredRSSI
    if rssi == nil { counted.unmeasured += 1 }
    if let known = slot {
      if table[known]?.successor != nil { separate(known, now) }
      let served = clock.now
      table.update(known) { $0.history.heard(at: served) }
    } else {
      slot = begin(sighting, rssi, now)
    }
    guard let slot else {
      counted.untracked += 1
      return
    }
    let served = clock.now
    table.update(slot) { track in
      track.sightingCount += 1
      track.lastHeard = served
      track.heardAt = now
      guard let rssi else { return }
      track.powerAtOneMetre = sighting.measuredPower
      track.filter.add(rssi: rssi, now: now)
      track.sum += Int(rssi)
      track.count += 1
      track.lastMeasured = served
    }
  }

  /// A track for an address that is new; it takes over from the one that was silent longest.
  private mutating func begin(
    _ sighting: BeaconSighting, _ rssi: Int8?, _ now: Instant
  ) -> Int? {
    let key = TrackKey(identity: sighting.identity, address: sighting.address)
    let history = memory.history(of: key, heardAt: clock.now)
    let track = BeaconTrackTable.Track(
      identity: sighting.identity, address: sighting.address, history: history,
      firstHeard: history.first, lastHeard: clock.now, heardAt: now)
    let level = rssi.map { Double($0) }
    if let candidates = table.candidates(for: track.identity) {
      let newcomer = Standing(isSteady: history.isSteady, level: level)
      guard let displaced = slotToDisplace(candidates, newcomer) else {
        memory.keep(history, of: key)
        return nil
      }
      remember(displaced)
      table.displace(displaced)
      counted.displaced += 1
    }
    guard let slot = table.insert(track) else { return nil }
    memory.forget(key)
    takeOver(slot, level: level)
    guard let predecessor = table[slot]?.predecessor, let old = table[predecessor] else {
      return slot
    }
    table.update(slot) { track in
      track.filter = old.filter
      track.proximity = old.proximity
      track.lastMeasured = old.lastMeasured
      track.history = SightingHistory(
        count: old.history.count + history.count, first: min(old.history.first, history.first),
        last: history.last)
    }
    return slot
  }

  /// Keeps the history of a track that ends, unless it goes on under another address: a beacon that was
  /// heard repeatedly is on its way to be steady.
  private mutating func remember(_ slot: Int) {
    guard let track = table[slot], track.successor == nil, track.history.count > 1 else { return }
    memory.keep(track.history, of: TrackKey(identity: track.identity, address: track.address))
  }

  /// The track that ends to make room for a newcomer; nil if all are worth more: first one that goes
  /// on under another address, of these the one that was heard least often.
  private func slotToDisplace(_ slots: [Int], _ newcomer: Standing) -> Int? {
    var replaced: (slot: Int, count: Int)?
    var places: [(id: Int, standing: Standing)] = []
    for slot in slots {
      guard let track = table[slot] else { continue }
      if track.successor == nil {
        places.append((slot, standing(of: track)))
      } else if replaced.map({ track.sightingCount < $0.count }) ?? true {
        replaced = (slot, track.sightingCount)
      }
    }
    return replaced?.slot ?? Standing.displaced(among: places, by: newcomer)
  }

  private func standing(of track: BeaconTrackTable.Track) -> Standing {
    Standing(
      isSteady: track.history.isSteady,
      isSilent: clock.now - track.lastHeard >= settings.unknownDelay, level: track.filter.level)
  }

  /// How far a measurement and the level of the track before it may differ, in dB: fading makes single
  /// packets so weak. Farther apart are two beacons.
  private static var takeOverDecibels: Double { 15 }

  /// Looks for the track of the same beacon under another address: one that was not heard since this one
  /// began, is silent for about its interval, is about as loud, and has no successor.
  private mutating func takeOver(_ slot: Int, level: Double?, except known: Int? = nil) {
    guard let new = table[slot] else { return }
    var best: (slot: Int, lastHeard: Instant)?
    for other in table.slots(of: new.identity) where other != slot && other != known {
      guard let track = table[other], track.successor == nil, track.heardAt <= new.heardAt,
        track.lastHeard <= new.firstHeard, !table.isPredecessor(slot, of: other),
        isAlike(level, track.filter.level), !isExpected(track, at: new.firstHeard)
      else { continue }
      if best.map({ track.lastHeard < $0.lastHeard }) ?? true { best = (other, track.lastHeard) }
    }
    guard let best else { return }
    assert(new.predecessor == nil, "slot \(slot) takes over from two tracks")
    table.update(slot) { $0.predecessor = best.slot }
    table.update(best.slot) { $0.successor = slot }
  }

  private func isAlike(_ level: Double?, _ other: Double?) -> Bool {
    guard let level, let other else { return level == nil && other == nil }
    return abs(level - other) <= Self.takeOverDecibels
  }

  /// Whether a steady beacon is silent for much less than its interval, so that a packet from another
  /// address is not its next one. The mean grows with each packet that is missed, so it is divided by 8.
  private func isExpected(_ track: BeaconTrackTable.Track, at instant: Instant) -> Bool {
    track.history.isSteady && (instant - track.lastHeard) * 8 < track.history.meanInterval
  }

  /// A track is heard that seemed to go on under another address: they are two beacons.
  private mutating func separate(_ slot: Int, _ now: Instant) {
    guard let successor = table[slot]?.successor else { return }
    table.update(slot) { $0.successor = nil }
    table.update(successor) { track in
      track.predecessor = nil
      track.history = SightingHistory(
        count: max(1, track.sightingCount), first: track.firstHeard, last: track.lastHeard)
      guard track.count > 0 else { return }
      let mean = Double(track.sum) / Double(track.count)
      track.filter = LinkFilter(level: mean, count: track.count, now: now)
      track.proximity = .unknown
    }
    takeOver(successor, level: table[successor]?.filter.level, except: slot)
  }

  // MARK: Reports

  private mutating func report(_ now: Instant, into actions: inout [Action]) {
    var beacons: [RangedBeacon] = []
    beacons.reserveCapacity(table.count)
    for slot in table.indices {
      guard let track = table[slot] else { continue }
      // Packets that waited during a stall may still come.
      let silence = clock.isSettled ? clock.now - track.lastHeard : .zero
      if silence >= settings.goneDelay {
        table.remove(slot)
      } else if track.successor == nil {
        // One whose strength is not measured any more is as unknown as a silent one.
        let isUnknown = track.lastMeasured.map { measured in
          clock.isSettled && clock.now - measured >= settings.unknownDelay
        }
        beacons.append(beacon(slot, isUnknown: isUnknown ?? true, now))
      }
    }
    beacons.sort(by: RangedBeacon.isBefore)
    for constraint in ranged {
      actions.append(.ranged(constraint, beacons.filter { constraint.matches($0.identity) }))
    }
  }

  /// Makes the report of a track, and clears its measurements.
  private mutating func beacon(_ slot: Int, isUnknown: Bool, _ now: Instant) -> RangedBeacon {
    let model = settings.distanceModel
    return table.update(slot) { track in
      let level = track.filter.level ?? 0
      var distance: DistanceEstimate?
      if !isUnknown, let power = track.powerAtOneMetre {
        distance = model.distance(
          level: level, levelVariance: track.filter.variance(at: now), powerAtOneMetre: power)
      }
      track.proximity = distance.map { track.proximity.next(metres: $0.metres) } ?? .unknown
      let mean = track.count > 0 ? (Double(track.sum) / Double(track.count)).rounded() : 0
      track.sum = 0
      track.count = 0
      return RangedBeacon(
        identity: track.identity, address: track.address, proximity: track.proximity,
        distance: distance, rssi: Int(mean), level: level, heardAt: track.heardAt)
    }
  }
}
