internal import BluetoothInterface
internal import BluetoothWire
internal import EventLoop

/// A device that a central manager discovered or retrieved.
///
/// Keep a strong reference to a peripheral while it is in use: its connection is cancelled when the
/// last reference is released. Commands are accepted only while it is connected; discovered
/// attributes are invalid after a disconnection. The object itself becomes invalid when its
/// manager's state falls below `.poweredOff`, or the manager is released: retrieve or discover the
/// peripheral again.
open class CBPeripheral: CBPeer, @unchecked Sendable {
  // Unchecked: `record` is guarded by the session's lock, delegate and proxy by `delegateLock`.

  let session: CentralSession
  /// Guarded by the session's lock.
  var record: PeripheralRecord
  private let delegateLock = SharedLock()
  private weak var delegateStorage: (any CBPeripheralDelegate)?
  private weak var delegateProxyStorage: (any CBPeripheralDelegate)?

  init(session: CentralSession, address: DeviceAddress, link: PeripheralLink) {
    self.session = session
    record = PeripheralRecord(link: link)
    super.init(address: address)
  }

  deinit {
    if let token = record.writeToken?.value { session.connection.removeToken(token) }
    // A thread that holds the session's lock may release the last reference, so this is done later.
    session.connection.enqueue { [session, address] in session.released(address) }
  }

  // MARK: Properties

  /// The object that receives the peripheral's events; called on the manager's queue.
  open weak var delegate: (any CBPeripheralDelegate)? {
    get { delegateLock.withLock { delegateStorage } }
    set { delegateLock.withLock { delegateStorage = newValue } }
  }

  /// Receives the calls in the delegate's stead, and forwards them to it. A bridge sets it, and then
  /// receives every call, also after the app has set another delegate.
  package var delegateProxy: (any CBPeripheralDelegate)? {
    get { delegateLock.withLock { delegateProxyStorage } }
    set { delegateLock.withLock { delegateProxyStorage = newValue } }
  }

  /// The object to call: the proxy or, without one, the delegate.
  var receiver: (any CBPeripheralDelegate)? { delegateProxy ?? delegate }

  /// The device name that was read after connecting, or the advertised name before.
  open var name: String? { withRecord { $0.name } }
  /// The state of the connection.
  open var state: CBPeripheralState { withRecord { $0.state } }
  /// The discovered services; nil until discovered.
  open var services: [CBService]? { withRecord { $0.services } }
  /// The RSSI of the last `readRSSI()`.
  @available(*, deprecated, message: "Use readRSSI() instead")
  open var rssi: NSNumber? { withRecord { $0.lastRSSI } }
  /// Whether a write without response can be sent. If false, such a write is dropped.
  open var canSendWriteWithoutResponse: Bool {
    withRecord { $0.state == .connected && !$0.isWriteBlocked }
  }
  /// Whether the peripheral may read notifications of the Apple Notification Center Service; always
  /// false.
  open var ancsAuthorized: Bool { false }

  /// The maximum number of bytes of one write of this type.
  open func maximumWriteValueLength(for type: CBCharacteristicWriteType) -> Int {
    switch type {
    case .withResponse: Limits.valueByteCountMax
    case .withoutResponse:
      withRecord { $0.writeWithoutResponseByteCountMax }
    }
  }

  /// Name, state and identifier.
  open override var description: String {
    "<CBPeripheral: identifier = \(identifier), name = \(name ?? "(none)"), state = \(state)>"
  }

  override func property(_ key: String) -> Any?? {
    switch key {
    case "name": .some(name)
    case "state": .some(state.rawValue)
    case "services": .some(services)
    case "delegate": .some(delegate)
    case "RSSI": .some(withRecord { $0.lastRSSI })
    case "canSendWriteWithoutResponse": .some(canSendWriteWithoutResponse)
    case "ancsAuthorized": .some(ancsAuthorized)
    // Not documented by Apple, but used by apps that need the MTU.
    case "mtuLength": .some(withRecord { $0.mtu })
    default: super.property(key)
    }
  }

  // MARK: Commands

