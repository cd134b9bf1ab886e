import AppLifecycleTesting
import BenchmarkSupport
import BluetoothInterface
import BluetoothWire
import CoreBluetooth
import Essentials
import SimulatedRadio
import Simulation
import Synchronization

/// An app that opens a lock each time it is connected.
private final class LockApp: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  private static let service = CBUUID(string: "FFF0")
  private var central: CBCentralManager?
  private var lock: CBPeripheral?

  override init() {
    super.init()
    central = CBCentralManager(
      delegate: self, queue: nil, options: [CBCentralManagerOptionRestoreIdentifierKey: "lock"])
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    lock = (dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral])?.first
    lock?.delegate = self
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn, lock == nil else { return }
    central.scanForPeripherals(withServices: [Self.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    central.stopScan()
    lock = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices([Self.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) { central.connect(peripheral) }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] {
      peripheral.discoverCharacteristics(nil, for: service)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) {
    guard let command = service.characteristics?.first else { return }
    peripheral.writeValue(Data([1]), for: command, type: .withResponse)
  }
}

/// A week of a door lock: its owner comes home twice a day, each time after the app was terminated, and is near the lock
/// for a minute.
///
/// Nordic's CoreBluetoothMock has one call for restoration, which gives a manager a dictionary that the test makes; it
/// runs on Apple's systems only, so that it can't be measured here.
func runDoorLock(into table: inout Table) async throws {
  let app = SimulatedApp(
    "com.example.lock", infoPlist: ["UIBackgroundModes": ["bluetooth-central"]]
  ) { _ in LockApp() }
  let clock = ContinuousClock()
  let start = clock.now
  let openedCount = try await SimulatedPhone.run(seed: 1, apps: [app]) { phone in
    let opened = Mutex(0)
    let lock = phone.addDevice(named: "Lock") { lock in
      let command = lock.addService(0xFFF0).addCharacteristic(0xFFF1, [.write])
      command.onWrite { _, _ in
        opened.withLock { $0 += 1 }
        return .success(())
      }
    }
    func move(to x: Double) {
      phone.radio.withWorld { _ in lock.controller.position = Position(x: x, y: 0) }
    }
    let installed = phone[app]
    installed.open()
    phone.advance(by: .seconds(30))
    installed.sendToBackground()
    for _ in 0..<14 {
      move(to: 100_000)
      phone.advance(by: .minutes(5))
      installed.terminate(.memoryPressure)
      phone.advance(by: .hours(12) + .minutes(6) * -1)
      move(to: 1)
      phone.advance(by: .minutes(1))
    }
    precondition(installed.launches.count == 15, "the app was not launched each time")
    return opened.withLock { $0 }
  }
  let span = clock.now - start
  precondition(openedCount == 15, "the door was opened \(openedCount) times")
  table.heading("A phone in virtual time", "")
  table.add(
    "a week of a door lock",
    Double(span.components.attoseconds) / 1e18 + Double(span.components.seconds), "s")
}
