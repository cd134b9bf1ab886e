public import CoreLocation
public import CoreLocationAsync
public import Reactive
internal import RunLoopSupport

extension CLLocationManager: ReactiveExtensionsProvider {}

// Values are sent where the manager calls its delegate: on its run loop or queue.
extension Reactive where Base: CLLocationManager {
  /// Sends the current authorization and each change.
  public var authorizations: SignalProducer<CLAuthorizationStatus, Never> {
    let manager: CLLocationManager = base
    return LocationListener.all.producer(of: manager) { listener, notify in
      let registration = listener.events.add { event in
        if case .authorizationChanged(let status) = event { notify(.value(status)) }
      }
      notify(.value(manager.authorizationStatus))
      return registration
    }.skipRepeats()
  }

  /// Sends the beacons in range once a second, nearest first; an empty array if there are none.
  ///
  /// The manager ranges while a run lasts. Runs of the same constraint share the ranging.
  ///
  /// - Returns: A producer that does not complete. While Bluetooth is off it sends empty arrays. It
  ///   fails with `rangingUnavailable` if Bluetooth is unauthorized or unsupported, and with other
  ///   errors when ranging doesn't work.
  public func ranged(
    satisfying constraint: CLBeaconIdentityConstraint
  ) -> SignalProducer<[CLBeacon], CLError> {
    let manager: CLLocationManager = base
    return LocationListener.all.producer(of: manager) { listener, notify in
      let registration = listener.events.add { event in
        switch event {
        case .ranged(let beacons, constraint): notify(.value(beacons))
        case .rangingFailed(constraint, let error, isFinal: true): notify(.failed(error))
        default: break
        }
      }
      listener.startRanging(constraint, with: manager)
      registration.add { listener.stopRanging(constraint, with: manager) }
      return registration
    }
  }

  /// Sends the state of a region as soon as it is known, and each change.
  ///
  /// The region is monitored while a run lasts, or longer if it was monitored before.
  ///
  /// - Returns: A producer that does not complete. It fails with a `CLError` if monitoring fails.
  public func states(of region: CLBeaconRegion) -> SignalProducer<CLRegionState, CLError> {
    monitoring(region) { event in
      if case .determined(let state, region) = event { state } else { nil }
    }.skipRepeats()
  }

  /// Sends a value when a region is entered and left.
  ///
  /// - Returns: A producer that doesn't complete, and fails like ``states(of:)``.
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
      let registration = listener.events.add { event in
        if case .monitoringFailed(region, let error) = event {
          notify(.failed(error))
        } else if let value = value(event) {
          notify(.value(value))
        }
      }
      listener.startMonitoring(region, with: manager)
      registration.add { listener.stopMonitoring(region, with: manager) }
      return registration
    }
  }
}

extension DelegateListeners where Listener == LocationListener {
  /// A producer whose runs use the manager's listener.
  fileprivate func producer<Value: Sendable, Failure: Error>(
    of manager: CLLocationManager,
    _ register:
      @escaping @Sendable (
        _ listener: LocationListener,
        _ notify: @escaping @Sendable (Signal<Value, Failure>.Event) -> Void
      ) -> ListenerRegistration
  ) -> SignalProducer<Value, Failure> {
    SignalProducer(registering: { notify in
      let registration = self.registration(for: manager) { register($0, notify) }
      return AnyDisposable { registration.cancel() }
    })
  }
}
