import BluetoothHost
import BluetoothInterface
import BluetoothWire
import CoreBluetooth
import Essentials
import SimulatedRadio
import Simulation
import Synchronization
import Testing

@testable import CoreLocation

@Suite("Five thousand beacons")
struct CrowdTests {
  @Test("five thousand beacons are ranged in one report a second, nearest first, and entered once")
  func crowd() throws {
    let room = BeaconRoom()
    let recorder = LocationRecorder()
    let manager = room.makeManager(recorder)
    let uuid = BluetoothUUID(BeaconRoom.uuid)
    _ = recorder.take()
    manager.startMonitoring(for: CLBeaconRegion(uuid: BeaconRoom.uuid, identifier: "hall"))
    manager.startRangingBeacons(satisfying: CLBeaconIdentityConstraint(uuid: BeaconRoom.uuid))
    room.radio.advance(by: .milliseconds(100))
    let services = BluetoothHost.$current.withValue(room.phone) { LocationServices.current }
    for _ in 0..<4 {
      services.perform { services in
        let now = services.hostSession?.loop.now ?? .zero
        for number in 0..<5_000 {
          let beacon = IBeacon(
            uuid: uuid, major: UInt16(number / 100), minor: UInt16(number % 100),
            powerAtOneMetre: -59)
          services.handle(
            .discovered(
              AdvertisingReport(
                address: DeviceAddress(bits: UInt64(number), kind: .random), isConnectable: false,
                isScannable: false, isLegacy: true, rssi: Int8(-40 - number % 50),
                data: beacon.advertisingData[...], heardAt: now)))
        }
      }
      room.radio.advance(by: .milliseconds(500))
    }
    let lines = recorder.take()
    #expect(lines.filter { $0.hasPrefix("entered") } == ["entered hall"])
    let reports = recorder.beacons.withLock(\.self)
    #expect((1...2).contains(reports.count))
    let last = try #require(reports.last)
    #expect(last.count == 5_000)
    #expect(zip(last, last.dropFirst()).allSatisfy { $0.accuracy <= $1.accuracy })
  }
}
