import BluetoothHost
import CoreBluetooth
import CoreLocation
import Essentials
import SimulatedRadio
import Simulation
import Synchronization
import Testing

@Suite("Ranging beacons")
struct RangingTests {
  private let room = BeaconRoom()
  private let recorder = LocationRecorder()
  private let manager: CLLocationManager
  private let constraint = CLBeaconIdentityConstraint(uuid: BeaconRoom.uuid, major: 1)

  init() { manager = room.makeManager(recorder) }

  @Test("beacons in range are reported once a second, nearest first; none is an empty array")
  func ranging() throws {
    _ = recorder.take()
    manager.startRangingBeacons(satisfying: constraint)
    manager.startRangingBeacons(satisfying: constraint)
    #expect(manager.rangedBeaconConstraints == [constraint])
    room.radio.advance(by: .milliseconds(3_500))
    #expect(recorder.take() == ["ranged []", "ranged []", "ranged []"])
    room.addBeacon(minor: 8, metres: 12)
    room.addBeacon(minor: 3, metres: 0.3)
    room.addBeacon(major: 2, minor: 4)
    room.radio.advance(by: .seconds(3))
    #expect(recorder.take().last == "ranged [3, 8]")
    let beacons = try #require(recorder.beacons.withLock { $0.last })
    let nearest = try #require(beacons.first)
    #expect(nearest.uuid == BeaconRoom.uuid && nearest.major == 1)
    #expect(nearest.proximity == .immediate || nearest.proximity == .near)
    #expect(nearest.rssi < 0 && nearest.accuracy > 0)
    #expect(nearest.rssi > (beacons.last?.rssi ?? 0))
    let age = (room.radio.now - .zero).seconds - nearest.timestamp.timeIntervalSinceReferenceDate
    #expect((0...1.2).contains(age))
    manager.stopRangingBeacons(satisfying: constraint)
    room.radio.advance(by: .seconds(3))
    #expect(recorder.take() == [] && manager.rangedBeaconConstraints.isEmpty)
  }

  @Test("a beacon that falls silent is unknown, and then gone")
  func silence() throws {
    let beacon = room.addBeacon(minor: 3)
    manager.startRangingBeacons(satisfying: constraint)
    room.radio.advance(by: .seconds(3))
    beacon.stopAdvertising()
    room.radio.advance(by: .seconds(4))
    let silent = try #require(recorder.beacons.withLock { $0.last?.first })
    #expect(silent.proximity == .unknown && silent.rssi == 0 && silent.accuracy < 0)
    room.radio.advance(by: .seconds(8))
    #expect(recorder.lines.last == "ranged []")
  }

  @available(*, deprecated, message: "Tests what is deprecated")
  @Test("the old spelling ranges regions, by its own callbacks")
  func regions() {
    let region = CLBeaconRegion(proximityUUID: BeaconRoom.uuid, major: 1, identifier: "hall")
    room.addBeacon(minor: 3)
    _ = recorder.take()
    manager.startRangingBeacons(in: region)
    #expect(manager.rangedRegions == [region] && manager.rangedBeaconConstraints.isEmpty)
    room.radio.advance(by: .milliseconds(1_500))
    #expect(recorder.take() == ["ranged [3] in hall"])
    manager.startRangingBeacons(satisfying: constraint)
    room.radio.advance(by: .seconds(1))
    #expect(recorder.take() == ["ranged [3]", "ranged [3] in hall"])
    manager.stopRangingBeacons(in: region)
    room.radio.advance(by: .seconds(1))
    #expect(recorder.take() == ["ranged [3]"])
  }

  @Test("without its radio ranging fails, and goes on when it is back")
  func radioAway() {
    room.addBeacon(minor: 3)
    manager.startRangingBeacons(satisfying: constraint)
    room.radio.advance(by: .seconds(2))
    _ = recorder.take()
    room.radio.withController(of: room.phone) { $0.crash() }
    room.radio.advance(by: .seconds(10))
    let lines = recorder.take()
    #expect(lines.starts(with: ["ranged []", "ranging failed rangingUnavailable"]))
    #expect(lines.last == "ranged [3]")
  }

  @Test("two managers range the same, and each stops for itself")
  func twoManagers() {
    room.addBeacon(minor: 3)
    let other = LocationRecorder()
    var second: CLLocationManager? = room.makeManager(other)
    manager.startRangingBeacons(satisfying: constraint)
    second?.startRangingBeacons(satisfying: constraint)
    room.radio.advance(by: .seconds(2))
    #expect(recorder.take().last == "ranged [3]" && other.take().last == "ranged [3]")
    second = nil
    room.radio.advance(by: .seconds(2))
    #expect(recorder.take().last == "ranged [3]" && other.take() == [])
  }

  @Test("a central manager that scans at the same time is not affected")
  func sharedScan() {
    final class Central: NSObject, CBCentralManagerDelegate, Sendable {
      let count = Mutex(0)
      func centralManagerDidUpdateState(_ central: CBCentralManager) {
        if central.state == .poweredOn { central.scanForPeripherals(withServices: nil) }
      }
      func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
        advertisementData: [String: Any], rssi RSSI: NSNumber
      ) { count.withLock { $0 += 1 } }
    }
    let delegate = Central()
    let central = BluetoothHost.$current.withValue(room.phone) {
      CBCentralManager(delegate: delegate, queue: DispatchQueue(label: "central"))
    }
    room.addBeacon(minor: 3)
    manager.startRangingBeacons(satisfying: constraint)
    room.radio.advance(by: .seconds(3))
    // Without duplicates: once, though ranging gets every advertisement.
    #expect(delegate.count.withLock { $0 } == 1)
    #expect(recorder.take().last == "ranged [3]")
    manager.stopRangingBeacons(satisfying: constraint)
    room.addBeacon(minor: 4)
    room.radio.advance(by: .seconds(2))
    #expect(delegate.count.withLock { $0 } == 2)
    #expect(central.isScanning)
  }
}
