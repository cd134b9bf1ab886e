package import AppMachines
import BeaconMachines
import BluetoothInterface
package import Essentials
import HubMachines
import HubWire

// The regions of apps: one scan of the system's own serves all of them, whether the apps run or not.

extension AppHubMachine {
  /// The system's session with the host, for its scan.
  static let regionKey = HubSessionKey(
    HubConnectionID(rawValue: 0), HubSessionID(rawValue: 1))

  /// The system's scan for beacons.
  struct RegionScan: Sendable {
    /// Whether the session is open.
    var isOpen = false
    var isPoweredOn = false
    /// The last number of a region.
    var lastSerial: UInt64 = 0

    var isScanning: Bool { isOpen && isPoweredOn }

    mutating func nextSerial() -> UInt64 {
      lastSerial += 1
      return lastSerial
    }
  }

  /// Answers a request of a process of an app about its regions.
  package mutating func answer(
    _ request: AppRegionRequest, of app: AppID, now: Instant, into actions: inout [Action]
  ) -> AppRegionReply {
    guard life.state(of: app) != nil else { return .refused(.unavailable) }
    let reply = answer(request, of: app, now: now)
    finish(now: now, into: &actions)
    return reply
  }

  private mutating func answer(
    _ request: AppRegionRequest, of app: AppID, now: Instant
  ) -> AppRegionReply {
    switch request {
    case .read:
      return .monitored(regions[app]?.monitored ?? [], kept: regions[app]?.kept ?? [])
    case .state(let name): return .state(regions[app]?.state(of: name) ?? .unknown)
    case .start(let region, let state): return start(region, assuming: state, of: app, now)
    case .stop(let name):
      regions[app]?.stop(name)
      updateRegions(of: app, now: now)
    case .keep(let bytes):
      guard regions[app, default: AppRegions()].keep(bytes) else {
        return .refused(.tooLongToKeep(max: AppRegions.keptByteCountMax))
      }
      noteRegionChange(of: app)
    }
    return .done
  }

  private mutating func start(
    _ region: AppRegion, assuming state: AppRegion.State, of app: AppID, _ now: Instant
  ) -> AppRegionReply {
    var table = regions[app] ?? AppRegions()
    // One without regions hears of no change of the scan.
    if table.isEmpty {
      _ = table.handle(.scanning(regionScan.isScanning), now: now, isRunning: false)
    }
    let serial = regionScan.nextSerial()
    do throws(RegionMonitorError) {
      try table.start(region, assuming: state, serial: serial, now: now)
    } catch {
      switch error {
      case .tooManyRegions(let max): return .refused(.tooManyRegions(max: max))
      case .identifierTooLong(_, let max): return .refused(.identifierTooLong(max: max))
      }
    }
    regions[app] = table
    updateRegions(of: app, now: now)
    return .done
  }

  /// The regions of an app have changed.
  private mutating func updateRegions(of app: AppID, now: Instant) {
    noteRegionChange(of: app)
    if let table = regions[app], table.wants != table.knownWants {
      regions[app]?.knownWants = table.wants
      report(.wants(app, .location, table.wants), now: now)
    }
    updateRegionScan(now: now)
  }

  /// The app was removed.
  mutating func forgetRegions(of app: AppID, now: Instant) {
    if regions.removeValue(forKey: app) != nil { preservedChangeCount += 1 }
    updateRegionScan(now: now)
  }

  private mutating func noteRegionChange(of app: AppID) {
    if regions[app]?.takeChange() ?? false { preservedChangeCount += 1 }
  }

  mutating func updateRegionScan(now: Instant) {
    let isWanted = regions.values.contains { !$0.isEmpty }
    guard isWanted != regionScan.isOpen else { return }
    regionScan.isOpen = isWanted
    regionScan.isPoweredOn = false
    if isWanted {
      let identity = SessionIdentity(userID: 0, app: "", manager: SessionName.location)
      outputs.append(.openSession(Self.regionKey, identity))
      outputs.append(.send(Self.regionKey, .startScan(.beaconsOfApps)))
    } else {
      outputs.append(.closeSession(Self.regionKey))
      setRegionScanning(false, now: now)
    }
  }

  /// How many regions and conditions are monitored for an app.
  package func regionCount(of app: AppID) -> Int { regions[app]?.serials.count ?? 0 }

  // MARK: Events

  /// The host has delivered events of the system's session.
  mutating func arrivedForRegions(_ events: [HostEvent], now: Instant) {
    let count = events.count(where: \.isAcknowledged)
    if count > 0 { outputs.append(.acknowledge(Self.regionKey, count: count)) }
    guard regionScan.isOpen else { return }
    for event in events {
      switch event {
      case .stateChanged(let state):
        regionScan.isPoweredOn = state == .poweredOn
        setRegionScanning(regionScan.isScanning, now: now)
      case .discovered(let report): heard(report, now: now)
      default: break
      }
    }
  }

