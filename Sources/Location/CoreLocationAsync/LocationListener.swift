package import CoreLocation
package import RunLoopSupport
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
package final class LocationListener: NSObject, CLLocationManagerDelegate, DelegateListener,
  Sendable
{
  package static let all = DelegateListeners<LocationListener>()

  package let events = EventObservers<LocationEvent>()

  private struct State {
    var ranged: [CLBeaconIdentityConstraint: Int] = [:]
    var monitored: [CLRegion: Int] = [:]
  }

  private let state = Mutex(State())

  package override init() { super.init() }

  // MARK: The manager

  package func attach(to manager: CLLocationManager) { manager.delegateProxy = self }

  package func detach(from manager: CLLocationManager) {
    if manager.delegateProxy === self { manager.delegateProxy = nil }
  }

  // MARK: Requests

  /// Ranges a constraint until `stopRanging` was called once for each call of this function.
  package func startRanging(
    _ constraint: CLBeaconIdentityConstraint, with manager: CLLocationManager
  ) {
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
    let isLast = state.withLock { $0.ranged.release(constraint) }
    if isLast { manager.stopRangingBeacons(satisfying: constraint) }
  }

  /// Monitors a region until `stopMonitoring` was called once for each call of this function, and
  /// requests its state.
  package func startMonitoring(_ region: CLBeaconRegion, with manager: CLLocationManager) {
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
    manager.delegate?.locationManagerDidChangeAuthorization(manager)
    events.send(.authorizationChanged(manager.authorizationStatus))
  }

  package func locationManager(
    _ manager: CLLocationManager, didStartMonitoringFor region: CLRegion
  ) { manager.delegate?.locationManager(manager, didStartMonitoringFor: region) }

  package func locationManager(_ manager: CLLocationManager, didEnterRegion region: CLRegion) {
    manager.delegate?.locationManager(manager, didEnterRegion: region)
    events.send(.entered(region))
  }

  package func locationManager(_ manager: CLLocationManager, didExitRegion region: CLRegion) {
    manager.delegate?.locationManager(manager, didExitRegion: region)
    events.send(.exited(region))
  }

  package func locationManager(
    _ manager: CLLocationManager, didDetermineState state: CLRegionState, for region: CLRegion
  ) {
    manager.delegate?.locationManager(manager, didDetermineState: state, for: region)
    events.send(.determined(state, region))
  }

  package func locationManager(
    _ manager: CLLocationManager, monitoringDidFailFor region: CLRegion?,
    withError error: any Error
  ) {
    manager.delegate?.locationManager(manager, monitoringDidFailFor: region, withError: error)
    events.send(.monitoringFailed(region, self.error(error, or: .regionMonitoringFailure)))
  }

  package func locationManager(
    _ manager: CLLocationManager, didRange beacons: [CLBeacon],
    satisfying beaconConstraint: CLBeaconIdentityConstraint
  ) {
    manager.delegate?.locationManager(manager, didRange: beacons, satisfying: beaconConstraint)
    events.send(.ranged(beacons, beaconConstraint))
  }

  package func locationManager(
    _ manager: CLLocationManager, didFailRangingFor beaconConstraint: CLBeaconIdentityConstraint,
    error: any Error
  ) {
    manager.delegate?.locationManager(manager, didFailRangingFor: beaconConstraint, error: error)
    let error = self.error(error, or: .rangingFailure)
    let isFinal = error.code != .rangingUnavailable || !manager.mayRangeLater
    events.send(.rangingFailed(beaconConstraint, error, isFinal: isFinal))
  }

  package func locationManager(
    _ manager: CLLocationManager, didRangeBeacons beacons: [CLBeacon], in region: CLBeaconRegion
  ) { manager.delegate?.locationManager(manager, didRangeBeacons: beacons, in: region) }

  package func locationManager(
    _ manager: CLLocationManager, rangingBeaconsDidFailFor region: CLBeaconRegion,
    withError error: any Error
  ) {
    manager.delegate?.locationManager(manager, rangingBeaconsDidFailFor: region, withError: error)
  }

  package func locationManager(
    _ manager: CLLocationManager, didFailWithError error: any Error
  ) { manager.delegate?.locationManager(manager, didFailWithError: error) }

  package func locationManager(
    _ manager: CLLocationManager, didFinishDeferredUpdatesWithError error: (any Error)?
  ) { manager.delegate?.locationManager(manager, didFinishDeferredUpdatesWithError: error) }
}
