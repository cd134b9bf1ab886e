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
  table.heading("A phone in virtual time", "")
  table.add("a week of a door lock", try await week(.inProcess).seconds, "s")
  let week = try await week(.process)
  table.add("the same with processes", week.seconds, "s")
  table.add("from a launch to willRestoreState, p50", week.launches.median * 1_000, "ms")
}

/// The times of a week, in seconds.
private struct Week: Sendable {
  var seconds: Double
  /// From the event that launches the app to the callback, each time.
  var launches: [Double]
}

extension [Double] {
  fileprivate var median: Double { isEmpty ? 0 : sorted()[count / 2] }
}

extension Duration {
  fileprivate var inSeconds: Double {
    Double(components.attoseconds) / 1e18 + Double(components.seconds)
  }
}

private func week(_ isolation: SimulatedPhone.Isolation) async throws -> Week {
  let app = SimulatedApp(
    "com.example.lock", infoPlist: ["UIBackgroundModes": ["bluetooth-central"]]
  ) { _ in LockApp() }
  let clock = ContinuousClock()
  let start = clock.now
  let (openedCount, launches) = try await SimulatedPhone.run(
    seed: 1, apps: [app], isolation: isolation
  ) { phone in
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
    var launches: [Double] = []
    for number in 1...14 {
      move(to: 100_000)
      phone.advance(by: .minutes(5))
      installed.terminate(.memoryPressure)
      phone.advance(by: .hours(12) + .minutes(6) * -1)
      move(to: 1)
      let arrival = clock.now
      try phone.until("restored", limit: .minutes(1)) {
        installed.callbacks.contains {
          $0.launchNumber == number + 1 && $0.name == "willRestoreState"
        }
      }
      launches.append((clock.now - arrival).inSeconds)
      phone.advance(by: .minutes(1))
    }
    precondition(installed.launches.count == 15, "the app was not launched each time")
    return (opened.withLock { $0 }, launches)
  }
  precondition(openedCount == 15, "the door was opened \(openedCount) times")
  return Week(seconds: (clock.now - start).inSeconds, launches: launches)
}
