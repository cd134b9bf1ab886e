import CoreBluetooth

/// Follows a door lock, also while no process of the app runs.
final class DoorLock: NSObject, CBCentralManagerDelegate {
  private var central: CBCentralManager?
  private(set) var lock: CBPeripheral?
  private let service = CBUUID(string: "1815")

  func start(on queue: DispatchQueue) {
    central = CBCentralManager(
      delegate: self, queue: queue,
      options: [CBCentralManagerOptionRestoreIdentifierKey: "lock"])
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    // Its connection is established, or pending still.
    let restored = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral]
    lock = restored?.first
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn, lock == nil else { return }
    central.scanForPeripherals(withServices: [service])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi: NSNumber
  ) {
    lock = peripheral
    central.stopScan()
    // It has no timeout: the lock may come into range days later, and the app may have ended.
    central.connect(peripheral)
  }
}
