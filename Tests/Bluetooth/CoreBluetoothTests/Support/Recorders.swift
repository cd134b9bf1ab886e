import CoreBluetooth
import Synchronization

/// A list of lines that several delegates write into.
final class Record: Sendable {
  private let storage = Mutex<[String]>([])
  var lines: [String] { storage.withLock { $0 } }
  func add(_ line: String) { storage.withLock { $0.append(line) } }
  func clear() { storage.withLock { $0 = [] } }
  /// The lines since the last call.
  func take() -> [String] {
    storage.withLock { lines in
      defer { lines = [] }
      return lines
    }
  }
}

func text(_ error: (any Error)?) -> String {
  switch error {
  case nil: "ok"
  case let error as CBError: "\(error.code)"
  case let error as CBATTError: "att \(error.code)"
  case let error?: "\((error as NSError).domain) \((error as NSError).code)"
  }
}

/// Records the delegate calls of a central manager and its peripherals.
final class CentralRecorder: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate,
  @unchecked Sendable
{
  // Unchecked: changed on the delegate queue and read after it has settled.
  let record = Record()
  var peripherals: [CBPeripheral] = []
  var channel: CBL2CAPChannel?
  var advertisement: [String: Any] = [:]
  var keepsPeripherals = true

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    record.add("state \(central.state)")
  }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    record.add("discovered \(peripheral.name ?? "?") \(RSSI)")
    advertisement = advertisementData
    peripheral.delegate = self
    if keepsPeripherals, !peripherals.contains(where: { $0 === peripheral }) {
      peripherals.append(peripheral)
    }
  }
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    record.add("connected")
  }
  func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
  ) { record.add("failed \(text(error))") }
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) { record.add("disconnected \(text(error))") }
  func centralManager(
    _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent,
    for peripheral: CBPeripheral
  ) { record.add("\(event)") }

  func peripheralDidUpdateName(_ peripheral: CBPeripheral) {
    record.add("name \(peripheral.name ?? "?")")
  }
  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidated: [CBService]) {
    record.add("modified \(invalidated.map(\.uuid.uuidString))")
  }
  func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {
    record.add("rssi \(RSSI) \(text(error))")
  }
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    record.add("services \(text(error))")
  }
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService,
    error: (any Error)?
  ) { record.add("included \(service.uuid.uuidString) \(text(error))") }
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) { record.add("characteristics \(service.uuid.uuidString) \(text(error))") }
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) { record.add("descriptors \(characteristic.uuid.uuidString) \(text(error))") }
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    let value = characteristic.value.map { $0.map { String($0) }.joined(separator: ",") }
    record.add("value \(characteristic.uuid.uuidString) \(value ?? "nil") \(text(error))")
  }
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?
  ) {
    record.add(
      "descriptor \(descriptor.uuid.uuidString) \(descriptor.value ?? "nil") \(text(error))")
  }
  func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) { record.add("wrote \(characteristic.uuid.uuidString) \(text(error))") }
  func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?
  ) { record.add("wrote descriptor \(descriptor.uuid.uuidString) \(text(error))") }
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) { record.add("notifying \(characteristic.isNotifying) \(text(error))") }
  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {
    record.add("ready")
  }
  func peripheral(
    _ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?
  ) {
    record.add("channel \(text(error))")
    self.channel = channel
  }
  func peripheral(
    _ peripheral: CBPeripheral, didCompleteChannelSoundingSession error: (any Error)?
  ) { record.add("sounding \(text(error))") }
}

/// Records the delegate calls of a peripheral manager.
final class PeripheralManagerRecorder: NSObject, CBPeripheralManagerDelegate,
  @unchecked Sendable
{
  // Unchecked: changed on the delegate queue and read after it has settled.
  let record = Record()
  var reads: [CBATTRequest] = []
  var writes: [[CBATTRequest]] = []
  var centrals: [CBCentral] = []
  var channel: CBL2CAPChannel?
  var psm: CBL2CAPPSM = 0
  /// Answers requests at once if set.
  var answer: ((CBPeripheralManager, [CBATTRequest]) -> Void)?

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    record.add("state \(peripheral.state)")
  }
  func peripheralManagerDidStartAdvertising(
    _ peripheral: CBPeripheralManager, error: (any Error)?
  ) { record.add("advertising \(text(error))") }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?
  ) { record.add("added \(service.uuid.uuidString) \(text(error))") }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didSubscribeTo characteristic: CBCharacteristic
  ) {
    record.add("subscribed \(characteristic.uuid.uuidString) \(central.maximumUpdateValueLength)")
    centrals.append(central)
  }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didUnsubscribeFrom characteristic: CBCharacteristic
  ) { record.add("unsubscribed \(characteristic.uuid.uuidString)") }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest
  ) {
    record.add("read \(request.characteristic.uuid.uuidString) at \(request.offset)")
    reads.append(request)
    answer?(peripheral, [request])
  }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]
  ) {
    record.add("write \(requests.map { "\($0.characteristic.uuid.uuidString) at \($0.offset)" })")
    writes.append(requests)
    answer?(peripheral, requests)
  }
  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {
    record.add("ready")
  }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM,
    error: (any Error)?
  ) {
    record.add("published \(text(error))")
    psm = PSM
  }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel PSM: CBL2CAPPSM,
    error: (any Error)?
  ) { record.add("unpublished \(PSM) \(text(error))") }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?
  ) {
    record.add("channel \(text(error))")
    self.channel = channel
  }
}
