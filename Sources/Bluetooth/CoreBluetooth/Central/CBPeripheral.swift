internal import BluetoothInterface
internal import BluetoothWire
internal import EventLoop

/// A device that a central manager discovered or retrieved.
///
/// Keep a reference to a peripheral while it is in use: when the last one is released, its
/// connection is cancelled. Commands are accepted only while it is connected; discovered attributes
/// are invalid after a disconnection. The object itself becomes invalid when its manager's state
/// falls below `.poweredOff`, or the manager is released: retrieve or discover the peripheral
/// again.
open class CBPeripheral: CBPeer, @unchecked Sendable {
  // Unchecked: `record` is guarded by the session's lock, the delegate by `delegateLock`.

  let session: CentralSession
  /// Guarded by the session's lock.
  var record: PeripheralRecord
  private let delegateLock = SharedLock()
  private weak var delegateStorage: (any CBPeripheralDelegate)?

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

  /// The device name, as read on connection, or as advertised.
  open var name: String? { withRecord { $0.name } }
  /// How far the connection is.
  open var state: CBPeripheralState { withRecord { $0.state } }
  /// The discovered services; nil until discovered.
  open var services: [CBService]? { withRecord { $0.services } }
  /// The strength last read.
  @available(*, deprecated, message: "Use readRSSI() instead")
  open var rssi: NSNumber? { withRecord { $0.lastRSSI } }
  /// Whether a write without response would be sent; else it would be dropped.
  open var canSendWriteWithoutResponse: Bool {
    withRecord { $0.state == .connected && !$0.isWriteBlocked }
  }
  /// Whether the peripheral may read notifications of Apple's Notification Center: no.
  open var ancsAuthorized: Bool { false }

  /// The longest value for one write of this type.
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

