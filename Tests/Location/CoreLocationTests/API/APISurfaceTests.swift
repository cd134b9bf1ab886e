import CoreLocation
import Testing

// Every type, member and signature of the part of Core Location that is about beacons, and of what code for
// beacons names beside it, named once. A member that is missing, misspelt or of another type does not
// compile; the few checks at run time are for what the compiler cannot see. Raw values are in `ValueTests`,
// delegates in `DelegateSurfaceTests`. Not `@testable`: this is what an app sees.

/// Takes what must have exactly this type.
private func expect<Value>(_ type: Value.Type, _ value: Value) {}

@Suite("Core Location's public interface")
struct APISurfaceTests {
  @Test("types descend from what Apple's descend from")
  func hierarchy() {
    expect(CLBeaconMajorValue.self, UInt16(1))
    expect(CLBeaconMinorValue.self, UInt16(1))
    expect(CLLocationAccuracy.self, 1.0)
    expect(CLLocationDistance.self, 1.0)
    expect(CLLocationDegrees.self, 1.0)
    expect(CLLocationSpeed.self, 1.0)
    expect(CLLocationDirection.self, 1.0)
    let classes: [(AnyClass, AnyClass)] = [
      (CLRegion.self, NSObject.self), (CLBeaconRegion.self, CLRegion.self),
      (CLCircularRegion.self, CLRegion.self), (CLBeaconIdentityConstraint.self, NSObject.self),
      (CLBeacon.self, NSObject.self), (CLLocationManager.self, NSObject.self),
      (CLLocation.self, NSObject.self), (CLHeading.self, NSObject.self),
      (CLVisit.self, NSObject.self), (CLFloor.self, NSObject.self),
      (CLBackgroundActivitySession.self, NSObject.self),
    ]
    for pair in classes {
      let child: AnyClass = pair.0
      let parent: AnyClass = pair.1
      #expect(child is NSObject.Type, "\(child)")
      guard parent != NSObject.self else { continue }
      #expect(_getSuperclass(child) == parent, "\(child)")
    }
    expect(((CLRegion) -> any NSCopying & NSSecureCoding).self, { $0 })
    expect(((CLBeacon) -> any NSCopying & NSSecureCoding).self, { $0 })
    expect(((CLBeaconIdentityConstraint) -> any NSCopying & NSSecureCoding).self, { $0 })
    expect(((CLBeaconIdentityConstraint) -> any Sendable & Hashable).self, { $0 })
    expect(((CLLocation) -> any NSCopying & NSSecureCoding).self, { $0 })
    expect(((any CLLocationManagerDelegate) -> any NSObjectProtocol).self, { $0 })
  }

  @Test("CLError has Apple's declarations")
  func errors() {
    expect(String.self, kCLErrorDomain)
    expect(String.self, kCLErrorUserInfoAlternateRegionKey)
    expect(KeyPath<CLError, CLError.Code>.self, \.code)
    expect(KeyPath<CLError, CLRegion?>.self, \.alternateRegion)
    let codes: [CLError.Code] = [
      CLError.locationUnknown, CLError.denied, CLError.network, CLError.headingFailure,
      CLError.regionMonitoringDenied, CLError.regionMonitoringFailure,
      CLError.regionMonitoringSetupDelayed, CLError.regionMonitoringResponseDelayed,
      CLError.geocodeFoundNoResult, CLError.geocodeFoundPartialResult, CLError.geocodeCanceled,
      CLError.deferredFailed, CLError.deferredNotUpdatingLocation, CLError.deferredAccuracyTooLow,
      CLError.deferredDistanceFiltered, CLError.deferredCanceled, CLError.rangingUnavailable,
      CLError.rangingFailure, CLError.promptDeclined, CLError.historicalLocationError,
    ]
    #expect(codes.map(\.rawValue) == Array(0..<20))
    expect(((CLError.Code, [String: Any]) -> CLError).self, CLError.init(_:userInfo:))
    _ = CLError(.denied)
  }

