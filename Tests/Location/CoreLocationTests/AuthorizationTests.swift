import BluetoothHost
import CoreLocation
import Essentials
import SimulatedRadio
import Testing

@Suite("Authorization by policy")
struct AuthorizationTests {
  private let room = BeaconRoom()
  private let recorder = LocationRecorder()
  private let region = CLBeaconRegion(uuid: BeaconRoom.uuid, identifier: "hall")

  @Test("the policy has a name; none is always, an unknown one is denied")
  func names() {
    #expect(LocationPolicy.named(nil) == .always)
    for policy in LocationPolicy.allCases {
      #expect(LocationPolicy.named(policy.rawValue) == policy)
    }
    #expect(LocationPolicy.named("allways") == .denied)
    #expect(LocationPolicy.named("Always") == .denied)
  }

  @Test("no region is monitored or ranged without authorization, and the errors have the reason")
  func denied() {
    let manager = room.makeManager(recorder, policy: .denied)
    #expect(manager.authorizationStatus == .denied)
    #expect(recorder.take() == ["authorization denied"])
    manager.requestAlwaysAuthorization()
    manager.startMonitoring(for: region)
    manager.startRangingBeacons(satisfying: region.beaconIdentityConstraint)
    manager.requestLocation()
    room.addBeacon(minor: 1)
    room.radio.advance(by: .seconds(5))
    #expect(
      recorder.take() == [
        "failed hall regionMonitoringDenied", "ranging failed rangingUnavailable", "failed denied",
      ])
    #expect(manager.monitoredRegions.isEmpty && !manager.isAuthorizedForWidgetUpdates)
  }

  @Test("restricted is restricted, and authorized when in use is enough")
  func otherPolicies() {
    #expect(room.makeManager(nil, policy: .restricted).authorizationStatus == .restricted)
    let other = BeaconRoom()
    let manager = other.makeManager(recorder, policy: .whenInUse)
    manager.requestAlwaysAuthorization()
    manager.startMonitoring(for: region)
    other.addBeacon(minor: 1)
    other.radio.advance(by: .seconds(1))
    #expect(
      recorder.take() == [
        "authorization authorizedWhenInUse", "monitoring hall", "entered hall", "inside hall",
      ])
    manager.requestLocation()
    manager.startUpdatingHeading()
    other.radio.advance(by: .seconds(1))
    #expect(recorder.take() == ["failed locationUnknown", "failed headingFailure"])
  }

  @Test("an authorization request is answered later, in time for the program's next call")
  func asking() {
    let manager = room.makeManager(recorder, policy: .ask)
    #expect(recorder.take() == ["authorization notDetermined"])
    manager.startMonitoring(for: region)
    room.radio.advance(by: .seconds(1))
    #expect(recorder.take() == ["failed hall regionMonitoringDenied"])
    manager.requestWhenInUseAuthorization()
    #expect(manager.authorizationStatus == .notDetermined)
    manager.startMonitoring(for: region)
    room.addBeacon(minor: 1)
    room.radio.advance(by: .seconds(1))
    #expect(
      recorder.take() == [
        "authorization authorizedWhenInUse", "monitoring hall", "entered hall", "inside hall",
      ])
    manager.requestWhenInUseAuthorization()
    room.radio.advance(by: .seconds(1))
    #expect(recorder.take() == [])
    manager.requestAlwaysAuthorization()
    room.radio.advance(by: .seconds(1))
    #expect(recorder.take() == ["authorization authorizedAlways"])
  }

  @Test("ranging that was asked for before the authorization begins with it")
  func rangingBefore() {
    let manager = room.makeManager(recorder, policy: .ask)
    manager.startRangingBeacons(satisfying: region.beaconIdentityConstraint)
    room.addBeacon(minor: 1)
    room.radio.advance(by: .seconds(2))
    #expect(recorder.take() == ["authorization notDetermined"])
    manager.requestWhenInUseAuthorization()
    room.radio.advance(by: .seconds(3))
    #expect(recorder.take().last == "ranged [1]")
  }

  @available(*, deprecated, message: "Tests what is deprecated")
  @Test("older delegates get the status with the callback")
  func olderDelegates() {
    final class Old: NSObject, CLLocationManagerDelegate, @unchecked Sendable {
      // Unchecked: written on the manager's queue, read after it has settled.
      var statuses: [CLAuthorizationStatus] = []
      func locationManager(
        _ manager: CLLocationManager, didChangeAuthorization status: CLAuthorizationStatus
      ) { statuses.append(status) }
    }
    let old = Old()
    let manager = room.makeManager(nil, policy: .ask)
    manager.delegate = old
    manager.requestAlwaysAuthorization()
    room.radio.advance(by: .seconds(1))
    #expect(old.statuses == [.authorizedAlways])
    #expect(
      BluetoothHost.$current.withValue(room.phone) { CLLocationManager.authorizationStatus() }
        == .authorizedAlways)
  }
}
