internal import AppMachines
internal import BeaconMachines
internal import BluetoothInterface
internal import BluetoothWire
internal import Essentials
internal import EventLoop

/// The state machines with their actions. On the loop of the session only.
struct LocationLoop {
  var regions = RegionMonitor()
  var conditions = RegionMonitor(settings: .conditions)
  var ranging = RangingMachine()
  var regionActions: [RegionMonitor.Action] = []
  var conditionActions: [RegionMonitor.Action] = []
  var rangingActions: [RangingMachine.Action] = []
  /// Whose conditions they are, by the numbers that the machine knows them by.
  var owners: [String: LocationServices.WeakMonitor] = [:]
  /// How many managers and regions range each constraint.
  var rangedCounts: [BeaconConstraint: Int] = [:]
  var radio = RadioState.unknown
  /// The scan that the host was sent; nil for none.
  var wantedScan: ScanOptions?
  /// Whether it does.
  var isScanning = false
  var timer: DeadlineTimer?

  /// Whether there is anything to listen for.
  var isInterested: Bool {
    !regions.regions.isEmpty || !conditions.regions.isEmpty || !ranging.constraints.isEmpty
  }

  /// When a machine wants to be called.
  var nextWake: Instant? {
    [regions.nextWake, conditions.nextWake, ranging.nextWake].compactMap(\.self).min()
  }
}

// The calls of the machines.
extension LocationLoop {
  mutating func heard(_ sighting: BeaconSighting, now: Instant) {
    if !regions.regions.isEmpty {
      regions.handle(.sighted(sighting), now: now, into: &regionActions)
    }
    if !conditions.regions.isEmpty {
      conditions.handle(.sighted(sighting), now: now, into: &conditionActions)
    }
    if !ranging.constraints.isEmpty {
      ranging.handle(.sighted(sighting), now: now, into: &rangingActions)
    }
  }

  mutating func setScanning(_ isScanning: Bool, now: Instant) {
    self.isScanning = isScanning
    regions.handle(.scanning(isScanning), now: now, into: &regionActions)
    conditions.handle(.scanning(isScanning), now: now, into: &conditionActions)
    ranging.handle(.scanning(isScanning), now: now, into: &rangingActions)
  }

  mutating func wake(now: Instant) {
    regions.wake(now: now, into: &regionActions)
    conditions.wake(now: now, into: &conditionActions)
    ranging.wake(now: now, into: &rangingActions)
  }
}

extension LocationServices {
  /// Takes an event of the host.
  func handle(_ event: HostEvent) {
    switch event {
    case .discovered(let report):
      guard loop.isScanning, let sighting = BeaconSighting(report) else { return }
      heard(sighting, at: report.heardAt)
    case .stateChanged(let state):
      let wasAvailable = isRangingAvailable
      loop.radio = state
      show(state)
      if showDenial() { post(.authorizationChanged) }
      update()
      if wasAvailable != false, isRangingAvailable == false { failRanging() }
    default: break
    }
  }

  private func heard(_ sighting: BeaconSighting, at now: Instant) {
    loop.heard(sighting, now: now)
    deliver()
    setTimer()
  }

  /// Starts or stops the scan as needed, and delivers the machines' actions.
  func update() {
    guard let hostSession else { return }
    let wantsScan = loop.isInterested && status.allowsLocation
    let scan: ScanOptions? =
      wantsScan ? .beacons(forPresence: loop.ranging.constraints.isEmpty) : nil
    if scan != loop.wantedScan {
      loop.wantedScan = scan
      hostSession.send(scan.map { .startScan($0) } ?? .stopScan)
    }
    let isScanning = wantsScan && loop.radio == .poweredOn
    if isScanning != loop.isScanning {
      loop.setScanning(isScanning, now: hostSession.loop.now)
    }
    deliver()
    keepChanges()
    setTimer()
  }

  private func setTimer() {
    guard let wake = loop.nextWake, let hostSession else { return }
    if loop.timer == nil {
      loop.timer = DeadlineTimer(hostSession.loop.makeTimer { [weak self] in self?.timerRang() })
    }
    loop.timer?.set(wake)
  }

  private func timerRang() {
    guard let now = hostSession?.loop.now else { return }
    loop.timer?.fired()
    loop.wake(now: now)
    deliver()
    setTimer()
  }

  private func deliver() {
    if !loop.regionActions.isEmpty {
      let actions = loop.regionActions
      loop.regionActions.removeAll(keepingCapacity: true)
      for action in actions { post(action) }
      keepChanges()
    }
    if !loop.conditionActions.isEmpty {
      let actions = loop.conditionActions
      loop.conditionActions.removeAll(keepingCapacity: true)
      for action in actions { postToMonitor(action) }
    }
    if !loop.rangingActions.isEmpty {
      let actions = loop.rangingActions
      loop.rangingActions.removeAll(keepingCapacity: true)
      for case .ranged(let constraint, let beacons) in actions { ranged(constraint, beacons) }
    }
  }

  private func post(_ action: RegionMonitor.Action) {
    switch action {
    case .entered(let identifier, _):
      if let region = region(identifier) { post(.entered(region)) }
    case .exited(let identifier):
      if let region = region(identifier) { post(.exited(region)) }
    case .determined(let identifier, let state):
      guard let region = region(identifier) else { return }
      post(.determined(CLRegionState(state), region))
    }
  }

  // MARK: Regions