  @Test("CLRegion, CLBeaconRegion and CLCircularRegion have Apple's declarations")
  func regions() {
    expect(KeyPath<CLRegion, String>.self, \.identifier)
    expect(ReferenceWritableKeyPath<CLRegion, Bool>.self, \.notifyOnEntry)
    expect(ReferenceWritableKeyPath<CLRegion, Bool>.self, \.notifyOnExit)
    expect(((NSCoder) -> CLRegion?).self, CLRegion.init(coder:))

    typealias Region = CLBeaconRegion
    expect(((UUID, String) -> Region).self, Region.init(uuid:identifier:))
    expect(((UUID, UInt16, String) -> Region).self, Region.init(uuid:major:identifier:))
    expect(
      ((UUID, UInt16, UInt16, String) -> Region).self, Region.init(uuid:major:minor:identifier:))
    expect(
      ((CLBeaconIdentityConstraint, String) -> Region).self,
      Region.init(beaconIdentityConstraint:identifier:))
    expect(((NSCoder) -> Region?).self, Region.init(coder:))
    expect(KeyPath<Region, UUID>.self, \.uuid)
    expect(KeyPath<Region, NSNumber?>.self, \.major)
    expect(KeyPath<Region, NSNumber?>.self, \.minor)
    expect(KeyPath<Region, CLBeaconIdentityConstraint>.self, \.beaconIdentityConstraint)
    expect(ReferenceWritableKeyPath<Region, Bool>.self, \.notifyEntryStateOnDisplay)
    expect(
      ((Region) -> (NSNumber?) -> NSMutableDictionary).self,
      Region.peripheralData(withMeasuredPower:))

    expect(
      ((CLLocationCoordinate2D, CLLocationDistance, String) -> CLCircularRegion).self,
      CLCircularRegion.init(center:radius:identifier:))
    expect(KeyPath<CLCircularRegion, CLLocationCoordinate2D>.self, \.center)
    expect(KeyPath<CLCircularRegion, CLLocationDistance>.self, \.radius)
    expect(
      ((CLCircularRegion) -> (CLLocationCoordinate2D) -> Bool).self, CLCircularRegion.contains(_:))
  }

  @Test("CLBeaconIdentityConstraint and CLBeacon have Apple's declarations")
  func beacons() {
    typealias Constraint = CLBeaconIdentityConstraint
    expect(((UUID) -> Constraint).self, Constraint.init(uuid:))
    expect(((UUID, UInt16) -> Constraint).self, Constraint.init(uuid:major:))
    expect(((UUID, UInt16, UInt16) -> Constraint).self, Constraint.init(uuid:major:minor:))
    expect(KeyPath<Constraint, UUID>.self, \.uuid)
    expect(KeyPath<Constraint, UInt16?>.self, \.major)
    expect(KeyPath<Constraint, UInt16?>.self, \.minor)
    expect(((NSCoder) -> Constraint?).self, Constraint.init(coder:))

    expect((() -> CLBeacon).self, CLBeacon.init)
    expect(KeyPath<CLBeacon, UUID>.self, \.uuid)
    expect(KeyPath<CLBeacon, NSNumber>.self, \.major)
    expect(KeyPath<CLBeacon, NSNumber>.self, \.minor)
    expect(KeyPath<CLBeacon, CLProximity>.self, \.proximity)
    expect(KeyPath<CLBeacon, CLLocationAccuracy>.self, \.accuracy)
    expect(KeyPath<CLBeacon, Int>.self, \.rssi)
    expect(KeyPath<CLBeacon, Date>.self, \.timestamp)
  }

  @Test("CLLocationManager has Apple's declarations for authorization, regions and ranging")
  func manager() {
    typealias Manager = CLLocationManager
    expect((() -> Manager).self, Manager.init)
    expect(
      ReferenceWritableKeyPath<Manager, (any CLLocationManagerDelegate)?>.self, \.delegate)
    expect((() -> Bool).self, Manager.locationServicesEnabled)
    expect(((AnyClass) -> Bool).self, Manager.isMonitoringAvailable(for:))
    expect((() -> Bool).self, Manager.isRangingAvailable)
    expect(KeyPath<Manager, CLAuthorizationStatus>.self, \.authorizationStatus)
    expect(KeyPath<Manager, CLAccuracyAuthorization>.self, \.accuracyAuthorization)
    expect(KeyPath<Manager, Bool>.self, \.isAuthorizedForWidgetUpdates)
    expect(((Manager) -> () -> Void).self, Manager.requestWhenInUseAuthorization)
    expect(((Manager) -> () -> Void).self, Manager.requestAlwaysAuthorization)
    expect(((Manager) -> (CLRegion) -> Void).self, Manager.startMonitoring(for:))
    expect(((Manager) -> (CLRegion) -> Void).self, Manager.stopMonitoring(for:))
    expect(((Manager) -> (CLRegion) -> Void).self, Manager.requestState(for:))
    expect(KeyPath<Manager, Set<CLRegion>>.self, \.monitoredRegions)
    expect(KeyPath<Manager, CLLocationDistance>.self, \.maximumRegionMonitoringDistance)
    expect(
      ((Manager) -> (CLBeaconIdentityConstraint) -> Void).self,
      Manager.startRangingBeacons(satisfying:))
    expect(
      ((Manager) -> (CLBeaconIdentityConstraint) -> Void).self,
      Manager.stopRangingBeacons(satisfying:))
    expect(
      KeyPath<Manager, Set<CLBeaconIdentityConstraint>>.self, \.rangedBeaconConstraints)
  }