  /// Reads the link's strength.
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
      peripheral.delegate?.peripheral(peripheral, didReadRSSI: strength, error: error)
    }
  }

  /// Discovers these services, or all but Generic Access (1800) and Generic Attribute (1801): what
  /// they hold, the system uses itself.
  open func discoverServices(_ serviceUUIDs: [CBUUID]?) {
    guard isReady("discoverServices") else { return }
    let filter = serviceUUIDs.nonEmptyValues
    perform(.discoverServices(filter)) { peripheral, result in
      let error = peripheral.took(result) { record, reply in
        guard case .services(var found) = reply else { return false }
        if !peripheral.session.showsSystemServices {
          found.removeAll { SystemServices.uuids.contains($0.uuid) }
        }
        record.merge(services: found, isComplete: filter == nil, make: peripheral.makeService)
        return true
      }
      peripheral.delegate?.peripheral(peripheral, didDiscoverServices: error)
    }
  }

  /// Discovers the services that a service includes: these, or all.
  open func discoverIncludedServices(
    _ includedServiceUUIDs: [CBUUID]?, for service: CBService
  ) {
    guard isReady("discoverIncludedServices") else { return }
    let filter = includedServiceUUIDs.nonEmptyValues
    guard let range = range(of: service) else {
      return refuse { $0.peripheral($1, didDiscoverIncludedServicesFor: service, error: $2) }
    }
    perform(.discoverIncludedServices(in: range)) { peripheral, result in
      let error = peripheral.took(result) { record, reply in
        guard service.isValid, case .services(let found) = reply else { return false }
        var list = service.includedServicesStorage ?? []
        for remote in found where filter?.contains(remote.uuid) ?? true {
          let included = record.service(for: remote, make: peripheral.makeService)
          if !list.contains(where: { $0 === included }) { list.append(included) }
        }
        service.includedServicesStorage = list
        return true
      }
      peripheral.delegate?.peripheral(
        peripheral, didDiscoverIncludedServicesFor: service, error: error)
    }
  }

  /// Discovers characteristics of a service: these, or all.
  open func discoverCharacteristics(_ characteristicUUIDs: [CBUUID]?, for service: CBService) {
    guard isReady("discoverCharacteristics") else { return }
    let filter = characteristicUUIDs.nonEmptyValues
    guard let range = range(of: service) else {
      return refuse { $0.peripheral($1, didDiscoverCharacteristicsFor: service, error: $2) }
    }
    perform(.discoverCharacteristics(in: range, filter)) { peripheral, result in
      let error = peripheral.took(result) { record, reply in
        guard service.isValid, case .characteristics(let found) = reply else { return false }
        record.merge(
          characteristics: found, into: service, isComplete: filter == nil,
          lock: peripheral.session.lock)
        return true
      }
      peripheral.delegate?.peripheral(
        peripheral, didDiscoverCharacteristicsFor: service, error: error)
    }
  }

  /// Discovers the descriptors of a characteristic.
  open func discoverDescriptors(for characteristic: CBCharacteristic) {
    guard isReady("discoverDescriptors") else { return }
    findDescriptors(of: characteristic)
  }

  /// Reads the whole value; it arrives in `peripheral(_:didUpdateValueFor:error:)`.
  open func readValue(for characteristic: CBCharacteristic) {
    guard isReady("readValue") else { return }
    guard let handles = handles(of: characteristic) else {
      return refuse { $0.peripheral($1, didUpdateValueFor: characteristic, error: $2) }
    }
    perform(.read(handles.value)) { peripheral, result in
      let error = peripheral.took(result) { _, reply in
        guard case .value(let bytes) = reply else { return false }
        characteristic.valueStorage = Data(bytes)
        return true
      }
      peripheral.delegate?.peripheral(peripheral, didUpdateValueFor: characteristic, error: error)
    }
  }

  /// Reads a descriptor.
  open func readValue(for descriptor: CBDescriptor) {
    guard isReady("readValue") else { return }
    guard let handle = handle(of: descriptor) else {
      return refuse { $0.peripheral($1, didUpdateValueFor: descriptor, error: $2) }
    }
    perform(.read(handle)) { peripheral, result in
      let error = peripheral.took(result) { _, reply in
        guard case .value(let bytes) = reply else { return false }
        descriptor.valueStorage = CBDescriptor.value(of: descriptor.uuid, bytes)
        return true
      }
      peripheral.delegate?.peripheral(peripheral, didUpdateValueFor: descriptor, error: error)
    }
  }

  /// Writes a value.
  ///
  /// With response, however long up to 512 bytes. Without, a value longer than
  /// `maximumWriteValueLength(for:)` or sent while `canSendWriteWithoutResponse` is false is
  /// dropped.
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
        peripheral.delegate?.peripheral(
          peripheral, didWriteValueFor: characteristic, error: result.error)
      }
    }
  }

  /// Writes a descriptor. The client characteristic configuration is not written this way; use
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
      peripheral.delegate?.peripheral(
        peripheral, didWriteValueFor: descriptor, error: result.error)
    }
  }

  /// Turns notifications, or indications where there are no notifications, on or off.
  open func setNotifyValue(_ enabled: Bool, for characteristic: CBCharacteristic) {
    guard isReady("setNotifyValue") else { return }
    subscribe(enabled, characteristic)
  }

  /// Opens a channel to a PSM of the peripheral.
  open func openL2CAPChannel(_ PSM: CBL2CAPPSM) {
    guard isReady("openL2CAPChannel") else { return }
    openChannel(PSM)
  }

  /// Not supported by any radio here: the delegate gets an error.
  open func startChannelSoundingSession(
    _ configuration: CBChannelSoundingSessionConfiguration
  ) {
    refuse(CBError(.operationNotSupported)) {
      $0.peripheral($1, didCompleteChannelSoundingSession: $2)
    }
  }

  /// Does nothing: no session ever starts.
  open func cancelChannelSoundingSession() {}
}

extension [CBUUID]? {
  /// The UUIDs to look for; nil, for all, also when there are none.
  var nonEmptyValues: [BluetoothUUID]? { self.flatMap { $0.isEmpty ? nil : $0.values } }
}
