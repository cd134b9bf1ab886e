import CoreBluetooth
import Foundation

/// What both apps agree on.
enum Agreed {
  static let name = "bench"
  static let service = CBUUID(string: "0000BF00-5D4E-4F3A-9B1C-0E2D3C4B5A69")
  static let notifying = CBUUID(string: "0000BF01-5D4E-4F3A-9B1C-0E2D3C4B5A69")
  static let value = CBUUID(string: "0000BF02-5D4E-4F3A-9B1C-0E2D3C4B5A69")
  static let sink = CBUUID(string: "0000BF03-5D4E-4F3A-9B1C-0E2D3C4B5A69")
  /// The number of writes to `sink` so far, as a little-endian 64-bit integer.
  static let received = CBUUID(string: "0000BF04-5D4E-4F3A-9B1C-0E2D3C4B5A69")
  static let payload = Data(repeating: 0x5A, count: 20)
}

/// Notifies as fast as `updateValue` takes values while a central is subscribed, answers reads, and
/// counts writes.
final class PeripheralApp: NSObject, CBPeripheralManagerDelegate {
  private var manager: CBPeripheralManager?
  private let notifying = CBMutableCharacteristic(
    type: Agreed.notifying, properties: .notify, value: nil, permissions: .readable)
  private var isSubscribed = false
  private var received: UInt64 = 0

  init(queue: DispatchQueue?) {
    super.init()
    manager = CBPeripheralManager(delegate: self, queue: queue)
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    let service = CBMutableService(type: Agreed.service, primary: true)
    service.characteristics = [
      notifying,
      CBMutableCharacteristic(
        type: Agreed.value, properties: .read, value: nil, permissions: .readable),
      CBMutableCharacteristic(
        type: Agreed.sink, properties: .writeWithoutResponse, value: nil, permissions: .writeable),
      CBMutableCharacteristic(
        type: Agreed.received, properties: .read, value: nil, permissions: .readable),
    ]
    peripheral.add(service)
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?
  ) {
    if let error { fail("The service was refused: \(error)") }
    peripheral.startAdvertising([CBAdvertisementDataLocalNameKey: Agreed.name])
  }

  func peripheralManagerDidStartAdvertising(
    _ peripheral: CBPeripheralManager, error: (any Error)?
  ) {
    if let error { fail("Advertising was refused: \(error)") }
    say("ready")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didSubscribeTo characteristic: CBCharacteristic
  ) {
    isSubscribed = true
    pump(peripheral)
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didUnsubscribeFrom characteristic: CBCharacteristic
  ) {
    isSubscribed = false
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {
    pump(peripheral)
  }

  private func pump(_ manager: CBPeripheralManager) {
    while isSubscribed,
      manager.updateValue(Agreed.payload, for: notifying, onSubscribedCentrals: nil)
    {}
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest
  ) {
    request.value =
      request.characteristic.uuid == Agreed.received
      ? withUnsafeBytes(of: received.littleEndian) { Data($0) } : Agreed.payload
    peripheral.respond(to: request, withResult: .success)
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]
  ) {
    received += UInt64(requests.count)
  }
}