  /// Begins to monitor a region that was added.
  func startMonitoring(_ region: CLBeaconRegion, for session: ManagerSession) {
    guard self.region(region.identifier) === region, let hostSession else { return }
    let refusal = monitoringRefusal ?? start(BeaconRegion(region), now: hostSession.loop.now)
    if let refusal {
      _ = removeRegion(region.identifier)
      post(.monitoringFailed(region, refusal), to: session)
    } else {
      post(.startedMonitoring(region), to: session)
    }
  }

  /// Ends monitoring of a region that was removed, unless one of its name was added since.
  func stopMonitoring(_ identifier: String) {
    guard region(identifier) == nil else { return }
    if let system { return system.stop(AppRegion.Name(.managers, identifier)) }
    loop.regions.stop(identifier: identifier)
  }

  /// Why nothing may be monitored now; nil if it may.
  var monitoringRefusal: CLError? {
    status.allowsLocation ? nil : CLError(.regionMonitoringDenied)
  }

  private func start(_ region: BeaconRegion, now: Instant) -> CLError? {
    if let system { return system.start(AppRegion(region, .managers)).map(CLError.init) }
    do throws(RegionMonitorError) {
      try loop.regions.start(region, now: now)
      return nil
    } catch {
      switch error {
      case .tooManyRegions(let max): return .tooManyRegions(max)
      case .identifierTooLong(_, let max):
        return .identifierTooLong(max)
      }
    }
  }

  /// Answers a manager that wants to know a state.
  func reportState(of identifier: String, to session: ManagerSession) {
    guard let region = region(identifier) else { return }
    let state =
      if let system {
        CLRegionState(system.state(of: AppRegion.Name(.managers, identifier)))
      } else {
        CLRegionState(loop.regions.state(of: identifier) ?? .unknown)
      }
    post(.determined(state, region), to: session)
  }

  // MARK: Ranging

  /// Whether beacons can be ranged; nil while the radio starts.
  private var isRangingAvailable: Bool? {
    guard status.allowsLocation else { return status == .notDetermined ? nil : false }
    switch loop.radio {
    case .unknown, .resetting: return nil
    case .poweredOn: return true
    case .poweredOff, .unauthorized, .unsupported: return false
    }
  }

  func startRanging(_ constraint: CLBeaconIdentityConstraint, for session: ManagerSession) {
    guard let hostSession else { return }
    let key = BeaconConstraint(constraint)
    loop.rangedCounts[key, default: 0] += 1
    do throws(RangingMachine.Failure) {
      try loop.ranging.start(key, now: hostSession.loop.now)
      if isRangingAvailable == false {
        session.rangingFailed(constraint, CLError(.rangingUnavailable))
      }
    } catch {
      session.rangingFailed(
        constraint, CLError(.rangingFailure, "Too many constraints are ranged."))
    }
  }

  func stopRanging(_ constraint: CLBeaconIdentityConstraint) {
    let key = BeaconConstraint(constraint)
    let count = loop.rangedCounts[key, default: 0] - 1
    loop.rangedCounts[key] = count > 0 ? count : nil
    if count <= 0 { loop.ranging.stop(key) }
  }

  private func failRanging() {
    for session in sessions { session.allRangingFailed(CLError(.rangingUnavailable)) }
  }

  private func ranged(_ constraint: BeaconConstraint, _ beacons: [RangedBeacon]) {
    guard let hostSession else { return }
    let (now, time) = (hostSession.loop.now, hostSession.loop.calendarTime)
    let reported = beacons.map { beacon in
      CLBeacon(
        beacon, at: Date(timeIntervalSinceReferenceDate: time - (now - beacon.heardAt).seconds))
    }
    let identity = CLBeaconIdentityConstraint(constraint)
    for session in sessions { session.ranged(reported, identity) }
  }

  // MARK: Authorization

  /// Handles a program's request for an authorization.
  func request(_ wanted: CLAuthorizationStatus) {
    let status = status
    // What a hub denies, no policy grants.
    guard status != .denied else { return }
    let new = policy.status(after: status, asking: wanted)
    guard new != status else { return }
    show(new)
    post(.authorizationChanged)
  }
}

extension CLError {
  static func tooManyRegions(_ max: Int) -> CLError {
    CLError(.regionMonitoringFailure, "A program monitors at most \(max) regions.")
  }

  fileprivate static func identifierTooLong(_ max: Int) -> CLError {
    CLError(.regionMonitoringFailure, "An identifier has at most \(max) bytes of UTF-8.")
  }

  fileprivate init(_ refusal: AppRegionRefusal) {
    switch refusal {
    case .tooManyRegions(let max): self = .tooManyRegions(max)
    case .identifierTooLong(let max): self = .identifierTooLong(max)
    case .unavailable, .tooLongToKeep:
      self = CLError(.regionMonitoringFailure, "The app's system does not monitor it.")
    }
  }
}

extension RegionMonitor.Settings {
  /// Of conditions, of which there are as many as regions.
  fileprivate static var conditions: RegionMonitor.Settings {
    var settings = RegionMonitor.Settings()
    settings.regionsMax = Limits.regionsMax
    return settings
  }
}

extension ScanOptions {
  /// All advertisements, by passive scanning. Regions need presence only; ranging needs each RSSI.
  fileprivate static func beacons(forPresence isForPresence: Bool) -> ScanOptions {
    var options = ScanOptions()
    options.allowsDuplicates = true
    options.isActive = false
    options.seeksBeacons = isForPresence
    return options
  }
}
