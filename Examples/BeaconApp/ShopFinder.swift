import CoreLocation.CLBeaconRegion
import CoreLocation.CLLocationManager
import CoreLocation.CLLocationManager_CLVisitExtensions

/// A shop finder's code as it was written for iOS 7 to 12: the names of then still compile, with warnings.
class ShopFinder: NSObject, CLLocationManagerDelegate {
  private(set) var log: [String] = []
  let manager = CLLocationManager()
  let shops: [CLBeaconRegion]

  init(shops: [(name: String, major: CLBeaconMajorValue)]) {
    self.shops = shops.map {
      CLBeaconRegion(
        proximityUUID: MuseumGuide.beaconUUID, major: $0.major, identifier: $0.name)
    }
    super.init()
    manager.delegate = self
    manager.requestWhenInUseAuthorization()
  }

  func locationManager(
    _ manager: CLLocationManager, didChangeAuthorization status: CLAuthorizationStatus
  ) {
    guard status == .authorizedWhenInUse || status == .authorized else {
      for region in manager.rangedRegions {
        if let region = region as? CLBeaconRegion { manager.stopRangingBeacons(in: region) }
      }
      return
    }
    for shop in shops { manager.startRangingBeacons(in: shop) }
  }

  func locationManager(
    _ manager: CLLocationManager, didRangeBeacons beacons: [CLBeacon], in region: CLBeaconRegion
  ) {
    let known = beacons.filter { $0.proximity != .unknown }
    let nearest = known.sorted { $0.accuracy < $1.accuracy }.first
    guard let beacon = nearest else { return }
    precondition(beacon.proximityUUID == region.proximityUUID)
    let text = "\(region.identifier), counter \(beacon.minor)"
    if log.last != text { log.append(text) }
  }

  func locationManager(
    _ manager: CLLocationManager, rangingBeaconsDidFailFor region: CLBeaconRegion,
    withError error: Error
  ) {
    log.append("\(region.identifier): \(error.localizedDescription)")
  }
}
