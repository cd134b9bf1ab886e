import AppMachines
import BeaconMachines
import BluetoothWire
import Essentials

/// The regions and conditions of one app, which are monitored whether it runs or not.
struct AppRegions: Sendable {
  /// Bytes that an app may keep: 20 conditions need some 8 kB.
  static let keptByteCountMax = 1 << 20

  private(set) var regions = RegionMonitor() { didSet { updateNextWake() } }
  private(set) var conditions = RegionMonitor() { didSet { updateNextWake() } }
  /// When a region may be left; nil while none can be.
  private(set) var nextWake: Instant?
  /// The numbers of regions, by their names.
  private(set) var serials: [AppRegion.Name: UInt64] = [:]
  /// The state of each condition in its last event, which may wait, or was discarded.
  private var reported: [AppRegion.Name: AppRegion.State] = [:]
  /// The state of each condition that a process of the app has got last.
  private var given: [AppRegion.Name: AppRegion.State] = [:]
  private(set) var kept: [UInt8] = []
  /// Whether what outlives a restart may have changed.
  private(set) var isChanged = false
  /// The wishes that the machine of apps knows.
  var knownWants: AppWants = []

  var isEmpty: Bool { serials.isEmpty }

  var wants: AppWants {
    var wants: AppWants = isEmpty ? [] : .regions
    if regions.regions.contains(where: \.notifiesStateOnDisplay) { wants.insert(.regionsOnDisplay) }
    return wants
  }

  private mutating func updateNextWake() {
    nextWake = [regions.nextWake, conditions.nextWake].compactMap(\.self).min()
  }

  /// Whether a beacon belongs to one of the regions.
  func matches(_ identity: BeaconIdentity) -> Bool {
    regions.matches(identity) || conditions.matches(identity)
  }

  // MARK: Requests

  var monitored: [AppRegion] { regions.regions.map { AppRegion($0, .managers) } }

  func state(of name: AppRegion.Name) -> AppRegion.State {
    let state =
      switch name.owner {
      case .managers: regions.state(of: name.identifier)
      case .monitor: conditions.state(of: name.identifier)
      }
    return state.map(AppRegion.State.init) ?? .unknown
  }

  /// - Parameter serial: The number of the region, unless it is monitored already.
  mutating func start(
    _ region: AppRegion, assuming state: AppRegion.State, serial: UInt64, now: Instant
  ) throws(RegionMonitorError) {
    let new = BeaconRegion(region)
    let old: BeaconRegion?
    switch region.name.owner {
    case .managers:
      old = regions.regions.first { $0.identifier == new.identifier }
      try regions.start(new, now: now)
    case .monitor:
      old = nil
      try conditions.start(new, assuming: BeaconRegionState(state), now: now)
      reported[region.name] = state
      given[region.name] = state
    }
    if old?.constraint != new.constraint { serials[region.name] = serial }
    isChanged = true
  }

  mutating func stop(_ name: AppRegion.Name) {
    switch name.owner {
    case .managers: regions.stop(identifier: name.identifier)
    case .monitor: conditions.stop(identifier: name.identifier)
    }
    serials[name] = nil
    reported[name] = nil
    isChanged = true
    given[name] = nil
  }

  /// Returns false for more than may be kept.
  mutating func keep(_ bytes: [UInt8]) -> Bool {
    guard bytes.count <= Self.keptByteCountMax else { return false }
    isChanged = isChanged || kept != bytes
    kept = bytes
    return true
  }

  // MARK: Preserving

  /// Returns whether something has changed since the last call.
  mutating func takeChange() -> Bool {
    defer { isChanged = false }
    return isChanged
  }

  func state(reportedOf condition: String) -> AppRegion.State {
    reported[AppRegion.Name(.monitor, condition)] ?? .unknown
  }

  /// Takes over what was monitored before the system was started again.
  ///
  /// - Parameter states: The state of each condition that the app has heard last.
  mutating func restore(
    _ regions: RegionMonitor, _ conditions: RegionMonitor, _ states: [AppRegion.State]
  ) {
    self.regions = regions
    self.conditions = conditions
    for (condition, state) in zip(conditions.regions, states) {
      reported[AppRegion.Name(.monitor, condition.identifier)] = state
    }
  }

  /// Gives each region a number.
  mutating func number(_ next: () -> UInt64) {
    for region in regions.regions { serials[AppRegion.Name(.managers, region.identifier)] = next() }
    for condition in conditions.regions {
      serials[AppRegion.Name(.monitor, condition.identifier)] = next()
    }
  }

  // MARK: Events

  /// Handles an event of the receiver.
  ///
  /// - Parameter isRunning: Whether the app's code runs: it gets states that are no crossing, too.
  mutating func handle(
    _ event: RegionMonitor.Event, now: Instant, isRunning: Bool
  ) -> [AppRegionEvent] {
    var (actions, states): ([RegionMonitor.Action], [RegionMonitor.Action]) = ([], [])
    regions.handle(event, now: now, into: &actions)
    conditions.handle(event, now: now, into: &states)
    return events(of: actions, states, isRunning: isRunning || event == .displaySwitchedOn)
  }

  mutating func wake(now: Instant, isRunning: Bool) -> [AppRegionEvent] {
    var (actions, states): ([RegionMonitor.Action], [RegionMonitor.Action]) = ([], [])
    regions.wake(now: now, into: &actions)
    conditions.wake(now: now, into: &states)
    return events(of: actions, states, isRunning: isRunning)
  }

