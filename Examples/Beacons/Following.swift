import CoreLocation
import CoreLocationAsync

/// Prints when an exhibit is entered and left, and its ranging results while it is near.
final class ExhibitFollower: NSObject, CLLocationManagerDelegate {
  let say: (String) -> Void
  private let manager: CLLocationManager

  init(uuid: UUID, queue: DispatchQueue?, say: @escaping (String) -> Void) {
    self.say = say
    manager = CLLocationManager(queue: queue)
    super.init()
    manager.delegate = self
    manager.startMonitoring(for: CLBeaconRegion(uuid: uuid, identifier: "museum"))
  }

  func locationManager(_ manager: CLLocationManager, didEnterRegion region: CLRegion) {
    say("entered \(region.identifier)")
  }

  func locationManager(_ manager: CLLocationManager, didExitRegion region: CLRegion) {
    say("left \(region.identifier)")
  }

  func locationManager(
    _ manager: CLLocationManager, didDetermineState state: CLRegionState, for region: CLRegion
  ) {
    guard let region = region as? CLBeaconRegion else { return }
    let constraint = region.beaconIdentityConstraint
    switch state {
    case .inside: manager.startRangingBeacons(satisfying: constraint)
    case .outside, .unknown: manager.stopRangingBeacons(satisfying: constraint)
    }
  }

  func locationManager(
    _ manager: CLLocationManager, didRange beacons: [CLBeacon],
    satisfying constraint: CLBeaconIdentityConstraint
  ) {
    for beacon in beacons where beacon.proximity == .immediate || beacon.proximity == .near {
      say("exhibit \(beacon.minor) within \(beacon.accuracy) m")
    }
  }
}

/// Follows the nearest exhibit, until its task is cancelled.
func followNearest(
  _ museum: UUID, show: (_ exhibit: UInt16?) async -> Void
) async throws {
  let beacons = Beacons()
  for try await near in beacons.ranged(satisfying: CLBeaconIdentityConstraint(uuid: museum)) {
    let nearest = near.first { $0.proximity != .unknown && $0.proximity != .far }
    await show(nearest?.minor.uint16Value)
  }
}

/// Keeps a journal of rooms, which goes on where the last run of the program ended.
func keepJournal(
  of museum: UUID, write: (_ room: String, _ isInside: Bool) async -> Void
) async throws {
  let monitor = await CLMonitor("journal")
  await monitor.add(
    CLMonitor.BeaconIdentityCondition(uuid: museum, major: 1), identifier: "hall",
    assuming: .unsatisfied)
  for try await event in await monitor.events where event.state != .unknown {
    await write(event.identifier, event.state == .satisfied)
  }
}