  /// Reads the RSSI of the link.
  open func readRSSI() {
    guard isReady("readRSSI") else { return }
    request({ [address] in .readRSSI(address, $0) }) { peripheral, result in
      var strength = NSNumber(value: 127)
      var error = result.error
      if case .success(.rssi(let value)) = result {
        strength = NSNumber(value: Int(value))
      } else if error == nil {
        error = CBError(.unknown)
      }
      peripheral.withRecord { $0.lastRSSI = strength }
      peripheral.receiver?.peripheral(peripheral, didReadRSSI: strength, error: error)
    }
  }

  /// Discovers the services with these UUIDs, or all if nil, except Generic Access (1800) and
  /// Generic Attribute (1801), which the system uses itself.
  open func discoverServices(_ serviceUUIDs: [CBUUID]?) {
    guard isReady("discoverServices") else { return }
    let filter = serviceUUIDs.nonEmptyValues
    perform(.discoverServices(filter)) { peripheral, result in
      let error = peripheral.storeReply(result) { record, reply in
        guard case .services(var found) = reply else { return false }
        if !peripheral.session.showsSystemServices {
          found.removeAll { SystemServices.uuids.contains($0.uuid) }
        }
        record.merge(services: found, isComplete: filter == nil, make: peripheral.makeService)
        return true
      }
      peripheral.receiver?.peripheral(peripheral, didDiscoverServices: error)
    }
  }

  /// Discovers the included services of a service with these UUIDs, or all if nil.
  open func discoverIncludedServices(
    _ includedServiceUUIDs: [CBUUID]?, for service: CBService
  ) {
    guard isReady("discoverIncludedServices") else { return }
    let filter = includedServiceUUIDs.nonEmptyValues
    guard let range = range(of: service) else {
      return refuse { $0.peripheral($1, didDiscoverIncludedServicesFor: service, error: $2) }
    }
    perform(.discoverIncludedServices(in: range)) { peripheral, result in
      let error = peripheral.storeReply(result) { record, reply in
        guard service.isValid, case .services(let found) = reply else { return false }
        var list = service.includedServicesStorage ?? []
        for remote in found where filter?.contains(remote.uuid) ?? true {
          let included = record.service(for: remote, make: peripheral.makeService)
          if !list.contains(where: { $0 === included }) { list.append(included) }
        }
        service.includedServicesStorage = list
        return true
      }
      peripheral.receiver?.peripheral(
        peripheral, didDiscoverIncludedServicesFor: service, error: error)
    }
  }

  /// Discovers the characteristics of a service with these UUIDs, or all if nil.
  open func discoverCharacteristics(_ characteristicUUIDs: [CBUUID]?, for service: CBService) {
    guard isReady("discoverCharacteristics") else { return }
    let filter = characteristicUUIDs.nonEmptyValues
    guard let range = range(of: service) else {
      return refuse { $0.peripheral($1, didDiscoverCharacteristicsFor: service, error: $2) }
    }
    perform(.discoverCharacteristics(in: range, filter)) { peripheral, result in
      let error = peripheral.storeReply(result) { record, reply in
        guard service.isValid, case .characteristics(let found) = reply else { return false }
        record.merge(
          characteristics: found, into: service, isComplete: filter == nil,
          lock: peripheral.session.lock)
        return true
      }
      peripheral.receiver?.peripheral(
        peripheral, didDiscoverCharacteristicsFor: service, error: error)
    }
  }

  /// Discovers the descriptors of a characteristic.
  open func discoverDescriptors(for characteristic: CBCharacteristic) {
    guard isReady("discoverDescriptors") else { return }
    findDescriptors(of: characteristic)
  }

  /// Reads the whole value; the delegate gets it in `peripheral(_:didUpdateValueFor:error:)`.
  open func readValue(for characteristic: CBCharacteristic) {
    guard isReady("readValue") else { return }
    guard let handles = handles(of: characteristic) else {
      return refuse { $0.peripheral($1, didUpdateValueFor: characteristic, error: $2) }
    }
    perform(.read(handles.value)) { peripheral, result in
      let error = peripheral.storeReply(result) { _, reply in
        guard case .value(let bytes) = reply else { return false }
        characteristic.valueStorage = Data(bytes)
        return true
      }
      peripheral.receiver?.peripheral(peripheral, didUpdateValueFor: characteristic, error: error)
    }
  }

