import CoreBluetooth
import Foundation

/// A peripheral manager with a restore identifier, whose service has one value. It sends the value to each central that
/// subscribes.
final class Bell: NSObject, CBPeripheralManagerDelegate {
  static let service = "FF00"
  static let value = "FF01"
  private let write: (String) -> Void
  private var manager: CBPeripheralManager?
  private var isRestored = false

  init(_ write: @escaping (String) -> Void) {
    self.write = write
    super.init()
    manager = CBPeripheralManager(
      delegate: self, queue: .main,
      options: [CBPeripheralManagerOptionRestoreIdentifierKey: "bell"])
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
    isRestored = !services.isEmpty
    let advertises = dict[CBPeripheralManagerRestoredStateAdvertisementDataKey] != nil
    write("restored \(services.count), advertises \(advertises)")
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn, !isRestored else { return }
    let service = CBMutableService(type: CBUUID(string: Self.service), primary: true)
    service.characteristics = [
      CBMutableCharacteristic(
        type: CBUUID(string: Self.value), properties: [.read, .notify], value: nil,
        permissions: .readable)
    ]
    peripheral.add(service)
    peripheral.startAdvertising([
      CBAdvertisementDataLocalNameKey: "Bell",
      CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: Self.service)],
    ])
  }

  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?)
  {
    write(error.map { "\($0)" } ?? "advertises")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest
  ) {
    write("read")
    request.value = Data([42])
    peripheral.respond(to: request, withResult: .success)
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didSubscribeTo characteristic: CBCharacteristic
  ) {
    write("subscribed")
    guard let characteristic = characteristic as? CBMutableCharacteristic else { return }
    peripheral.updateValue(Data([7]), for: characteristic, onSubscribedCentrals: [central])
  }
}
