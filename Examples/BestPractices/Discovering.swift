import CoreBluetooth

/// Discovers one characteristic of one service, subscribes, and disconnects after some values.
final class PulseReader: NSObject, CBPeripheralDelegate {
  private let heartRate = CBUUID(string: "180D")
  private let measurement = CBUUID(string: "2A37")
  private let central: CBCentralManager
  private var valuesLeft = 10

  init(central: CBCentralManager) { self.central = central }

  func start(_ peripheral: CBPeripheral) {
    peripheral.delegate = self
    peripheral.discoverServices([heartRate])
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    guard let service = peripheral.services?.first(where: { $0.uuid == heartRate }) else {
      return central.cancelPeripheralConnection(peripheral)
    }
    peripheral.discoverCharacteristics([measurement], for: service)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) {
    guard let characteristic = service.characteristics?.first else { return }
    // The strap tells of each new value; there is no need to read it again and again.
    peripheral.setNotifyValue(true, for: characteristic)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    valuesLeft -= 1
    guard valuesLeft == 0 else { return }
    // Done: the strap may sleep, and the radio has room for others.
    peripheral.setNotifyValue(false, for: characteristic)
    central.cancelPeripheralConnection(peripheral)
  }
}
