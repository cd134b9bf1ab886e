import BluetoothHost
import BluetoothInterface
import CoreBluetooth
import CoreLocation
import Essentials
import SimulatedRadio
import Simulation
import Synchronization
import Testing

@Suite("Advertising a beacon")
struct BeaconAdvertisingTests {
  /// What a peripheral manager's delegate is called with when advertising starts.
  private final class Starts: NSObject, CBPeripheralManagerDelegate, Sendable {
    let results = Mutex<[String]>([])
    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}
    func peripheralManagerDidStartAdvertising(
      _ peripheral: CBPeripheralManager, error: (any Error)?
    ) { results.withLock { $0.append((error as? CBError).map { "\($0.code)" } ?? "ok") } }
  }

  private let radio = VirtualRadio(seed: 3)
  private let starts = Starts()
  private let manager: CBPeripheralManager
  private let region = CLBeaconRegion(
    uuid: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)), major: 0x0102,
    minor: 0x0304, identifier: "beacon")

  init() {
    let host = radio.makeHost(name: "beacon")
    let starts = starts
    manager = BluetoothHost.$current.withValue(host) {
      CBPeripheralManager(delegate: starts, queue: DispatchQueue(label: "beacon"))
    }
    radio.advance(by: .seconds(1))
  }

  @Test("a region's data is on the air as Apple's 30 bytes, and cannot be connected with")
  func bytesOnAir() throws {
    let heard = Mutex<[AdvertisingReport]>([])
    let client = radio.makeHost(name: "phone", at: Position(x: 1, y: 0)).makeClient { event in
      if case .discovered(let report) = event { heard.withLock { $0.append(report) } }
    }
    client.send(.startScan(ScanOptions()))
    let data = region.peripheralData(withMeasuredPower: -59)
    manager.startAdvertising(data as? [String: Any])
    radio.advance(by: .seconds(2))
    #expect(starts.results.withLock { $0 } == ["ok"])
    let report = try #require(heard.withLock { $0.first })
    #expect(
      Array(report.data) == [2, 1, 6, 0x1A, 0xFF, 0x4C, 0, 2, 0x15] + Array(1...16)
        + [1, 2, 3, 4, 0xC5])
    #expect(report.data.count == 30 && report.scanResponse.isEmpty)
    #expect(!report.isConnectable && !report.isScannable && report.isLegacy)
    client.close()
  }

  @Test("a value that is no beacon is an error, and nothing is advertised")
  func wrongValues() {
    for value: Any in [Data(count: 20), Data(count: 22), "beacon", Data()] {
      manager.startAdvertising(["kCBAdvDataAppleBeaconKey": value])
      radio.advance(by: .seconds(1))
    }
    #expect(starts.results.withLock { $0 } == Array(repeating: "invalidParameters", count: 4))
    #expect(!manager.isAdvertising)
    manager.startAdvertising(region.peripheralData(withMeasuredPower: nil) as? [String: Any])
    radio.advance(by: .seconds(1))
    #expect(manager.isAdvertising)
  }
}
