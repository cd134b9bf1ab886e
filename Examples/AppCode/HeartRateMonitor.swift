import CoreBluetooth

/// A heart-rate app's Bluetooth code, unchanged from iOS.
class HeartRateMonitor: NSObject {
  static let serviceUUID = CBUUID(string: "180D")
  static let measurementUUID = CBUUID(string: "2A37")
  static let controlPointUUID = CBUUID(string: "2A39")

  private(set) var log: [String] = []
  var onMeasurement: ((Int) -> Void)?
  private var central: CBCentralManager!
  private var strap: CBPeripheral?
  private var controlPoint: CBCharacteristic?

  init(queue: DispatchQueue? = nil) {
    super.init()
    central = CBCentralManager(
      delegate: self, queue: queue, options: [CBCentralManagerOptionShowPowerAlertKey: true])
  }

  func resetEnergy() {
    guard let strap = strap, let controlPoint = controlPoint else { return }
    strap.writeValue(Data([1]), for: controlPoint, type: .withResponse)
  }

  func disconnect() {
    if let strap = strap { central.cancelPeripheralConnection(strap) }
  }
}

extension HeartRateMonitor: CBCentralManagerDelegate {
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    switch central.state {
    case .poweredOn:
      log.append("on")
      central.scanForPeripherals(
        withServices: [HeartRateMonitor.serviceUUID],
        options: [CBCentralManagerScanOptionAllowDuplicatesKey: NSNumber(value: false)])
    case .poweredOff, .resetting, .unauthorized, .unsupported, .unknown:
      log.append("off")
    @unknown default:
      break
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    guard strap == nil, RSSI.intValue != 127 else { return }
    let name = advertisementData[CBAdvertisementDataLocalNameKey] as? String ?? peripheral.name
    if let connectable = advertisementData[CBAdvertisementDataIsConnectable] as? Bool,
      !connectable
    {
      return
    }
    log.append("found \(name ?? "n/a")")
    strap = peripheral
    peripheral.delegate = self
    central.stopScan()
    central.connect(peripheral, options: nil)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    log.append("connected")
    peripheral.discoverServices([HeartRateMonitor.serviceUUID])
  }

  func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?
  ) {
    log.append("failed: \(error?.localizedDescription ?? "")")
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?
  ) {
    if let error = error as? CBError {
      switch error.code {
      case .connectionTimeout, .peripheralDisconnected: central.connect(peripheral)
      default: break
      }
    }
    log.append(error == nil ? "disconnected" : "lost")
  }
}

extension HeartRateMonitor: CBPeripheralDelegate {
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
    guard error == nil else { return }
    for service in peripheral.services ?? [] where service.uuid == HeartRateMonitor.serviceUUID {
      peripheral.discoverCharacteristics(nil, for: service)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?
  ) {
    service.characteristics?.forEach { characteristic in
      switch characteristic.uuid {
      case HeartRateMonitor.measurementUUID where characteristic.properties.contains(.notify):
        peripheral.setNotifyValue(true, for: characteristic)
      case HeartRateMonitor.controlPointUUID:
        controlPoint = characteristic
      default:
        break
      }
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
    error: Error?
  ) {
    log.append(characteristic.isNotifying ? "subscribed" : "not subscribed")
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?
  ) {
    guard let data = characteristic.value, data.count >= 2 else { return }
    let bytes = [UInt8](data)
    let rate = bytes[0] & 1 == 0 ? Int(bytes[1]) : Int(bytes[1]) + Int(bytes[2]) << 8
    log.append("rate \(rate)")
    onMeasurement?(rate)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: Error?
  ) {
    if let error = error as? CBATTError, error.code == .writeNotPermitted { return }
    log.append(error == nil ? "reset" : "not reset")
  }
}
