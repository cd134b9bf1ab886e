package import CoreBluetooth

/// An app that opens a door when its person comes home: code for Core Bluetooth alone, also on Apple's systems.
package final class LockManager: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  static let service = CBUUID(string: "FFF0")
  static let command = CBUUID(string: "FFF1")

  private var central: CBCentralManager?
  private var lock: CBPeripheral?
  /// Whether the lock is being set up: it is not to be opened while its owner looks at the app.
  private var isSettingUp = false

  package init(restoreIdentifier: String? = "lock", queue: DispatchQueue? = nil) {
    super.init()
    var options: [String: Any] = [:]
    options[CBCentralManagerOptionRestoreIdentifierKey] = restoreIdentifier
    central = CBCentralManager(delegate: self, queue: queue, options: options)
  }

  package func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral]
    lock = peripherals?.first
    lock?.delegate = self
  }

  package func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    guard let lock else {
      isSettingUp = true
      central.scanForPeripherals(withServices: [Self.service])
      return
    }
    // Switching Bluetooth off ended the connection. A restored peripheral may be connected or connecting.
    if lock.state == .disconnected { connect(to: lock) }
  }

  private func connect(to lock: CBPeripheral) {
    central?.connect(lock, options: [CBConnectPeripheralOptionNotifyOnConnectionKey: true])
  }

  package func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    central.stopScan()
    lock = peripheral
    peripheral.delegate = self
    connect(to: peripheral)
  }

  package func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    guard !isSettingUp else {
      isSettingUp = false
      return
    }
    peripheral.discoverServices([Self.service])
  }

  package func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) {
    // While Bluetooth is off, centralManagerDidUpdateState connects later.
    guard central.state == .poweredOn else { return }
    connect(to: peripheral)
  }

  package func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    guard let service = peripheral.services?.first else { return }
    peripheral.discoverCharacteristics([Self.command], for: service)
  }

  package func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) {
    guard let command = service.characteristics?.first else { return }
    peripheral.writeValue(Data([1]), for: command, type: .withResponse)
  }
}
