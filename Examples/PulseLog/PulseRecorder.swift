import CoreBluetooth

/// Finds a heart rate strap, stays connected with it, and hands its values to a log: code for Core Bluetooth alone, also
/// on Apple's systems.
final class PulseRecorder: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  static let service = CBUUID(string: "180D")
  static let measurement = CBUUID(string: "2A37")

  private var central: CBCentralManager?
  private var strap: CBPeripheral?
  private var log: PulseLog

  init(log: PulseLog) {
    self.log = log
    super.init()
    central = CBCentralManager(
      delegate: self, queue: nil, options: [CBCentralManagerOptionRestoreIdentifierKey: "pulse"])
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral]
    strap = peripherals?.first
    strap?.delegate = self
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    guard let strap else { return central.scanForPeripherals(withServices: [Self.service]) }
    switch strap.state {
    case .connected where isSubscribed(strap): break
    // The last process had not come so far.
    case .connected: strap.discoverServices([Self.service])
    default: central.connect(strap)
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    central.stopScan()
    strap = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices([Self.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) {
    print("the strap is out of range")
    // It stays requested until the strap is near again, also while this app doesn't run.
    central.connect(peripheral)
  }

  private func isSubscribed(_ strap: CBPeripheral) -> Bool {
    strap.services?.contains { service in
      service.characteristics?.contains { $0.uuid == Self.measurement && $0.isNotifying } ?? false
    } ?? false
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] where service.uuid == Self.service {
      peripheral.discoverCharacteristics([Self.measurement], for: service)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) {
    for found in service.characteristics ?? [] where found.uuid == Self.measurement {
      peripheral.setNotifyValue(true, for: found)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    print(error.map { "the strap refuses its values: \($0)" } ?? "recording")
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    guard let value = characteristic.value, let beats = HeartRateMeasurement(value) else { return }
    log.add(beats.perMinute)
  }
}

/// A value of the characteristic Heart Rate Measurement (GATT Specification Supplement, §3.113): the rate without what
/// may follow.
struct HeartRateMeasurement {
  let perMinute: Int

  init?(_ value: Data) {
    let bytes = [UInt8](value)
    guard let flags = bytes.first else { return nil }
    let count = flags & 1 == 0 ? 1 : 2
    guard bytes.count > count else { return nil }
    perMinute = bytes[1...count].reversed().reduce(0) { $0 << 8 | Int($1) }
  }
}
