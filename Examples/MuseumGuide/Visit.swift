import CoreLocation
import Reactive

/// A visitor's way through the museum, from beacons: code for Core Location, unchanged from iOS.
///
/// The region of all beacons reports when the museum is entered and left. Inside, beacons are
/// ranged, and the nearest one determines the visitor's exhibit. The delegate is called on a queue
/// of its own, and its results are one property, which may be read anywhere.
final class Visit: NSObject, CLLocationManagerDelegate, Sendable {
  // swift-format-ignore: NeverForceUnwrap
  static let uuid = UUID(uuidString: "5A4BCFCE-174E-4BAC-A814-092E77F6B7E5")!

  /// The visitor's present state.
  struct State: Equatable, Sendable {
    var isInside = false
    var nearest = NearestExhibit()
    /// The exhibit at which the visitor is, or was last.
    var latest: Exhibit.ID?
    /// The exhibits at which the visitor has been, in the order of the visit.
    var seen: [Exhibit.ID] = []
    var problem: Problem?

    var exhibit: Exhibit.ID? { nearest.exhibit }
  }

  /// Why nothing is known.
  enum Problem: Sendable {
    case denied
    case bluetoothOff
    case failed
  }

  let state: Property<State>
  private let mutableState = MutableProperty(State())
  private let exhibits: [Exhibit.Beacon: Exhibit.ID]
  private let manager = CLLocationManager(queue: DispatchQueue(label: "Visit"))

  /// Begins to follow the visitor with the current Bluetooth host.
  init(of exhibits: [Exhibit]) {
    state = Property(capturing: mutableState)
    self.exhibits = Dictionary(uniqueKeysWithValues: exhibits.map { ($0.beacon, $0.id) })
    super.init()
    // The delegate's first call has the authorization.
    manager.delegate = self
  }

  private func ranged(_ beacons: [CLBeacon]) {
    // The manager has them in the order of their distance.
    let near = beacons.filter { $0.proximity == .immediate || $0.proximity == .near }
      .compactMap { beacon in
        exhibits[.init(major: beacon.major.uint16Value, minor: beacon.minor.uint16Value)]
      }
    mutableState.modify { state in
      state.problem = nil
      state.nearest.update(near: near)
      guard let exhibit = state.exhibit, exhibit != state.latest else { return }
      state.latest = exhibit
      if !state.seen.contains(exhibit) { state.seen.append(exhibit) }
    }
  }

  private func stop(_ problem: Problem) {
    mutableState.modify { state in
      state.nearest = NearestExhibit()
      state.problem = problem
    }
  }

  // MARK: CLLocationManagerDelegate

  func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
    switch manager.authorizationStatus {
    case .notDetermined: manager.requestWhenInUseAuthorization()
    case .authorizedAlways, .authorizedWhenInUse:
      let museum = CLBeaconRegion(uuid: Self.uuid, identifier: "museum")
      manager.startMonitoring(for: museum)
      manager.startRangingBeacons(satisfying: museum.beaconIdentityConstraint)
    case .denied, .restricted: stop(.denied)
    @unknown default: break
    }
  }

  func locationManager(
    _ manager: CLLocationManager, didDetermineState state: CLRegionState, for region: CLRegion
  ) {
    mutableState.modify { known in
      // The last exhibit is of the previous visit.
      if state == .inside, !known.isInside { known.latest = nil }
      known.isInside = state == .inside
      if state == .outside { known.nearest = NearestExhibit() }
    }
  }

  func locationManager(
    _ manager: CLLocationManager, didRange beacons: [CLBeacon],
    satisfying constraint: CLBeaconIdentityConstraint
  ) { ranged(beacons) }

  func locationManager(
    _ manager: CLLocationManager, didFailRangingFor constraint: CLBeaconIdentityConstraint,
    error: any Error
  ) { stop((error as? CLError)?.code == .rangingUnavailable ? .bluetoothOff : .failed) }

  func locationManager(
    _ manager: CLLocationManager, monitoringDidFailFor region: CLRegion?, withError error: any Error
  ) { stop((error as? CLError)?.code == .regionMonitoringDenied ? .denied : .failed) }
}
