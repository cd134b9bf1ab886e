package import Essentials

/// Detects when the receiver enters and leaves the beacon regions of an app. Reports of entering
/// and leaving a region alternate strictly.
///
/// A region is entered with the first sighting of one of its beacons and left when none was sighted
/// for the exit delay, which is longer for beacons that are heard rarely. This delay counts only time
/// in which the receiver scanned and this machine was called on time: while the radio is off the state
/// is unknown, and after a stall, of which one second counts, the waiting packets are handled first. Entering again after that is not reported, because leaving was not
/// reported either.
package struct RegionMonitor: Machine, Sendable {
  /// Limits and times.
  package struct Settings: Hashable, Sendable {
    /// The time without a sighting after which a region is left. Apple's is about 30 s, as
    /// observed.
    package var exitDelay = TimeSpan.seconds(30)
    /// The number of a beacon's mean intervals that the delay lasts if that is longer. Intervals of 4 s
    /// and more make a difference. If sightings are independent, one silence in 3,000 is longer.
    package var exitDelayInIntervals: Int64 = 8
    /// The longest delay that follows from intervals: twice that of the longest advertising interval
    /// of 10.24 s (Core 5.4, Vol 6, Part B, §4.4.2.2.1), of which a receiver may miss half.
    package var exitDelayMax = TimeSpan.seconds(164)
    /// How long the death of the receiver may go unnoticed, from its last sign of life to
    /// `scanning(false)`. Silence in that time may be the receiver's: a region is left only if the
    /// receiver was alive after the last sighting for this long, or for the exit delay if that is
    /// shorter, and until this long before the end of the delay. By default it is noticed at once.
    package var receiverFailureTimeMax = TimeSpan.zero
    /// The maximum number of regions. Apple's number (Region Monitoring and iBeacon).
    package var regionsMax = 20
    /// The maximum length of a region's name, in bytes of UTF-8.
    package var identifierByteCountMax = 1024

    /// The exit delay of a beacon that is heard at this mean interval.
    func exitDelay(ofInterval interval: TimeSpan) -> TimeSpan {
      max(exitDelay, min(interval * exitDelayInIntervals, exitDelayMax))
    }

    /// Creates the settings of Apple's systems.
    package init() {}
  }

  /// An event that a host passes to the machine.
  package enum Event: Hashable, Sendable {
    /// The receiver has started or stopped scanning, for example because the radio was switched on
    /// or off.
    case scanning(Bool)
    /// A beacon's advertisement was received.
    case sighted(BeaconSighting)
    /// Something that is no beacon was received, which shows that the receiver is alive.
    case received
    /// The display was switched on.
    case displaySwitchedOn
    /// A client requests the state of the region of this name. Ignored if it isn't monitored.
    case stateRequested(identifier: String)
  }

  /// A report that a host passes to the client, in this order.
  package enum Action: Hashable, Sendable {
    /// The region was entered, because this beacon was received.
    case entered(identifier: String, BeaconIdentity)
    /// The region was left.
    case exited(identifier: String)
    /// The state changed, after `entered` or `exited`, or it was requested.
    case determined(identifier: String, BeaconRegionState)
  }

  /// Counters since the machine was created.
  package struct Counters: Hashable, Sendable {
    /// Sightings that were handled while scanning.
    package var sightings = 0
    /// Sightings that matched a region.
    package var matches = 0
    /// Calls that were so late that the preceding time was not counted as silence.
    package var stalls = 0
  }

  struct Monitored: Sendable {
    var region: BeaconRegion
    var state = BeaconRegionState.unknown
    /// Whether an enter, reported or not, was the last crossing.
    var isEntered = false
    /// When one of its beacons was heard, or waiting for one began; served time.
    var lastHeard: Instant
    /// When it is left unless one of its beacons is heard; served time.
    var leavesAt: Instant
    /// The beacon that was heard last.
    var lastIdentity: BeaconIdentity?
  }

  let settings: Settings
  var monitored: [Monitored] = []
  var clock = StallAwareClock()
  var intervals = BeaconIntervals()
  private(set) var isScanning = false
  /// When something was received last, or scanning began; served time.
  private var lastSign = Instant.zero
  private var counted = Counters()

  /// Creates a monitor without regions, with a receiver that doesn't scan.
  package init(settings: Settings = Settings()) {
    precondition(
      (0...0xFFFF).contains(settings.regionsMax)
        && (0...0xFFFF).contains(settings.identifierByteCountMax),
      "snapshots have 16 bits for numbers")
    self.settings = settings
  }

  /// The regions, in the order in which they were added.
  package var regions: [BeaconRegion] { monitored.map(\.region) }

  /// The regions of which an enter, reported or not, was the last crossing.
  package var enteredRegions: [BeaconRegion] { monitored.filter(\.isEntered).map(\.region) }

  /// The state of the region of this name; nil if it isn't monitored.
  package func state(of identifier: String) -> BeaconRegionState? {
    monitored.first { $0.region.identifier == identifier }?.state
  }

  /// The identity of the region's beacon that was sighted last; nil if none was sighted.
  package func lastIdentity(of identifier: String) -> BeaconIdentity? {
    monitored.first { $0.region.identifier == identifier }?.lastIdentity
  }

  /// Whether a beacon belongs to a region.
  package func matches(_ identity: BeaconIdentity) -> Bool {
    monitored.contains { $0.region.constraint.matches(identity) }
  }

  /// The counters of this machine.
  package var counters: Counters {
    var counters = counted
    counters.stalls = clock.stallCount
    return counters
  }

  // MARK: Regions

  /// Starts monitoring a region. It replaces one with the same name, and keeps that one's state if
  /// it has the same constraint.
  ///
  /// - Parameter assumed: The state that the client assumes. If it is `inside`, the next reported
  ///   crossing is an exit.
  package mutating func start(
    _ region: BeaconRegion, assuming assumed: BeaconRegionState = .unknown, now: Instant
  ) throws(RegionMonitorError) {
    let byteCount = region.identifier.utf8.count
    guard byteCount <= settings.identifierByteCountMax else {
      throw .identifierTooLong(byteCount: byteCount, max: settings.identifierByteCountMax)
    }
    advance(to: now)
    defer { assertInvariants() }
    if let index = monitored.firstIndex(where: { $0.region.identifier == region.identifier }) {
      if monitored[index].region.constraint == region.constraint, assumed == .unknown {
        monitored[index].region = region
      } else {
        monitored[index] = begin(region, assumed)
      }
      return
    }
    guard monitored.count < settings.regionsMax else {
      throw .tooManyRegions(max: settings.regionsMax)
    }
    monitored.append(begin(region, assumed))
  }

  private func begin(_ region: BeaconRegion, _ assumed: BeaconRegionState) -> Monitored {
    Monitored(
      region: region, state: isScanning ? assumed : .unknown, isEntered: assumed == .inside,
      lastHeard: clock.now, leavesAt: clock.now + settings.exitDelay)
  }

  /// Stops monitoring the region with this name. Returns false if it was not monitored.
  @discardableResult
  package mutating func stop(identifier: String) -> Bool {
    guard let index = monitored.firstIndex(where: { $0.region.identifier == identifier }) else {
      return false
    }
    monitored.remove(at: index)
    let monitored = monitored
    intervals.keep { identity in
      monitored.contains { $0.region.constraint.matches(identity) }
    }
    return true
  }

  // MARK: Events

  /// Handles an event; appends actions for the client.
  package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    defer { assertInvariants() }
    advance(to: now)
    switch event {
    case .scanning(let isScanning): setScanning(isScanning, into: &actions)
    case .sighted(let sighting): sighted(sighting, into: &actions)
    case .received: lastSign = clock.now
    case .displaySwitchedOn:
      for entry in monitored where entry.region.notifiesStateOnDisplay && entry.state == .inside {
        actions.append(.determined(identifier: entry.region.identifier, .inside))
      }
    case .stateRequested(let identifier):
      if let state = state(of: identifier) {
        actions.append(.determined(identifier: identifier, state))
      }
    }
  }

  /// The time to call `wake`; nil if no region can time out.
  ///
  /// While a region can time out, this is at most a second away, so that the machine notices
  /// stalls.
  package var nextWake: Instant? {
    guard isScanning else { return nil }
    let earliest = monitored.lazy.filter { $0.state != .outside }.map { leaveTime(of: $0) }.min()
    return earliest.map { clock.wake(for: $0) }
  }

  /// Leaves the regions without a sighting during the exit delay; appends actions for the client.
  package mutating func wake(now: Instant, into actions: inout [Action]) {
    advance(to: now)
    guard isScanning, clock.isSettled else { return }
    for index in monitored.indices where monitored[index].state != .outside {
      guard clock.now >= leaveTime(of: monitored[index]) else { continue }
      leave(index, into: &actions)
    }
    assertInvariants()
  }

  /// When a region is left unless something is received; served time.
  private func leaveTime(of entry: Monitored) -> Instant {
    let (delay, unnoticed) = (entry.leavesAt - entry.lastHeard, settings.receiverFailureTimeMax)
    let aliveUntil = entry.lastHeard + max(min(delay, unnoticed), delay + unnoticed * -1)
    // A receiver that had died by then would have been noticed `unnoticed` later.
    return lastSign >= aliveUntil ? entry.leavesAt : max(entry.leavesAt, aliveUntil + unnoticed)
  }

  /// A machine that waited for nothing was not called, and that is no stall.
  private mutating func advance(to now: Instant) {
    if nextWake == nil { clock.restart(at: now) } else { clock.advance(to: now) }
  }

  private mutating func setScanning(_ isScanning: Bool, into actions: inout [Action]) {
    guard isScanning != self.isScanning else { return }
    self.isScanning = isScanning
    lastSign = clock.now
    if !isScanning { intervals.pause() }
    for index in monitored.indices {
      monitored[index].lastHeard = clock.now
      monitored[index].leavesAt = clock.now + settings.exitDelay
      if !isScanning { determine(index, .unknown, into: &actions) }
    }
  }

  private mutating func sighted(_ sighting: BeaconSighting, into actions: inout [Action]) {
    guard isScanning else { return }
    lastSign = clock.now
    counted.sightings += 1
    guard matches(sighting.identity) else { return }
    counted.matches += 1
    let leavesAt = clock.now + exitDelay(after: sighting.identity)
    for index in monitored.indices
    where monitored[index].region.constraint.matches(sighting.identity) {
      monitored[index].lastHeard = clock.now
      // Another beacon of the region may have been heard that is heard less often.
      monitored[index].leavesAt = max(monitored[index].leavesAt, leavesAt)
      monitored[index].lastIdentity = sighting.identity
      enter(index, sighting.identity, into: &actions)
    }
  }

  /// The exit delay from a sighting of a beacon on.
  private mutating func exitDelay(after identity: BeaconIdentity) -> TimeSpan {
    let settings = settings
    // The first interval may be as long as the longest that is provided for.
    let interval = intervals.heard(
      identity, at: clock.now, absenceMax: settings.exitDelayMax
    ) { mean in
      mean.map { settings.exitDelay(ofInterval: $0) } ?? settings.exitDelayMax
    }
    return interval.map { settings.exitDelay(ofInterval: $0) } ?? settings.exitDelay
  }

  private mutating func enter(
    _ index: Int, _ identity: BeaconIdentity, into actions: inout [Action]
  ) {
    guard monitored[index].state != .inside else { return }
    let region = monitored[index].region
    if !monitored[index].isEntered, region.notifiesOnEntry {
      actions.append(.entered(identifier: region.identifier, identity))
    }
    monitored[index].isEntered = true
    determine(index, .inside, into: &actions)
  }

  private mutating func leave(_ index: Int, into actions: inout [Action]) {
    let region = monitored[index].region
    if monitored[index].isEntered, region.notifiesOnExit {
      actions.append(.exited(identifier: region.identifier))
    }
    monitored[index].isEntered = false
    determine(index, .outside, into: &actions)
  }

  private mutating func determine(
    _ index: Int, _ state: BeaconRegionState, into actions: inout [Action]
  ) {
    guard monitored[index].state != state else { return }
    monitored[index].state = state
    actions.append(.determined(identifier: monitored[index].region.identifier, state))
  }
}
