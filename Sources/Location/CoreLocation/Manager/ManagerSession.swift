internal import BluetoothInterface
internal import EventLoop

/// The implementation of a location manager: its ranging, and the calls of its delegate.
final class ManagerSession: @unchecked Sendable {
  // Unchecked: what changes is guarded by `lock`.

  let services: LocationServices
  let inbox: DelegateQueue
  private weak var manager: CLLocationManager?
  private let lock = SharedLock()
  private var constraints: Set<CLBeaconIdentityConstraint> = []
  private var regions: [String: CLBeaconRegion] = [:]
  /// Calls that wait for the first delegate.
  private var waiting: ArraySlice<DelegateCall> = []
  private var hadDelegate = false

  init(services: LocationServices, queue: DispatchQueue?) {
    self.services = services
    inbox = DelegateQueue(queue: queue)
  }

  func start(for manager: CLLocationManager) {
    self.manager = manager
    inbox.onNotice { [weak self] in self?.deliver($0) }
    services.add(self)
    services.perform { [weak self] services in
      guard let self else { return }
      services.post(.authorizationChanged, to: self)
      for notice in services.takeUndelivered() { services.post(notice, to: self) }
      services.watchDelivery(to: self)
      services.openSystem()
    }
  }

  /// The manager has got a delegate, which may be its first one.
  func delegateWasSet() {
    guard !lock.withLock({ waiting.isEmpty }) else { return }
    inbox.post(.delegateSet)
    services.hostSession?.hasWork()
  }

  /// The manager is gone: what it ranges is given up, and its delegate is called no more. What it
  /// monitors is the program's.
  func end() {
    inbox.close()
    services.remove(self)
    let ranged = lock.withLock {
      defer {
        constraints = []
        regions = [:]
      }
      return Array(constraints) + regions.values.map(\.beaconIdentityConstraint)
    }
    services.perform { services in for constraint in ranged { services.stopRanging(constraint) } }
  }

  // MARK: Monitoring

  func startMonitoring(_ region: CLRegion) {
    guard let region = region.ownCopy as? CLBeaconRegion else {
      return fail(
        region, CLError(.regionMonitoringFailure, "Only beacon regions are supported."))
    }
    let status = services.status
    if status == .denied || status == .restricted {
      return fail(region, CLError(.regionMonitoringDenied))
    }
    guard services.add(region) else { return fail(region, .tooManyRegions(Limits.regionsMax)) }
    services.perform { [weak self] services in
      if let self { services.startMonitoring(region, for: self) }
    }
  }

  private func fail(_ region: CLRegion, _ error: CLError) {
    services.perform { [weak self] in
      if let self { $0.post(.monitoringFailed(region, error), to: self) }
    }
  }

  func stopMonitoring(_ region: CLRegion) {
    let identifier = region.identifier
    guard services.removeRegion(identifier) else { return }
    services.perform { $0.stopMonitoring(identifier) }
  }

  func requestState(_ region: CLRegion) {
    guard region is CLBeaconRegion else { return }
    let identifier = region.identifier
    services.perform { [weak self] services in
      if let self { services.reportState(of: identifier, to: self) }
    }
  }

  // MARK: Ranging

  var rangedConstraints: Set<CLBeaconIdentityConstraint> { lock.withLock { constraints } }
  var rangedRegions: [CLBeaconRegion] { lock.withLock { Array(regions.values) } }

  func startRanging(_ constraint: CLBeaconIdentityConstraint) {
    guard lock.withLock({ constraints.insert(constraint).inserted }) else { return }
    begin(constraint)
  }

  func stopRanging(_ constraint: CLBeaconIdentityConstraint) {
    guard lock.withLock({ constraints.remove(constraint) != nil }) else { return }
    services.perform { $0.stopRanging(constraint) }
  }

  func startRanging(_ region: CLBeaconRegion) {
    guard let region = region.ownCopy as? CLBeaconRegion else { return }
    let old = lock.withLock { regions.updateValue(region, forKey: region.identifier) }
    begin(region.beaconIdentityConstraint)
    if let old { services.perform { $0.stopRanging(old.beaconIdentityConstraint) } }
  }

  func stopRanging(_ region: CLBeaconRegion) {
    guard let old = lock.withLock({ regions.removeValue(forKey: region.identifier) }) else {
      return
    }
    services.perform { $0.stopRanging(old.beaconIdentityConstraint) }
  }

