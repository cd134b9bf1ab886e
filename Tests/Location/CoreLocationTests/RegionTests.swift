import BluetoothHost
import CoreBluetooth
import CoreLocation
import Essentials
import SimulatedRadio
import Simulation
import Synchronization
import Testing

@Suite("Monitoring beacon regions")
struct RegionTests {
  private let room = BeaconRoom()
  private let recorder = LocationRecorder()
  private let manager: CLLocationManager
  private let region = CLBeaconRegion(uuid: BeaconRoom.uuid, major: 1, identifier: "hall")

  init() { manager = room.makeManager(recorder) }

  @Test("the first callback is the authorization")
  func firstCallback() {
    #expect(recorder.take() == ["authorization authorizedAlways"])
    #expect(manager.authorizationStatus == .authorizedAlways)
    #expect(manager.accuracyAuthorization == .fullAccuracy)
  }

  @Test("a beacon that comes and goes is entered once and left once, the state with each")
  func enterAndExit() {
    _ = recorder.take()
    manager.startMonitoring(for: region)
    room.radio.advance(by: .seconds(2))
    #expect(recorder.take() == ["monitoring hall"])
    let beacon = room.addBeacon(minor: 5)
    room.addBeacon(major: 2, minor: 6)
    room.radio.advance(by: .seconds(60))
    #expect(recorder.take() == ["entered hall", "inside hall"])
    beacon.stopAdvertising()
    room.radio.advance(by: .seconds(25))
    #expect(recorder.take() == [])
    room.radio.advance(by: .seconds(10))
    #expect(recorder.take() == ["exited hall", "outside hall"])
  }

  @Test("a region that nothing is heard of is outside after the exit delay, without an exit")
  func emptyRegion() {
    manager.startMonitoring(for: region)
    room.radio.advance(by: .seconds(35))
    #expect(recorder.take().suffix(2) == ["monitoring hall", "outside hall"])
  }

  @Test("a state that is asked for is answered, and one of an unknown region is not")
  func requestState() {
    manager.startMonitoring(for: region)
    room.radio.advance(by: .seconds(1))
    _ = recorder.take()
    manager.requestState(for: region)
    manager.requestState(for: CLBeaconRegion(uuid: BeaconRoom.uuid, identifier: "elsewhere"))
    manager.requestState(for: CLCircularRegion(center: .init(), radius: 1, identifier: "hall"))
    room.radio.advance(by: .seconds(1))
    #expect(recorder.take() == ["unknown hall"])
    room.addBeacon(minor: 5)
    room.radio.advance(by: .seconds(1))
    _ = recorder.take()
    manager.requestState(for: region)
    room.radio.advance(by: .seconds(1))
    #expect(recorder.take() == ["inside hall"])
  }

  @Test("the 21st region fails, and one of the same identifier replaces")
  func limit() {
    _ = recorder.take()
    for number in 0..<20 {
      manager.startMonitoring(
        for: CLBeaconRegion(uuid: BeaconRoom.uuid, major: UInt16(number), identifier: "\(number)"))
    }
    manager.startMonitoring(for: region)
    room.radio.advance(by: .seconds(1))
    #expect(
      recorder.take().filter { $0.hasPrefix("failed") } == ["failed hall regionMonitoringFailure"])
    #expect(manager.monitoredRegions.count == 20)
    let other = CLBeaconRegion(uuid: BeaconRoom.uuid, major: 99, identifier: "7")
    manager.startMonitoring(for: other)
    room.radio.advance(by: .seconds(1))
    #expect(recorder.take() == ["monitoring 7"])
    let seventh = manager.monitoredRegions.first { $0.identifier == "7" } as? CLBeaconRegion
    #expect(seventh?.major == 99)
    manager.stopMonitoring(for: other)
    manager.startMonitoring(for: region)
    room.radio.advance(by: .seconds(1))
    #expect(recorder.take() == ["monitoring hall"])
  }

  @Test("a region on the globe fails with Apple's error")
  func circularRegion() {
    _ = recorder.take()
    manager.startMonitoring(
      for: CLCircularRegion(center: .init(), radius: 100, identifier: "globe"))
    room.radio.advance(by: .seconds(1))
    #expect(recorder.take() == ["failed globe regionMonitoringFailure"])
    #expect(manager.monitoredRegions.isEmpty)
    #expect(!CLLocationManager.isMonitoringAvailable(for: CLCircularRegion.self))
  }

  @Test("regions are those of the program: another manager sees and stops them")
  func sharedRegions() {
    manager.startMonitoring(for: region)
    let other = LocationRecorder()
    let second = room.makeManager(other)
    _ = (recorder.take(), other.take())
    #expect(second.monitoredRegions == [region])
    room.addBeacon(minor: 1)
    room.radio.advance(by: .seconds(1))
    #expect(recorder.take() == ["entered hall", "inside hall"])
    #expect(other.take() == ["entered hall", "inside hall"])
    second.stopMonitoring(for: region)
    room.radio.advance(by: .seconds(60))
    #expect(manager.monitoredRegions.isEmpty)
    #expect(recorder.take() == [] && other.take() == [])
  }

  @Test("notifyOnEntry and notifyOnExit leave the states")
  func notifications() {
    region.notifyOnEntry = false
    region.notifyOnExit = false
    manager.startMonitoring(for: region)
    region.notifyOnEntry = true  // Too late: the region was copied.
    _ = recorder.take()
    let beacon = room.addBeacon(minor: 1)
    room.radio.advance(by: .seconds(5))
    beacon.stopAdvertising()
    room.radio.advance(by: .seconds(35))
    #expect(recorder.take() == ["monitoring hall", "inside hall", "outside hall"])
  }

  @Test("a radio that is away makes the state unknown, and its return no second enter")
  func radioAway() {
    manager.startMonitoring(for: region)
    room.addBeacon(minor: 1)
    room.radio.advance(by: .seconds(2))
    _ = recorder.take()
    room.radio.withController(of: room.phone) { $0.crash() }
    room.radio.advance(by: .seconds(60))
    #expect(recorder.take() == ["unknown hall", "inside hall"])
  }

  @Test("a manager that is released while it monitors makes no other call")
  func release() {
    let other = LocationRecorder()
    var second: CLLocationManager? = room.makeManager(other)
    second?.startMonitoring(for: region)
    second?.startRangingBeacons(satisfying: region.beaconIdentityConstraint)
    room.addBeacon(minor: 1)
    _ = (recorder.take(), other.take())
    weak let released = second
    second = nil
    room.radio.advance(by: .seconds(3))
    #expect(released == nil)
    #expect(other.take() == [])
    // What it monitored is the program's.
    #expect(manager.monitoredRegions == [region])
  }
}
