import CoreBluetooth

/// Scans for a heart-rate strap, stops when it is found, and connects.
final class StrapFinder: NSObject, CBCentralManagerDelegate {
  private let heartRate = CBUUID(string: "180D")
  private var strap: CBPeripheral?

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn, strap == nil else { return }
    // Only devices with the service; every change once, not every advertisement.
    central.scanForPeripherals(withServices: [heartRate])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    // Found: the radio need not listen any more. Keep the peripheral, the manager doesn't.
    central.stopScan()
    strap = peripheral
    central.connect(peripheral)
  }
}
