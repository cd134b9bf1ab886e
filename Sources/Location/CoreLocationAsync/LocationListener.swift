package import CoreLocation
internal import Synchronization

/// A delegate call of a location manager about beacons.
package enum LocationEvent: Sendable {
  case authorizationChanged(CLAuthorizationStatus)
  case entered(CLRegion)
  case exited(CLRegion)
  case determined(CLRegionState, CLRegion)
  case monitoringFailed(CLRegion?, CLError)
  case ranged([CLBeacon], CLBeaconIdentityConstraint)
  /// Ranging failed. It resumes automatically unless the failure is final.
  case rangingFailed(CLBeaconIdentityConstraint, CLError, isFinal: Bool)
}

/// Receives a location manager's calls in its delegate's stead, forwards them to the delegate, and
/// reports them to observers.
///
/// It counts the observers of a constraint or a region: the first starts ranging or monitoring, the
/// last stops it, unless the program had started it before.
package final class LocationListener: NSObject, CLLocationManagerDelegate, Sendable {
  package typealias Observer = @Sendable (LocationEvent) -> Void

  private struct State {
    var observers: [Int: Observer] = [:]
    var lastObserver = 0
    var ranged: [CLBeaconIdentityConstraint: Int] = [:]
    var monitored: [CLRegion: Int] = [:]
    /// Received the calls before this one: the listener of `Beacons`, whose manager has producers, too.
    /// It counts for both, so that neither stops what the other one needs.
    var inner: LocationListener?
  }

  private let state = Mutex(State())

  private var inner: LocationListener? { state.withLock { $0.inner } }

  package override init() { super.init() }

  // MARK: The manager

  /// Receives the manager's calls from now on.
  package func attach(to manager: CLLocationManager) {
    let inner = manager.delegateProxy as? LocationListener
    if inner === self { return }
    state.withLock { $0.inner = inner }
    manager.delegateProxy = self
  }

  /// Receives no calls of the manager any more.
  package func detach(from manager: CLLocationManager) {
    let inner = state.withLock { $0.inner.take() }
    if manager.delegateProxy === self { manager.delegateProxy = inner }
  }

  /// The object to forward calls to.
  private func next(of manager: CLLocationManager) -> (any CLLocationManagerDelegate)? {
    if let inner { return inner }
    return manager.delegate
  }

  // MARK: Observers

  /// Adds an observer of events, and returns the number to pass to `remove(_:)`.
  package func add(_ observer: @escaping Observer) -> Int {
    state.withLock { state in
      state.lastObserver += 1
      state.observers[state.lastObserver] = observer
      return state.lastObserver
    }
  }

  package func remove(_ number: Int) {
    let old = state.withLock { $0.observers.removeValue(forKey: number) }
    _ = old  // Released outside the lock.
  }

  private func report(_ event: LocationEvent) {
    let observers = state.withLock { state in
      state.observers.sorted { $0.key < $1.key }.map(\.value)
    }
    for observer in observers { observer(event) }
  }

  // MARK: Requests

  /// Ranges a constraint until `stopRanging` was called once for each call of this function.
  package func startRanging(
    _ constraint: CLBeaconIdentityConstraint, with manager: CLLocationManager
  ) {
    if let inner { return inner.startRanging(constraint, with: manager) }
    let isFirst = state.withLock { state in
      // Ranging that the program started is counted, too, and so never stopped here.
      if state.ranged[constraint] == nil, manager.rangedBeaconConstraints.contains(constraint) {
        state.ranged[constraint] = 1
      }
      state.ranged[constraint, default: 0] += 1
      return state.ranged[constraint] == 1
    }
    if isFirst { manager.startRangingBeacons(satisfying: constraint) }
  }

  package func stopRanging(
    _ constraint: CLBeaconIdentityConstraint, with manager: CLLocationManager
  ) {
    if let inner { return inner.stopRanging(constraint, with: manager) }
    let isLast = state.withLock { $0.ranged.release(constraint) }
    if isLast { manager.stopRangingBeacons(satisfying: constraint) }
  }

  /// Monitors a region until `stopMonitoring` was called once for each call of this function, and
  /// requests its state.
  package func startMonitoring(_ region: CLBeaconRegion, with manager: CLLocationManager) {
    if let inner { return inner.startMonitoring(region, with: manager) }
    let isFirst = state.withLock { state in
      if state.monitored[region] == nil, manager.monitoredRegions.contains(region) {
        state.monitored[region] = 1
      }
      state.monitored[region, default: 0] += 1
      return state.monitored[region] == 1
    }
    if isFirst { manager.startMonitoring(for: region) }
    manager.requestState(for: region)
  }

  package func stopMonitoring(_ region: CLBeaconRegion, with manager: CLLocationManager) {
    if let inner { return inner.stopMonitoring(region, with: manager) }
    let isLast = state.withLock { $0.monitored.release(region) }
    if isLast { manager.stopMonitoring(for: region) }
  }

  private func error(_ error: any Error, or code: CLError.Code) -> CLError {
    error as? CLError ?? CLError(code)
  }
}