  @Test("CLLocationManager has Apple's declarations that beacons don't need")
  func locations() {
    typealias Manager = CLLocationManager
    for action in [
      Manager.startUpdatingLocation, Manager.stopUpdatingLocation, Manager.requestLocation,
      Manager.startMonitoringSignificantLocationChanges,
      Manager.stopMonitoringSignificantLocationChanges, Manager.startMonitoringVisits,
      Manager.stopMonitoringVisits, Manager.startUpdatingHeading, Manager.stopUpdatingHeading,
      Manager.dismissHeadingCalibrationDisplay,
    ] { expect(((Manager) -> () -> Void).self, action) }
    expect(KeyPath<Manager, CLLocation?>.self, \.location)
    expect(KeyPath<Manager, CLHeading?>.self, \.heading)
    expect(ReferenceWritableKeyPath<Manager, CLLocationAccuracy>.self, \.desiredAccuracy)
    expect(ReferenceWritableKeyPath<Manager, CLLocationDistance>.self, \.distanceFilter)
    expect(ReferenceWritableKeyPath<Manager, CLActivityType>.self, \.activityType)
    expect(ReferenceWritableKeyPath<Manager, CLLocationDegrees>.self, \.headingFilter)
    expect(ReferenceWritableKeyPath<Manager, CLDeviceOrientation>.self, \.headingOrientation)
    expect(ReferenceWritableKeyPath<Manager, Bool>.self, \.allowsBackgroundLocationUpdates)
    expect(ReferenceWritableKeyPath<Manager, Bool>.self, \.pausesLocationUpdatesAutomatically)
    expect(ReferenceWritableKeyPath<Manager, Bool>.self, \.showsBackgroundLocationIndicator)
    #expect(!Manager.headingAvailable() && !Manager.significantLocationChangeMonitoringAvailable())
    let accuracies = [
      kCLLocationAccuracyBestForNavigation, kCLLocationAccuracyBest,
      kCLLocationAccuracyNearestTenMeters, kCLLocationAccuracyHundredMeters,
      kCLLocationAccuracyKilometer, kCLLocationAccuracyThreeKilometers,
    ]
    #expect(accuracies == accuracies.sorted() && kCLLocationAccuracyReduced > 3_000)
    #expect(kCLDistanceFilterNone == -1 && kCLHeadingFilterNone == -1)
    #expect(!CLLocationCoordinate2DIsValid(kCLLocationCoordinate2DInvalid))
    #expect(CLLocationCoordinate2DIsValid(CLLocationCoordinate2DMake(48, 11)))
    let location = CLLocation(
      coordinate: CLLocationCoordinate2D(latitude: 1, longitude: 2), altitude: 3,
      horizontalAccuracy: 4, verticalAccuracy: 5, course: 6, speed: 7, timestamp: .distantPast)
    #expect(location.course == 6 && location.speed == 7 && location.speedAccuracy == -1)
    #expect(CLLocation(latitude: 1, longitude: 2).course == -1 && location.floor == nil)
    expect(KeyPath<CLVisit, Date>.self, \.arrivalDate)
    expect(KeyPath<CLVisit, Date>.self, \.departureDate)
    expect(KeyPath<CLVisit, CLLocationCoordinate2D>.self, \.coordinate)
    expect(KeyPath<CLHeading, CLLocationDirection>.self, \.magneticHeading)
    expect(KeyPath<CLHeading, CLLocationDirection>.self, \.trueHeading)
    expect(KeyPath<CLFloor, Int>.self, \.level)
  }

  /// Both forms of what may be awaited. Compiled, never called.
  private func accuracy(_ manager: CLLocationManager) async throws {
    manager.requestTemporaryFullAccuracyAuthorization(withPurposeKey: "key") { (_: (any Error)?) in
    }
    try await manager.requestTemporaryFullAccuracyAuthorization(withPurposeKey: "key")
  }

