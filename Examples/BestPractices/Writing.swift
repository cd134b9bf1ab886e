import CoreBluetooth

/// Sends a long message in writes without response, as fast as there is room.
final class MessageSender: NSObject, CBPeripheralDelegate {
  private var rest = Data()
  private var target: CBCharacteristic?

  func send(_ message: Data, to characteristic: CBCharacteristic, of peripheral: CBPeripheral) {
    peripheral.delegate = self
    target = characteristic
    rest.append(message)
    sendMore(peripheral)
  }

  private func sendMore(_ peripheral: CBPeripheral) {
    guard let target else { return }
    let count = peripheral.maximumWriteValueLength(for: .withoutResponse)
    while !rest.isEmpty, peripheral.canSendWriteWithoutResponse {
      peripheral.writeValue(Data(rest.prefix(count)), for: target, type: .withoutResponse)
      rest = Data(rest.dropFirst(count))
    }
  }

  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {
    sendMore(peripheral)
  }
}