  /// Reads a descriptor; the delegate gets it in `peripheral(_:didUpdateValueFor:error:)`.
  open func readValue(for descriptor: CBDescriptor) {
    guard isReady("readValue") else { return }
    guard let handle = handle(of: descriptor) else {
      return refuse { $0.peripheral($1, didUpdateValueFor: descriptor, error: $2) }
    }
    perform(.read(handle)) { peripheral, result in
      let error = peripheral.storeReply(result) { _, reply in
        guard case .value(let bytes) = reply else { return false }
        descriptor.valueStorage = CBDescriptor.value(of: descriptor.uuid, bytes)
        return true
      }
      peripheral.receiver?.peripheral(peripheral, didUpdateValueFor: descriptor, error: error)
    }
  }

  /// Writes a value.
  ///
  /// A write with response can have up to 512 bytes, independent of the MTU. A write without
  /// response is dropped if it is longer than `maximumWriteValueLength(for:)` or
  /// `canSendWriteWithoutResponse` is false.
  open func writeValue(
    _ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType
  ) {
    switch type {
    case .withoutResponse: writeWithoutResponse(data, characteristic)
    case .withResponse:
      guard isReady("writeValue") else { return }
      guard let handles = handles(of: characteristic) else {
        return refuse { $0.peripheral($1, didWriteValueFor: characteristic, error: $2) }
      }
      guard data.count <= Limits.valueByteCountMax else {
        return refuse(CBATTError(.invalidAttributeValueLength)) {
          $0.peripheral($1, didWriteValueFor: characteristic, error: $2)
        }
      }
      perform(.write(handles.value, [UInt8](data))) { peripheral, result in
        peripheral.receiver?.peripheral(
          peripheral, didWriteValueFor: characteristic, error: result.error)
      }
    }
  }

  /// Writes a descriptor. The client characteristic configuration can't be written this way: use
  /// `setNotifyValue(_:for:)`.
  open func writeValue(_ data: Data, for descriptor: CBDescriptor) {
    guard isReady("writeValue") else { return }
    guard let handle = handle(of: descriptor) else {
      return refuse { $0.peripheral($1, didWriteValueFor: descriptor, error: $2) }
    }
    guard descriptor.uuid.value != 0x2902, data.count <= Limits.valueByteCountMax else {
      return refuse(CBError(.invalidParameters)) {
        $0.peripheral($1, didWriteValueFor: descriptor, error: $2)
      }
    }
    perform(.write(handle, [UInt8](data))) { peripheral, result in
      peripheral.receiver?.peripheral(
        peripheral, didWriteValueFor: descriptor, error: result.error)
    }
  }

  /// Enables or disables notifications, or indications if the characteristic doesn't notify.
  open func setNotifyValue(_ enabled: Bool, for characteristic: CBCharacteristic) {
    guard isReady("setNotifyValue") else { return }
    subscribe(enabled, characteristic)
  }

  /// Opens an L2CAP channel to a PSM of the peripheral.
  open func openL2CAPChannel(_ PSM: CBL2CAPPSM) {
    guard isReady("openL2CAPChannel") else { return }
    openChannel(PSM)
  }

  /// Not supported: the delegate gets an error.
  open func startChannelSoundingSession(
    _ configuration: CBChannelSoundingSessionConfiguration
  ) {
    refuse(CBError(.operationNotSupported)) {
      $0.peripheral($1, didCompleteChannelSoundingSession: $2)
    }
  }

  /// Does nothing, as channel sounding is not supported.
  open func cancelChannelSoundingSession() {}
}

extension [CBUUID]? {
  /// The UUIDs to discover; nil, which means all, also for an empty list.
  var nonEmptyValues: [BluetoothUUID]? { self.flatMap { $0.isEmpty ? nil : $0.values } }
}
