import CoreLocation
import Testing

@Suite("Values of Core Location")
struct ValueTests {
  private let uuid = UUID(
    uuid: (
      0xE2, 0xC5, 0x6D, 0xB5, 0xDF, 0xFB, 0x48, 0xD2, 0xB0, 0x60, 0xD0, 0xF5, 0xA7, 0x10, 0x96, 0xE0
    ))

  @Test("conditions of both kinds are encoded and decoded")
  func conditions() throws {
    let circle = CLMonitor.CircularGeographicCondition(
      center: CLLocationCoordinate2D(latitude: 52.5, longitude: -13.25), radius: 100)
    let beacon = CLMonitor.BeaconIdentityCondition(uuid: uuid, major: 7)
    let conditions: [any CLCondition] = [circle, beacon]
    let encoded = try conditions.map { try JSONEncoder().encode($0) }
    let decoder = JSONDecoder()
    let other = try decoder.decode(CLMonitor.CircularGeographicCondition.self, from: encoded[0])
    #expect(other.center.latitude == 52.5 && other.center.longitude == -13.25)
    #expect(other.radius == 100)
    #expect(try decoder.decode(CLMonitor.BeaconIdentityCondition.self, from: encoded[1]) == beacon)
    #expect(throws: DecodingError.self) {
      try decoder.decode(CLMonitor.CircularGeographicCondition.self, from: encoded[1])
    }
  }

  @Test("enumerations have Apple's raw values")
  func rawValues() {
    #expect([CLProximity.unknown, .immediate, .near, .far].map(\.rawValue) == [0, 1, 2, 3])
    #expect([CLRegionState.unknown, .inside, .outside].map(\.rawValue) == [0, 1, 2])
    let statuses: [CLAuthorizationStatus] = [
      .notDetermined, .restricted, .denied, .authorizedAlways, .authorizedWhenInUse,
    ]
    #expect(statuses.map(\.rawValue) == [0, 1, 2, 3, 4])
    #expect(CLAccuracyAuthorization.fullAccuracy.rawValue == 0)
    #expect(CLAccuracyAuthorization.reducedAccuracy.rawValue == 1)
    let codes: [CLError.Code] = [
      .locationUnknown, .denied, .network, .headingFailure, .regionMonitoringDenied,
      .regionMonitoringFailure, .regionMonitoringSetupDelayed, .regionMonitoringResponseDelayed,
      .geocodeFoundNoResult, .geocodeFoundPartialResult, .geocodeCanceled, .deferredFailed,
      .deferredNotUpdatingLocation, .deferredAccuracyTooLow, .deferredDistanceFiltered,
      .deferredCanceled, .rangingUnavailable, .rangingFailure, .promptDeclined,
      .historicalLocationError,
    ]
    #expect(codes.map(\.rawValue) == Array(0...19))
    #expect(CLBeaconMajorValue.self == UInt16.self && CLBeaconMinorValue.self == UInt16.self)
  }

  @Test("errors are caught by their code, and are NSErrors of Apple's domain")
  func errors() throws {
    let error: any Error = CLError(.rangingUnavailable)
    do { throw error } catch CLError.rangingUnavailable {} catch {
      Issue.record("not caught by its code: \(error)")
    }
    #expect((error as NSError).domain == kCLErrorDomain)
    #expect((error as NSError).code == 16)
    #expect(
      CLError(_nsError: NSError(domain: kCLErrorDomain, code: 5)).code == .regionMonitoringFailure)
    let other = CLBeaconRegion(uuid: uuid, identifier: "other")
    let alternative = CLError(
      .regionMonitoringFailure, userInfo: [kCLErrorUserInfoAlternateRegionKey: other])
    #expect(alternative.alternateRegion == other)
    #expect(CLError(.denied).alternateRegion == nil)
  }

  @Test("regions are equal if their identifiers are, and copies are of their own")
  func regions() throws {
    let region = CLBeaconRegion(uuid: uuid, major: 7, identifier: "hall")
    #expect(region.notifyOnEntry && region.notifyOnExit && !region.notifyEntryStateOnDisplay)
    region.notifyOnExit = false
    region.notifyEntryStateOnDisplay = true
    let copy = try #require(region.copy() as? CLBeaconRegion)
    #expect(copy !== region && copy == region && copy.hash == region.hash)
    #expect(!copy.notifyOnExit && copy.notifyEntryStateOnDisplay && copy.major == 7)
    copy.notifyOnExit = true
    #expect(!region.notifyOnExit)
    let circle = CLCircularRegion(
      center: CLLocationCoordinate2D(latitude: 48.1, longitude: 11.5), radius: 100,
      identifier: "hall")
    #expect(Set<CLRegion>([region, copy, circle]).count == 1)
    #expect(region != CLBeaconRegion(uuid: uuid, major: 7, identifier: "room"))
    #expect(circle.contains(CLLocationCoordinate2D(latitude: 48.1005, longitude: 11.5)))
    #expect(!circle.contains(CLLocationCoordinate2D(latitude: 48.102, longitude: 11.5)))
  }

  @Test("constraints are equal if they mean the same beacons")
  func constraints() {
    let all = CLBeaconIdentityConstraint(uuid: uuid)
    let group = CLBeaconIdentityConstraint(uuid: uuid, major: 7)
    let one = CLBeaconIdentityConstraint(uuid: uuid, major: 7, minor: 0)
    #expect(Set([all, group, one, CLBeaconIdentityConstraint(uuid: uuid, major: 7)]).count == 3)
    #expect(all.major == nil && group.minor == nil && one.minor == 0)
    let region = CLBeaconRegion(beaconIdentityConstraint: one, identifier: "one")
    #expect(region.uuid == uuid && region.major == 7 && region.minor == 0)
    #expect(CLBeaconRegion(uuid: uuid, identifier: "all").major == nil)
  }

  @Test("a beacon with unknown values reports that")
  func freshBeacon() {
    let beacon = CLBeacon()
    #expect(beacon.proximity == .unknown && beacon.accuracy == -1 && beacon.rssi == 0)
  }

  // MARK: Archives

  private func archived<Value: NSObject & NSSecureCoding>(_ value: Value) throws -> Value {
    let data = try NSKeyedArchiver.archivedData(
      withRootObject: value, requiringSecureCoding: true)
    return try #require(
      try NSKeyedUnarchiver.unarchivedObject(ofClass: Value.self, from: data))
  }

  @Test("archived values come back with all their properties")
  func archives() throws {
    let region = CLBeaconRegion(uuid: uuid, major: 0, minor: 65_535, identifier: "höll")
    region.notifyOnEntry = false
    let back = try archived(region)
    #expect(back.identifier == "höll" && !back.notifyOnEntry && back.notifyOnExit)
    #expect(back.beaconIdentityConstraint == region.beaconIdentityConstraint)
    for constraint in [
      CLBeaconIdentityConstraint(uuid: uuid), CLBeaconIdentityConstraint(uuid: uuid, major: 1),
      CLBeaconIdentityConstraint(uuid: uuid, major: 1, minor: 2),
    ] { #expect(try archived(constraint) == constraint) }
    let circle = CLCircularRegion(
      center: CLLocationCoordinate2D(latitude: 1, longitude: 2), radius: 3, identifier: "c")
    #expect(try archived(circle).center.longitude == 2)
    #expect(try archived(CLBeacon()).accuracy == -1)
    #expect(try archived(CLLocation(latitude: 3, longitude: 4)).coordinate.latitude == 3)
  }

  @Test("an archive that makes no sense gives nothing", arguments: [-1, 65_536, Int.max])
  func hostileArchives(_ major: Int) throws {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    archiver.encode(uuid.uuidString as NSString, forKey: "uuid")
    archiver.encode("hall" as NSString, forKey: "identifier")
    archiver.encode(major, forKey: "major")
    archiver.finishEncoding()
    let data = archiver.encodedData
    func unarchiver() throws -> NSKeyedUnarchiver {
      let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
      unarchiver.decodingFailurePolicy = .setErrorAndReturn
      return unarchiver
    }
    #expect(CLBeaconIdentityConstraint(coder: try unarchiver()) == nil)
    #expect(CLBeaconRegion(coder: try unarchiver()) == nil)
    #expect(CLBeacon(coder: try unarchiver()) == nil)

    let empty = NSKeyedArchiver(requiringSecureCoding: true)
    empty.encode(7, forKey: "minor")
    empty.finishEncoding()
    #expect(CLRegion(coder: try NSKeyedUnarchiver(forReadingFrom: empty.encodedData)) == nil)
  }

  // MARK: Being a beacon

  @Test(
    "the data of a beacon has Apple's bytes",
    arguments: [(NSNumber(value: -70), "BA"), (nil, "C5"), (NSNumber(value: -300), "80")])
  func peripheralData(_ power: NSNumber?, _ last: String) throws {
    let region = CLBeaconRegion(uuid: uuid, major: 513, minor: 258, identifier: "vector")
    let dictionary = region.peripheralData(withMeasuredPower: power)
    #expect(dictionary.allKeys as? [String] == ["kCBAdvDataAppleBeaconKey"])
    let data = try #require(dictionary["kCBAdvDataAppleBeaconKey"] as? Data)
    let text = data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
    #expect(text == "E2C56DB5DFFB48D2B060D0F5A71096E002010102" + last)
    let all = CLBeaconRegion(uuid: uuid, identifier: "all").peripheralData(withMeasuredPower: 0)
    #expect((all["kCBAdvDataAppleBeaconKey"] as? Data)?.suffix(5) == Data([0, 0, 0, 0, 0]))
  }
}