  private mutating func heard(_ report: AdvertisingReport, now: Instant) {
    guard regionScan.isScanning else { return }
    var reader = BeaconReader()
    guard
      let sighting = reader.sighting(
        in: report.data[...], from: report.address, rssi: report.rssi)
    else { return }
    let time = min(report.heardAt, now)
    forEachRegionTable(where: { $0.matches(sighting.identity) }, now: now) { table, isRunning in
      table.handle(.sighted(sighting), now: time, isRunning: isRunning)
    }
  }

  private mutating func setRegionScanning(_ isScanning: Bool, now: Instant) {
    forEachRegionTable(now: now) { table, isRunning in
      table.handle(.scanning(isScanning), now: now, isRunning: isRunning)
    }
  }

  /// The time of a region may have come.
  mutating func wakeRegions(now: Instant) {
    guard let next = nextRegionWake, next <= now else { return }
    // Tables that are due soon are woken, too, so that all of them have one time.
    let soon = now + Self.wakesTogether
    forEachRegionTable(where: { $0.nextWake.map { $0 <= soon } ?? false }, now: now) {
      table, isRunning in table.wake(now: now, isRunning: isRunning)
    }
  }

  /// A table with a region that can be left is woken each second.
  private static let wakesTogether = TimeSpan.milliseconds(900)

  /// The display was switched on.
  mutating func reportRegionStates(of app: AppID, now: Instant) {
    let events = regions[app]?.handle(.displaySwitchedOn, now: now, isRunning: true) ?? []
    arrived(events, for: app, now: now)
  }

  /// A process gets the states of conditions whose events were discarded before it ran.
  mutating func giveMissedRegionEvents(now: Instant) {
    for app in regionsOpened.sorted() where life.waitingCount(of: app) == 0 {
      regionsOpened.remove(app)
      arrived(regions[app]?.missedEvents() ?? [], for: app, now: now)
    }
  }

  private mutating func forEachRegionTable(
    where isConcerned: (AppRegions) -> Bool = { _ in true }, now: Instant,
    _ body: (inout AppRegions, _ isRunning: Bool) -> [AppRegionEvent]
  ) {
    var found: [(app: AppID, events: [AppRegionEvent])] = []
    // In place: most tables have nothing to report each second.
    var index = regions.startIndex
    while index != regions.endIndex {
      let app = regions[index].key
      if !regions.values[index].isEmpty, isConcerned(regions.values[index]) {
        let events = body(&regions.values[index], isRunning(app))
        if regions.values[index].takeChange() { preservedChangeCount += 1 }
        if !events.isEmpty { found.append((app, events)) }
      }
      regions.formIndex(after: &index)
    }
    for (app, events) in found.sorted(by: { $0.app < $1.app }) {
      arrived(events, for: app, now: now)
    }
  }

  private func isRunning(_ app: AppID) -> Bool {
    switch life.state(of: app) {
    case .active, .inactive, .background: true
    case .suspended, .notRunning, nil: false
    }
  }

  private mutating func arrived(_ events: [AppRegionEvent], for app: AppID, now: Instant) {
    for event in events {
      var appEvent = AppEvent(.region, for: .location, payload: event.payload)
      // Of a state, the newest one is enough. A crossing is reported as often as it occurred.
      if event.change != .entered, event.change != .exited { appEvent.key = event.serial }
      report(.arrived(app, appEvent), now: now)
    }
  }

  /// Whether an event is of a region that was replaced or is monitored no more.
  func isOfFormerRegion(_ event: AppEvent, of app: AppID?) -> Bool {
    guard event.receiver == .location else { return false }
    guard let app, let content = AppRegionEvent(event.payload) else { return true }
    return regions[app]?.serials[content.name] != content.serial
  }

  mutating func gaveRegionEvent(_ event: AppEvent, to process: AppProcessID) {
    guard event.receiver == .location, let app = processes[process]?.app,
      let content = AppRegionEvent(event.payload)
    else { return }
    regions[app]?.gave(content)
  }

  /// When a region may be left.
  var nextRegionWake: Instant? {
    regionScan.isScanning ? regions.values.lazy.compactMap(\.nextWake).min() : nil
  }
}

extension ScanOptions {
  /// All advertisements, by passive scanning.
  fileprivate static var beaconsOfApps: ScanOptions {
    var options = ScanOptions()
    options.allowsDuplicates = true
    options.isActive = false
    options.seeksBeacons = true
    return options
  }
}