extension Dictionary where Value == Int {
  /// Counts one less; whether it was the last.
  fileprivate mutating func release(_ key: Key) -> Bool {
    guard let count = self[key] else { return false }
    self[key] = count > 1 ? count - 1 : nil
    return count == 1
  }
}

// MARK: - The delegate

extension LocationListener {
  package func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
    next(of: manager)?.locationManagerDidChangeAuthorization(manager)
    report(.authorizationChanged(manager.authorizationStatus))
  }

  package func locationManager(
    _ manager: CLLocationManager, didStartMonitoringFor region: CLRegion
  ) { next(of: manager)?.locationManager(manager, didStartMonitoringFor: region) }

  package func locationManager(_ manager: CLLocationManager, didEnterRegion region: CLRegion) {
    next(of: manager)?.locationManager(manager, didEnterRegion: region)
    report(.entered(region))
  }

  package func locationManager(_ manager: CLLocationManager, didExitRegion region: CLRegion) {
    next(of: manager)?.locationManager(manager, didExitRegion: region)
    report(.exited(region))
  }

  package func locationManager(
    _ manager: CLLocationManager, didDetermineState state: CLRegionState, for region: CLRegion
  ) {
    next(of: manager)?.locationManager(manager, didDetermineState: state, for: region)
    report(.determined(state, region))
  }

  package func locationManager(
    _ manager: CLLocationManager, monitoringDidFailFor region: CLRegion?,
    withError error: any Error
  ) {
    next(of: manager)?.locationManager(manager, monitoringDidFailFor: region, withError: error)
    report(.monitoringFailed(region, self.error(error, or: .regionMonitoringFailure)))
  }

  package func locationManager(
    _ manager: CLLocationManager, didRange beacons: [CLBeacon],
    satisfying beaconConstraint: CLBeaconIdentityConstraint
  ) {
    next(of: manager)?.locationManager(manager, didRange: beacons, satisfying: beaconConstraint)
    report(.ranged(beacons, beaconConstraint))
  }

  package func locationManager(
    _ manager: CLLocationManager, didFailRangingFor beaconConstraint: CLBeaconIdentityConstraint,
    error: any Error
  ) {
    next(of: manager)?.locationManager(manager, didFailRangingFor: beaconConstraint, error: error)
    let error = self.error(error, or: .rangingFailure)
    let isFinal = error.code != .rangingUnavailable || !manager.mayRangeLater
    report(.rangingFailed(beaconConstraint, error, isFinal: isFinal))
  }

  package func locationManager(
    _ manager: CLLocationManager, didRangeBeacons beacons: [CLBeacon], in region: CLBeaconRegion
  ) { next(of: manager)?.locationManager(manager, didRangeBeacons: beacons, in: region) }

  package func locationManager(
    _ manager: CLLocationManager, rangingBeaconsDidFailFor region: CLBeaconRegion,
    withError error: any Error
  ) {
    next(of: manager)?.locationManager(manager, rangingBeaconsDidFailFor: region, withError: error)
  }

  package func locationManager(
    _ manager: CLLocationManager, didFailWithError error: any Error
  ) { next(of: manager)?.locationManager(manager, didFailWithError: error) }

  package func locationManager(
    _ manager: CLLocationManager, didFinishDeferredUpdatesWithError error: (any Error)?
  ) { next(of: manager)?.locationManager(manager, didFinishDeferredUpdatesWithError: error) }
}
