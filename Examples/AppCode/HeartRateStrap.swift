#if canImport(CoreBluetooth)
  import CoreBluetooth
#endif

/// A phone that simulates a heart-rate strap; the code is unchanged from iOS.
class HeartRateStrap: NSObject, CBPeripheralManagerDelegate {
  private(set) var log: [String] = []
  private(set) lazy var manager = CBPeripheralManager(delegate: self, queue: queue)
  private let queue: DispatchQueue
  private var measurement: CBMutableCharacteristic?

  init(queue: DispatchQueue = .main) {
    self.queue = queue
    super.init()
    _ = manager
  }

  func measure(_ rate: UInt8) {
    guard let measurement = measurement else { return }
    if !manager.updateValue(Data([0, rate]), for: measurement, onSubscribedCentrals: nil) {
      log.append("busy")
    }
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    let measurement = CBMutableCharacteristic(
      type: HeartRateMonitor.measurementUUID, properties: [.notify], value: nil,
      permissions: [.readable])
    let location = CBMutableCharacteristic(
      type: CBUUID(string: "2A38"), properties: [.read], value: Data([1]),
      permissions: [.readable])
    let controlPoint = CBMutableCharacteristic(
      type: HeartRateMonitor.controlPointUUID, properties: [.write], value: nil,
      permissions: [.writeable])
    let service = CBMutableService(type: HeartRateMonitor.serviceUUID, primary: true)
    service.characteristics = [measurement, location, controlPoint]
    self.measurement = measurement
    peripheral.add(service)
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didAdd service: CBService, error: Error?
  ) {
    guard error == nil else { return log.append("not added") }
    peripheral.startAdvertising([
      CBAdvertisementDataLocalNameKey: "Strap",
      CBAdvertisementDataServiceUUIDsKey: [service.uuid],
    ])
  }

  func peripheralManagerDidStartAdvertising(
    _ peripheral: CBPeripheralManager, error: Error?
  ) {
    log.append(error == nil ? "advertising" : "not advertising")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didSubscribeTo characteristic: CBCharacteristic
  ) {
    log.append("subscribed")
    measure(60)
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]
  ) {
    for request in requests where request.value == Data([1]) { log.append("reset") }
    peripheral.respond(to: requests[0], withResult: .success)
  }
}