  private func begin(_ constraint: CLBeaconIdentityConstraint) {
    // Also for a manager that is gone by then: it gives up next what begins here.
    services.perform { [self] in $0.startRanging(constraint, for: self) }
  }

  // MARK: Events of the services

  func ranged(_ beacons: [CLBeacon], _ constraint: CLBeaconIdentityConstraint) {
    let (isRanged, regions) = rangers(of: constraint)
    if isRanged { services.post(.ranged(beacons, constraint), to: self) }
    for region in regions { services.post(.rangedRegion(beacons, region), to: self) }
  }

  func rangingFailed(_ constraint: CLBeaconIdentityConstraint, _ error: CLError) {
    let (isRanged, regions) = rangers(of: constraint)
    if isRanged { services.post(.rangingFailed(constraint, error), to: self) }
    for region in regions { services.post(.rangingRegionFailed(region, error), to: self) }
  }

  func allRangingFailed(_ error: CLError) {
    let all = lock.withLock {
      constraints.union(regions.values.map(\.beaconIdentityConstraint))
    }
    for constraint in all { rangingFailed(constraint, error) }
  }

  private func rangers(
    of constraint: CLBeaconIdentityConstraint
  ) -> (isRanged: Bool, regions: [CLBeaconRegion]) {
    lock.withLock {
      (
        constraints.contains(constraint),
        regions.values.filter { $0.beaconIdentityConstraint == constraint }
          .sorted { $0.identifier < $1.identifier }
      )
    }
  }

  // MARK: The delegate, on its run loop or queue

  private func deliver(_ notice: DelegateCall) {
    if case .completed(let completion) = notice { return completion() }
    guard let manager else { return }
    guard let delegate = manager.receiver else {
      if !wait(notice), case .handled(let completion) = notice { completion() }
      return
    }
    for earlier in takeWaiting() { call(delegate, of: manager, earlier) }
    call(delegate, of: manager, notice)
  }

  /// Lets the call of a region's event wait for the first delegate, which an app may set late, with what follows it.
  /// Returns false for other calls.
  private func wait(_ notice: DelegateCall) -> Bool {
    lock.withLock {
      guard !hadDelegate else { return false }
      switch notice {
      case .entered, .exited, .determined: break
      case .handled: if waiting.isEmpty { return false }
      default: return false
      }
      notice.add(to: &waiting)
      return true
    }
  }

  private func takeWaiting() -> ArraySlice<DelegateCall> {
    lock.withLock {
      hadDelegate = true
      defer { waiting = [] }
      return waiting
    }
  }

  private func call(
    _ delegate: any CLLocationManagerDelegate, of manager: CLLocationManager,
    _ notice: DelegateCall
  ) {
    switch notice {
    case .authorizationChanged: delegate.locationManagerDidChangeAuthorization(manager)
    case .startedMonitoring(let region):
      delegate.locationManager(manager, didStartMonitoringFor: region.ownCopy)
    case .entered(let region): delegate.locationManager(manager, didEnterRegion: region.ownCopy)
    case .exited(let region): delegate.locationManager(manager, didExitRegion: region.ownCopy)
    case .determined(let state, let region):
      delegate.locationManager(manager, didDetermineState: state, for: region.ownCopy)
    case .monitoringFailed(let region, let error):
      delegate.locationManager(manager, monitoringDidFailFor: region?.ownCopy, withError: error)
    case .ranged(let beacons, let constraint):
      // Ranging that was stopped in the meantime is not reported.
      guard rangers(of: constraint).isRanged else { return }
      delegate.locationManager(manager, didRange: beacons, satisfying: constraint)
    case .rangingFailed(let constraint, let error):
      delegate.locationManager(manager, didFailRangingFor: constraint, error: error)
    case .rangedRegion(let beacons, let region):
      guard lock.withLock({ regions[region.identifier] === region }) else { return }
      delegate.locationManager(manager, didRangeBeacons: beacons, in: region)
    case .rangingRegionFailed(let region, let error):
      delegate.locationManager(manager, rangingBeaconsDidFailFor: region, withError: error)
    case .failed(let error): delegate.locationManager(manager, didFailWithError: error)
    case .deferredUpdatesFailed:
      delegate.locationManager(
        manager, didFinishDeferredUpdatesWithError: CLError(.deferredFailed))
    case .handled(let completion): completion()
    case .completed, .delegateSet: break
    }
  }
}