  @Test("CLMonitor and its values have Apple's declarations")
  func monitor() {
    expect(((any CLCondition) -> any Sendable).self, { $0 })
    typealias Condition = CLMonitor.BeaconIdentityCondition
    expect(((UUID) -> Condition).self, Condition.init(uuid:))
    expect(((UUID, UInt16) -> Condition).self, Condition.init(uuid:major:))
    expect(((UUID, UInt16, UInt16) -> Condition).self, Condition.init(uuid:major:minor:))
    expect(KeyPath<Condition, UUID>.self, \.uuid)
    expect(KeyPath<Condition, UInt16?>.self, \.major)
    expect(KeyPath<Condition, UInt16?>.self, \.minor)
    expect(((Condition) -> any CLCondition & Codable).self, { $0 })
    expect(
      ((CLLocationCoordinate2D, CLLocationDistance) -> CLMonitor.CircularGeographicCondition).self,
      CLMonitor.CircularGeographicCondition.init(center:radius:))

    typealias Event = CLMonitor.Event
    expect(KeyPath<Event, String>.self, \.identifier)
    expect(KeyPath<Event, Date>.self, \.date)
    expect(KeyPath<Event, CLMonitor.Event.State>.self, \.state)
    expect(KeyPath<Event, (any CLCondition)?>.self, \.refinement)
    let flags: [KeyPath<Event, Bool>] = [
      \.accuracyLimited, \.authorizationDenied, \.authorizationDeniedGlobally,
      \.authorizationRequestInProgress, \.authorizationRestricted, \.conditionLimitExceeded,
      \.conditionUnsupported, \.insufficientlyInUse, \.persistenceUnavailable,
      \.serviceSessionRequired,
    ]
    #expect(Set(flags).count == 10)
    let states: [Event.State] = [.unknown, .satisfied, .unsatisfied, .unmonitored]
    #expect(states.map(\.rawValue) == [0, 1, 2, 3])
    expect(KeyPath<CLMonitor.Record, any CLCondition>.self, \.condition)
    expect(KeyPath<CLMonitor.Record, Event>.self, \.lastEvent)
  }

  /// Members of an actor, as apps write them. Compiled, never called.
  private func actor() async throws {
    let monitor = await CLMonitor("name")
    let condition = CLMonitor.BeaconIdentityCondition(uuid: UUID())
    await monitor.add(condition, identifier: "a")
    await monitor.add(condition, identifier: "b", assuming: .unsatisfied)
    await monitor.remove("a")
    expect([String].self, await monitor.identifiers)
    expect(CLMonitor.Record?.self, await monitor.record(for: "b"))
    for try await event in await monitor.events { expect(CLMonitor.Event.self, event) }
    for try await update in CLLocationUpdate.liveUpdates(.default) {
      expect(CLLocation?.self, update.location)
    }
  }

  @Test("sessions have Apple's declarations")
  func sessions() {
    let requirements: [CLServiceSession.AuthorizationRequirement] = [.none, .whenInUse, .always]
    #expect(requirements.map(\.rawValue) == [0, 1, 2])
    expect((() -> CLBackgroundActivitySession).self, CLBackgroundActivitySession.init)
    expect(
      ((CLBackgroundActivitySession) -> () -> Void).self, CLBackgroundActivitySession.invalidate)
    expect(((CLServiceSession) -> () -> Void).self, CLServiceSession.invalidate)
    expect(
      KeyPath<CLServiceSession, CLServiceSession.Diagnostics>.self, \.diagnostics)
  }

  @Test("members that Apple deprecated exist, with a warning")
  func deprecated() {
    let old: any OldNames = OldNamesUse()
    old.use()
  }
}

/// Avoids the warnings of deprecated members: a deprecated method may use them, and a call of it
/// through a protocol doesn't warn.
private protocol OldNames { func use() }
private struct OldNamesUse: OldNames {
  @available(*, deprecated)
  func use() {
    typealias Manager = CLLocationManager
    #expect(CLAuthorizationStatus.authorized == .authorizedAlways)
    expect(
      ((UUID, String) -> CLBeaconRegion).self, CLBeaconRegion.init(proximityUUID:identifier:))
    expect(
      ((UUID, UInt16, String) -> CLBeaconRegion).self,
      CLBeaconRegion.init(proximityUUID:major:identifier:))
    expect(
      ((UUID, UInt16, UInt16, String) -> CLBeaconRegion).self,
      CLBeaconRegion.init(proximityUUID:major:minor:identifier:))
    expect(KeyPath<CLBeaconRegion, UUID>.self, \.proximityUUID)
    expect(KeyPath<CLBeacon, UUID>.self, \.proximityUUID)
    expect((() -> CLAuthorizationStatus).self, Manager.authorizationStatus)
    expect(
      ((Manager) -> (CLRegion, CLLocationAccuracy) -> Void).self,
      Manager.startMonitoring(for:desiredAccuracy:))
    expect(((Manager) -> (CLBeaconRegion) -> Void).self, Manager.startRangingBeacons(in:))
    expect(((Manager) -> (CLBeaconRegion) -> Void).self, Manager.stopRangingBeacons(in:))
    expect(KeyPath<Manager, Set<CLRegion>>.self, \.rangedRegions)
    #expect(!Manager.deferredLocationUpdatesAvailable())
    expect(
      ((Manager) -> (CLLocationDistance, TimeInterval) -> Void).self,
      Manager.allowDeferredLocationUpdates(untilTraveled:timeout:))
    expect(((Manager) -> () -> Void).self, Manager.disallowDeferredLocationUpdates)
  }
}
