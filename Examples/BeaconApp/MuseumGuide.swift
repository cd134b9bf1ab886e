import CoreLocation

/// The beacons of a museum: one UUID, a major number for each room, a minor number for each exhibit.
struct Exhibit: Equatable {
  let room: Int
  let number: Int

  init(_ beacon: CLBeacon) {
    room = beacon.major.intValue
    number = beacon.minor.intValue
  }
}

/// A museum guide's code for beacons, unchanged from iOS: it monitors the museum, ranges while
/// inside, and shows the nearest exhibit.
class MuseumGuide: NSObject {
  // swift-format-ignore: NeverForceUnwrap
  static let beaconUUID = UUID(uuidString: "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0")!

  private(set) var log: [String] = []
  private(set) var exhibit: Exhibit?
  private let locationManager = CLLocationManager()
  private let constraint = CLBeaconIdentityConstraint(uuid: MuseumGuide.beaconUUID)
  private lazy var region = CLBeaconRegion(
    beaconIdentityConstraint: constraint, identifier: "museum")

  override init() {
    super.init()
    locationManager.delegate = self
    locationManager.allowsBackgroundLocationUpdates = true
    locationManager.pausesLocationUpdatesAutomatically = false
  }

  func open() {
    switch locationManager.authorizationStatus {
    case .notDetermined: locationManager.requestAlwaysAuthorization()
    case .authorizedAlways, .authorizedWhenInUse: follow()
    case .denied, .restricted: log.append("no location services")
    @unknown default: break
    }
  }

  func close() {
    locationManager.stopMonitoring(for: region)
    locationManager.stopRangingBeacons(satisfying: constraint)
  }

  private func follow() {
    guard CLLocationManager.isMonitoringAvailable(for: CLBeaconRegion.self) else {
      log.append("no beacons here")
      return
    }
    region.notifyEntryStateOnDisplay = true
    locationManager.startMonitoring(for: region)
  }

  private func show(_ exhibit: Exhibit?) {
    guard exhibit != self.exhibit else { return }
    self.exhibit = exhibit
    log.append(exhibit.map { "exhibit \($0.number) in room \($0.room)" } ?? "no exhibit")
  }
}

extension MuseumGuide: CLLocationManagerDelegate {
  func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
    log.append("authorization \(manager.authorizationStatus.rawValue)")
    open()
  }

  func locationManager(_ manager: CLLocationManager, didStartMonitoringFor region: CLRegion) {
    log.append("monitoring \(region.identifier)")
    manager.requestState(for: region)
  }

  func locationManager(
    _ manager: CLLocationManager, didDetermineState state: CLRegionState, for region: CLRegion
  ) {
    guard let region = region as? CLBeaconRegion else { return }
    if state == .inside {
      guard CLLocationManager.isRangingAvailable() else { return }
      manager.startRangingBeacons(satisfying: region.beaconIdentityConstraint)
    } else {
      manager.stopRangingBeacons(satisfying: region.beaconIdentityConstraint)
      show(nil)
    }
  }

  func locationManager(_ manager: CLLocationManager, didEnterRegion region: CLRegion) {
    log.append("welcome")
  }

  func locationManager(_ manager: CLLocationManager, didExitRegion region: CLRegion) {
    log.append("goodbye")
  }

  func locationManager(
    _ manager: CLLocationManager, didRange beacons: [CLBeacon],
    satisfying beaconConstraint: CLBeaconIdentityConstraint
  ) {
    guard let nearest = beacons.first, nearest.accuracy >= 0 else { return show(nil) }
    switch nearest.proximity {
    case .immediate, .near: show(Exhibit(nearest))
    case .far, .unknown: show(nil)
    @unknown default: break
    }
  }

  func locationManager(
    _ manager: CLLocationManager, didFailRangingFor beaconConstraint: CLBeaconIdentityConstraint,
    error: Error
  ) {
    if let error = error as? CLError, error.code == .rangingUnavailable {
      log.append("Bluetooth is off")
    }
  }

  func locationManager(
    _ manager: CLLocationManager, monitoringDidFailFor region: CLRegion?, withError error: Error
  ) {
    log.append("monitoring failed: \((error as NSError).code)")
  }

  func locationManager(_ manager: CLLocationManager, didFailWithError error: Error) {
    log.append("failed: \((error as NSError).code)")
  }
}
