public import CoreLocation
public import CoreLocationAsync
public import Reactive

extension CLLocationManager: ReactiveExtensionsProvider {}

// Values are sent where the manager calls its delegate: on its run loop or queue.
extension Reactive where Base: CLLocationManager {
  /// Whether the program may use location services: now, and whenever that changes.
  public var authorizations: SignalProducer<CLAuthorizationStatus, Never> {
    let manager: CLLocationManager = base
    return LocationListener.all.producer(of: manager) { listener, notify in
      let number = listener.add { event in
        if case .authorizationChanged(let status) = event { notify(.value(status)) }
      }
      notify(.value(manager.authorizationStatus))
      return AnyDisposable { listener.remove(number) }
    }.skipRepeats()
  }

  /// The beacons in range, nearest first, once a second: an empty array while there are none.
  ///
  /// The manager ranges while a run lasts; runs of one constraint share that.
  ///
  /// - Returns: A producer that does not complete. While Bluetooth is off none are in range; it fails with
  ///   `rangingUnavailable` where Bluetooth may not be used or isn't there, with other errors when ranging
  ///   doesn't work.
  public func ranged(
    satisfying constraint: CLBeaconIdentityConstraint
  ) -> SignalProducer<[CLBeacon], CLError> {
    let manager: CLLocationManager = base
    return LocationListener.all.producer(of: manager) { listener, notify in
      let number = listener.add { event in
        switch event {
        case .ranged(let beacons, constraint): notify(.value(beacons))
        case .rangingFailed(constraint, let error, isFinal: true): notify(.failed(error))
        default: break
        }
      }
      listener.startRanging(constraint, with: manager)
      return AnyDisposable {
        listener.remove(number)
        listener.stopRanging(constraint, with: manager)
      }
    }
  }

  /// The state of a region now, as soon as it is known, and whenever it changes.
  ///
  /// The region is monitored while a run lasts, or longer if it was before.
  ///
  /// - Returns: A producer that does not complete. It fails with the error with which monitoring fails.
  public func states(of region: CLBeaconRegion) -> SignalProducer<CLRegionState, CLError> {
    monitoring(region) { event in
      if case .determined(let state, region) = event { state } else { nil }
    }.skipRepeats()
  }

  /// When a region is entered and left.
  ///
  /// - Returns: As of ``states(of:)``.
  public func crossings(of region: CLBeaconRegion) -> SignalProducer<RegionCrossing, CLError> {
    monitoring(region) { event in
      switch event {
      case .entered(region): .entered
      case .exited(region): .exited
      default: nil
      }
    }
  }

  private func monitoring<Value: Sendable>(
    _ region: CLBeaconRegion, _ value: @escaping @Sendable (LocationEvent) -> Value?
  ) -> SignalProducer<Value, CLError> {
    let manager: CLLocationManager = base
    return LocationListener.all.producer(of: manager) { listener, notify in
      let number = listener.add { event in
        if case .monitoringFailed(region, let error) = event {
          notify(.failed(error))
        } else if let value = value(event) {
          notify(.value(value))
        }
      }
      listener.startMonitoring(region, with: manager)
      return AnyDisposable {
        listener.remove(number)
        listener.stopMonitoring(region, with: manager)
      }
    }
  }
}

extension LocationListener: DelegateProxy {
  static let all = DelegateProxies<LocationListener>()

  package func attach(to manager: CLLocationManager) -> AnyObject? {
    let old = manager.delegate
    if old !== self {
      next = old
      manager.delegate = self
    }
    return old
  }

  package func detach(from manager: CLLocationManager) -> AnyObject? {
    let next = next
    if manager.delegate === self { manager.delegate = next }
    return next
  }
}
