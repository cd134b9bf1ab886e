import BluetoothHost
import CoreBluetooth
import CoreLocation
import Essentials
import SimulatedRadio
import Simulation
import Testing

@testable import CoreLocationAsync

@Suite("Beacons as sequences")
struct BeaconsTests {
  private let room = BeaconRoom()
  private let beacons: Beacons
  private let region = CLBeaconRegion(uuid: BeaconRoom.uuid, major: 1, identifier: "hall")

  init() {
    beacons = Self.makeBeacons(in: room, policy: .always)
  }

  private static func makeBeacons(in room: BeaconRoom, policy: LocationPolicy) -> Beacons {
    let beacons = BluetoothHost.$current.withValue(room.phone) {
      LocationPolicy.$override.withValue(policy) { Beacons() }
    }
    room.radio.advance(by: .seconds(1))
    return beacons
  }

  @Test("the beacons in range are sent once a second; the last report waits until it is taken")
  func ranged() async throws {
    room.addBeacon(minor: 7, metres: 1)
    room.addBeacon(minor: 8, metres: 8)
    var reports = beacons.ranged(satisfying: region.beaconIdentityConstraint).makeAsyncIterator()
    room.radio.advance(by: .seconds(5))
    let first = try #require(try await reports.next())
    #expect(first.map { $0.minor.intValue } == [7, 8])
    room.beacons.first?.stopAdvertising()
    room.radio.advance(by: .seconds(30))
    #expect(try await reports.next()?.map { $0.minor.intValue } == [8])
  }

  @Test("sequences of one constraint share its ranging, which ends with the last of them")
  func sharedRanging() async throws {
    let constraint = region.beaconIdentityConstraint
    let manager = beacons.locationManager
    var first: AsyncThrowingStream<[CLBeacon], any Error>? = beacons.ranged(satisfying: constraint)
    var second: AsyncThrowingStream<[CLBeacon], any Error>? = beacons.ranged(satisfying: constraint)
    #expect(manager.rangedBeaconConstraints == [constraint])
    first = nil
    #expect(manager.rangedBeaconConstraints == [constraint])
    second = nil
    #expect(manager.rangedBeaconConstraints == [])
    withExtendedLifetime((first, second)) {}
    // What the program began itself goes on.
    manager.startRangingBeacons(satisfying: constraint)
    _ = beacons.ranged(satisfying: constraint)
    #expect(manager.rangedBeaconConstraints == [constraint])
  }

  @Test("a radio that is away ends no sequence: none are in range, and it goes on")
  func radioAway() async throws {
    room.addBeacon(minor: 7)
    var reports = beacons.ranged(satisfying: region.beaconIdentityConstraint).makeAsyncIterator()
    room.radio.advance(by: .seconds(2))
    #expect(try await reports.next()?.count == 1)
    room.radio.withController(of: room.phone) { $0.crash() }
    room.radio.advance(by: .seconds(60))
    #expect(try await reports.next()?.map { $0.minor.intValue } == [7])
  }

  @Test("a sequence that ranges ends with the error that ranging has")
  func rangingFails() async throws {
    let other = BeaconRoom()
    let denied = Self.makeBeacons(in: other, policy: .denied)
    var reports = denied.ranged(satisfying: region.beaconIdentityConstraint).makeAsyncIterator()
    other.radio.advance(by: .seconds(1))
    await #expect(throws: CLError(.rangingUnavailable)) { _ = try await reports.next() }
  }

  @Test("a region's state is sent at once and with each change, its crossings as they come")
  func statesAndCrossings() async throws {
    var states = beacons.states(of: region).makeAsyncIterator()
    var crossings = beacons.crossings(of: region).makeAsyncIterator()
    room.radio.advance(by: .seconds(1))
    #expect(try await states.next() == .unknown)
    let beacon = room.addBeacon(minor: 1)
    room.radio.advance(by: .seconds(2))
    #expect(try await states.next() == .inside)
    #expect(try await crossings.next() == .entered)
    beacon.stopAdvertising()
    room.radio.advance(by: .seconds(40))
    #expect(try await states.next() == .outside)
    #expect(try await crossings.next() == .exited)
    #expect(beacons.locationManager.monitoredRegions == [region])
    // A second sequence gets the known state.
    var more = beacons.states(of: region).makeAsyncIterator()
    room.radio.advance(by: .seconds(1))
    #expect(try await more.next() == .outside)
  }

  @Test("only the last two crossings that were not awaited wait")
  func slowTaker() async throws {
    var crossings = beacons.crossings(of: region).makeAsyncIterator()
    for _ in 0..<3 {
      let beacon = room.addBeacon(minor: 1)
      // Long enough to be a visitor's stay, and not the pause of a beacon that advertises rarely.
      room.radio.advance(by: .seconds(20))
      beacon.stopAdvertising()
      room.radio.advance(by: .seconds(40))
    }
    #expect(try await crossings.next() == .entered)
    #expect(try await crossings.next() == .exited)
  }

  @Test("a region is monitored as long as a sequence is about it, or longer if it was before")
  func monitoring() {
    let manager = beacons.locationManager
    _ = beacons.states(of: region)
    #expect(manager.monitoredRegions == [])
    manager.startMonitoring(for: region)
    _ = beacons.crossings(of: region)
    #expect(manager.monitoredRegions == [region])
  }

  @Test("a region that can't be monitored ends the sequence with Apple's error")
  func monitoringFails() async throws {
    for number in 0..<20 {
      beacons.locationManager.startMonitoring(
        for: CLBeaconRegion(uuid: BeaconRoom.uuid, identifier: "\(number)"))
    }
    var states = beacons.states(of: region).makeAsyncIterator()
    room.radio.advance(by: .seconds(1))
    await #expect(throws: CLError(.regionMonitoringFailure)) { _ = try await states.next() }
  }

  @Test("the authorization is sent now and when it changes")
  func authorization() async {
    let asking = Self.makeBeacons(in: room, policy: .ask)
    // The room's services have a policy already; one room, one program.
    var statuses = asking.authorizations().makeAsyncIterator()
    #expect(await statuses.next() == .authorizedAlways)
    let other = BeaconRoom()
    let first = Self.makeBeacons(in: other, policy: .ask)
    var changes = first.authorizations().makeAsyncIterator()
    #expect(await changes.next() == .notDetermined)
    first.locationManager.requestWhenInUseAuthorization()
    other.radio.advance(by: .seconds(1))
    #expect(await changes.next() == .authorizedWhenInUse)
  }
}
