import CoreBluetooth
import Foundation

/// An app with a restore identifier: it subscribes to the first characteristic of the first peripheral that has a heart
/// rate, goes on with what an earlier process left, and prints what it is called with, until its input ends.
@main
final class RestoredCentral: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate,
  @unchecked Sendable
{
  // Unchecked: changed on the manager's queue only.
  private var peripheral: CBPeripheral?

  private static let service = CBUUID(string: "180D")

  static func main() {
    let program = RestoredCentral()
    let manager = CBCentralManager(
      delegate: program, queue: DispatchQueue(label: "restored-central"),
      options: [CBCentralManagerOptionRestoreIdentifierKey: "central"])
    while readLine() != nil {}
    withExtendedLifetime((program, manager)) {}
  }

  private func print(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
    peripheral = peripherals.first
    peripheral?.delegate = self
    let characteristic = peripheral?.services?.first?.characteristics?.first
    print(
      "restored \(peripherals.count) \(peripheral?.name ?? "?") "
        + "notifying \(characteristic?.isNotifying == true)")
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    print("\(central.state)")
    guard central.state == .poweredOn, peripheral == nil else { return }
    central.scanForPeripherals(withServices: [Self.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi: NSNumber
  ) {
    guard self.peripheral == nil else { return }
    self.peripheral = peripheral
    central.stopScan()
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    print("connected")
    peripheral.delegate = self
    peripheral.discoverServices([Self.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) { print("disconnected") }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] {
      peripheral.discoverCharacteristics(nil, for: service)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) {
    if let first = service.characteristics?.first { peripheral.setNotifyValue(true, for: first) }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) { print("notifying \(characteristic.isNotifying)") }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    let bytes = characteristic.value.map { Array($0) } ?? []
    print("value \(bytes.reversed().reduce(0) { $0 << 8 | Int($1) })")
  }
}