  /// A process gets an event.
  mutating func gave(_ event: AppRegionEvent) {
    guard event.name.owner == .monitor, serials[event.name] == event.serial else { return }
    given[event.name] = AppRegion.State(event.change)
  }

  /// Events of the conditions whose states no process has got: their events were discarded, as those of an app
  /// that the person has ended. Call when no event waits for the app.
  mutating func missedEvents() -> [AppRegionEvent] {
    var found: [AppRegionEvent] = []
    for region in conditions.regions {
      let name = AppRegion.Name(.monitor, region.identifier)
      let state = state(of: name)
      guard state != .unknown, given[name] != state else { continue }
      reported[name] = state
      let beacon = state == .inside ? conditions.lastIdentity(of: region.identifier) : nil
      found += event(name, AppRegionEvent.Change(state), beacon)
    }
    return found
  }

  private mutating func events(
    of actions: [RegionMonitor.Action], _ states: [RegionMonitor.Action], isRunning: Bool
  ) -> [AppRegionEvent] {
    if !actions.isEmpty || !states.isEmpty { isChanged = true }
    var found: [AppRegionEvent] = []
    var crossed: Set<String> = []
    for action in actions {
      switch action {
      case .entered(let identifier, let beacon):
        crossed.insert(identifier)
        found += event(AppRegion.Name(.managers, identifier), .entered, beacon)
      case .exited(let identifier):
        crossed.insert(identifier)
        found += event(AppRegion.Name(.managers, identifier), .exited)
      case .determined(let identifier, let state):
        guard isRunning || crossed.contains(identifier) else { break }
        found += event(AppRegion.Name(.managers, identifier), AppRegionEvent.Change(state))
      }
    }
    for case .determined(let identifier, let state) in states {
      let name = AppRegion.Name(.monitor, identifier)
      let new = AppRegion.State(state)
      // The radio's absence is no event for an app that doesn't run.
      guard reported[name] != new, isRunning || new != .unknown else { continue }
      reported[name] = new
      let beacon = state == .inside ? conditions.lastIdentity(of: identifier) : nil
      found += event(name, AppRegionEvent.Change(state), beacon)
    }
    return found
  }

  private func event(
    _ name: AppRegion.Name, _ change: AppRegionEvent.Change, _ beacon: BeaconIdentity? = nil
  ) -> [AppRegionEvent] {
    guard let serial = serials[name] else { return [] }
    var event = AppRegionEvent(name, change, serial: serial)
    (event.major, event.minor) = (beacon?.major, beacon?.minor)
    return [event]
  }

  // MARK: Invariants

  func violations() -> [String] {
    var found = regions.violations() + conditions.violations()
    let names =
      regions.regions.map { AppRegion.Name(.managers, $0.identifier) }
      + conditions.regions.map { AppRegion.Name(.monitor, $0.identifier) }
    if Set(names) != Set(serials.keys) { found.append("a region has no number") }
    if kept.count > Self.keptByteCountMax { found.append("an app keeps too much") }
    return found
  }
}

// MARK: Values of both machines

extension BeaconRegion {
  init(_ region: AppRegion) {
    let uuid = BluetoothUUID(high: region.uuidHigh, low: region.uuidLow)
    let constraint =
      switch (region.major, region.minor) {
      case (let major?, let minor?): BeaconConstraint(uuid: uuid, major: major, minor: minor)
      case (let major?, nil): BeaconConstraint(uuid: uuid, major: major)
      case (nil, _): BeaconConstraint(uuid: uuid)
      }
    self.init(
      identifier: region.name.identifier, constraint: constraint,
      notifiesOnEntry: region.notifiesOnEntry, notifiesOnExit: region.notifiesOnExit,
      notifiesStateOnDisplay: region.notifiesStateOnDisplay)
  }
}

extension AppRegion {
  init(_ region: BeaconRegion, _ owner: Name.Owner) {
    self.init(
      Name(owner, region.identifier), uuidHigh: region.constraint.uuid.high,
      uuidLow: region.constraint.uuid.low, major: region.constraint.major,
      minor: region.constraint.minor)
    notifiesOnEntry = region.notifiesOnEntry
    notifiesOnExit = region.notifiesOnExit
    notifiesStateOnDisplay = region.notifiesStateOnDisplay
  }
}

extension AppRegion.State {
  init(_ state: BeaconRegionState) {
    switch state {
    case .unknown: self = .unknown
    case .inside: self = .inside
    case .outside: self = .outside
    }
  }
}

extension BeaconRegionState {
  init(_ state: AppRegion.State) {
    switch state {
    case .unknown: self = .unknown
    case .inside: self = .inside
    case .outside: self = .outside
    }
  }
}

extension AppRegion.State {
  fileprivate init(_ change: AppRegionEvent.Change) {
    switch change {
    case .entered, .inside: self = .inside
    case .exited, .outside: self = .outside
    case .unknown: self = .unknown
    }
  }
}

extension AppRegionEvent.Change {
  fileprivate init(_ state: AppRegion.State) {
    switch state {
    case .unknown: self = .unknown
    case .inside: self = .inside
    case .outside: self = .outside
    }
  }

  init(_ state: BeaconRegionState) {
    switch state {
    case .unknown: self = .unknown
    case .inside: self = .inside
    case .outside: self = .outside
    }
  }
}
