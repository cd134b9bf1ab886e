import CoreLocation
import Essentials
import SimulatedRadio
import Synchronization
import Testing

// Every delegate method, called through the protocol: it compiles only if the protocol has it under exactly
// that name, it arrives only if it is a requirement, and a delegate that implements nothing compiles only if
// all have defaults, as Apple's are optional.

private final class Loud: NSObject, CLLocationManagerDelegate, Sendable {
  private let storage = Mutex<[String]>([])
  var calls: [String] { storage.withLock(\.self) }
  private func add(_ name: String) { storage.withLock { $0.append(name) } }

  func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) { add(#function) }
  func locationManager(
    _ manager: CLLocationManager, didChangeAuthorization status: CLAuthorizationStatus
  ) { add(#function) }
  func locationManager(_ manager: CLLocationManager, didStartMonitoringFor region: CLRegion) {
    add(#function)
  }
  func locationManager(_ manager: CLLocationManager, didEnterRegion region: CLRegion) {
    add(#function)
  }
  func locationManager(_ manager: CLLocationManager, didExitRegion region: CLRegion) {
    add(#function)
  }
  func locationManager(
    _ manager: CLLocationManager, didDetermineState state: CLRegionState, for region: CLRegion
  ) { add(#function) }
  func locationManager(
    _ manager: CLLocationManager, monitoringDidFailFor region: CLRegion?, withError error: any Error
  ) { add(#function) }
  func locationManager(
    _ manager: CLLocationManager, didRange beacons: [CLBeacon],
    satisfying beaconConstraint: CLBeaconIdentityConstraint
  ) { add(#function) }
  func locationManager(
    _ manager: CLLocationManager, didFailRangingFor beaconConstraint: CLBeaconIdentityConstraint,
    error: any Error
  ) { add(#function) }
  func locationManager(
    _ manager: CLLocationManager, didRangeBeacons beacons: [CLBeacon], in region: CLBeaconRegion
  ) { add(#function) }
  func locationManager(
    _ manager: CLLocationManager, rangingBeaconsDidFailFor region: CLBeaconRegion,
    withError error: any Error
  ) { add(#function) }
  func locationManager(_ manager: CLLocationManager, didFailWithError error: any Error) {
    add(#function)
  }
  func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation]) {
    add(#function)
  }
  func locationManagerDidPauseLocationUpdates(_ manager: CLLocationManager) { add(#function) }
  func locationManagerDidResumeLocationUpdates(_ manager: CLLocationManager) { add(#function) }
  func locationManager(
    _ manager: CLLocationManager, didFinishDeferredUpdatesWithError e: (any Error)?
  ) {
    add(#function)
  }
  func locationManagerShouldDisplayHeadingCalibration(_ manager: CLLocationManager) -> Bool {
    add(#function)
    return true
  }
}

/// Implements nothing.
private final class Silent: NSObject, CLLocationManagerDelegate {}

/// Implements what code of before iOS 14 does.
private final class Old: NSObject, CLLocationManagerDelegate, Sendable {
  let statuses = Mutex<[CLAuthorizationStatus]>([])
  func locationManager(
    _ manager: CLLocationManager, didChangeAuthorization status: CLAuthorizationStatus
  ) { statuses.withLock { $0.append(status) } }
}

@Suite("Core Location's delegate")
struct DelegateSurfaceTests {
  private let room = BeaconRoom()
  private let manager: CLLocationManager
  init() { manager = room.makeManager(nil) }

  private func callAll(_ delegate: any CLLocationManagerDelegate) -> Bool {
    let region = CLBeaconRegion(uuid: BeaconRoom.uuid, identifier: "hall")
    let constraint = region.beaconIdentityConstraint
    let error = CLError(.denied)
    delegate.locationManagerDidChangeAuthorization(manager)
    delegate.locationManager(manager, didChangeAuthorization: .denied)
    delegate.locationManager(manager, didStartMonitoringFor: region)
    delegate.locationManager(manager, didEnterRegion: region)
    delegate.locationManager(manager, didExitRegion: region)
    delegate.locationManager(manager, didDetermineState: .inside, for: region)
    delegate.locationManager(manager, monitoringDidFailFor: nil, withError: error)
    delegate.locationManager(manager, didRange: [], satisfying: constraint)
    delegate.locationManager(manager, didFailRangingFor: constraint, error: error)
    delegate.locationManager(manager, didRangeBeacons: [], in: region)
    delegate.locationManager(manager, rangingBeaconsDidFailFor: region, withError: error)
    delegate.locationManager(manager, didFailWithError: error)
    delegate.locationManager(manager, didUpdateLocations: [])
    delegate.locationManagerDidPauseLocationUpdates(manager)
    delegate.locationManagerDidResumeLocationUpdates(manager)
    delegate.locationManager(manager, didFinishDeferredUpdatesWithError: nil)
    return delegate.locationManagerShouldDisplayHeadingCalibration(manager)
  }

  @Test("all methods arrive under Apple's names")
  func arrive() {
    let delegate = Loud()
    #expect(callAll(delegate))
    #expect(delegate.calls.count == 17 && Set(delegate.calls).count == 17)
  }

  @Test("a delegate may implement none of its methods")
  func optional() { #expect(!callAll(Silent())) }

  @Test("a delegate of before iOS 14 hears of the authorization by the old method")
  func oldAuthorization() {
    let delegate = Old()
    let manager = room.makeManager(nil, policy: .whenInUse)
    manager.delegate = delegate
    room.radio.advance(by: .seconds(1))
    let other = room.makeManager(nil)
    other.delegate = delegate
    delegate.locationManagerDidChangeAuthorization(other)
    #expect(delegate.statuses.withLock(\.self).last == other.authorizationStatus)
  }
}

@Suite("What beacons don't need")
struct LocationAnswerTests {
  private let room = BeaconRoom()

  @Test(
    "requests for locations fail with Apple's error, according to the authorization",
    arguments: [
      (LocationPolicy.always, CLError.Code.locationUnknown), (.denied, .denied),
    ])
  func locations(_ policy: LocationPolicy, _ code: CLError.Code) {
    let recorder = LocationRecorder()
    let manager = room.makeManager(recorder, policy: policy)
    _ = recorder.take()
    let asks: [() -> Void] = [
      manager.startUpdatingLocation, manager.requestLocation,
      manager.startMonitoringSignificantLocationChanges,
    ]
    for ask in asks {
      ask()
      room.radio.advance(by: .seconds(1))
      #expect(recorder.take() == ["failed \(code)"])
    }
    manager.startUpdatingHeading()
    room.radio.advance(by: .seconds(1))
    #expect(recorder.take() == ["failed headingFailure"])
    #expect(manager.location == nil && manager.heading == nil)
  }

  @Test("live updates report once that there is no location, and end with their task")
  func liveUpdates() async throws {
    let task = Task {
      var updates = CLLocationUpdate.liveUpdates().makeAsyncIterator()
      let first = try await updates.next()
      #expect(first?.locationUnavailable == true && first?.location == nil)
      return try await updates.next()
    }
    task.cancel()
    #expect(try await task.value == nil)
  }
}
