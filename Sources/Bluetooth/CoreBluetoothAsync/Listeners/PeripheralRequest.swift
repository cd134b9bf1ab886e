package import CoreBluetooth

/// A request to a peripheral, with its result.
///
/// Requests fail with `.disconnected` where the peripheral is not connected, and when the
/// connection ends.
package struct PeripheralRequest<Value: Sendable>: Sendable {
  let kind: Requests.Kind
  /// Calls the method of the peripheral that makes the request.
  let start: @Sendable (CBPeripheral) -> Void
  /// The result, after the delegate's call that answers the request.
  let value: @Sendable (CBPeripheral, Requests.Answer) -> Value?

  init(
    _ kind: Requests.Kind, _ start: @escaping @Sendable (CBPeripheral) -> Void,
    value: @escaping @Sendable (CBPeripheral, Requests.Answer) -> Value?
  ) {
    self.kind = kind
    self.start = start
    self.value = value
  }
}

// MARK: - Discovering

extension PeripheralRequest where Value == [CBService] {
  /// Discovers the services with these UUIDs, or all if nil; the result are those that were found.
  package static func services(_ uuids: [CBUUID]?) -> Self {
    Self(.services) {
      $0.discoverServices(uuids)
    } value: { peripheral, _ in
      (peripheral.services ?? []).filter { uuids?.contains($0.uuid) ?? true }
    }
  }

  /// Discovers the included services of a service with these UUIDs, or all if nil.
  package static func includedServices(_ uuids: [CBUUID]?, of service: CBService) -> Self {
    Self(.includedServices(service)) {
      $0.discoverIncludedServices(uuids, for: service)
    } value: { _, _ in
      (service.includedServices ?? []).filter { uuids?.contains($0.uuid) ?? true }
    }
  }
}

extension PeripheralRequest where Value == [CBCharacteristic] {
  /// Discovers the characteristics of a service with these UUIDs, or all if nil.
  package static func characteristics(_ uuids: [CBUUID]?, of service: CBService) -> Self {
    Self(.characteristics(service)) {
      $0.discoverCharacteristics(uuids, for: service)
    } value: { _, _ in
      (service.characteristics ?? []).filter { uuids?.contains($0.uuid) ?? true }
    }
  }
}

extension PeripheralRequest where Value == [CBDescriptor] {
  /// Discovers the descriptors of a characteristic.
  package static func descriptors(of characteristic: CBCharacteristic) -> Self {
    Self(.descriptors(characteristic)) {
      $0.discoverDescriptors(for: characteristic)
    } value: { _, _ in
      characteristic.descriptors ?? []
    }
  }
}

// MARK: - Values

extension PeripheralRequest where Value == Data {
  /// Reads a whole value. While notifications are enabled, the result may be a notified value.
  package static func read(_ characteristic: CBCharacteristic) -> Self {
    Self(.read(characteristic)) {
      $0.readValue(for: characteristic)
    } value: { _, _ in
      characteristic.value ?? Data()
    }
  }
}

extension PeripheralRequest where Value == CBDescriptor {
  /// Reads a descriptor.
  package static func read(_ descriptor: CBDescriptor) -> Self {
    Self(.readDescriptor(descriptor)) {
      $0.readValue(for: descriptor)
    } value: { _, _ in
      descriptor
    }
  }
}

extension PeripheralRequest where Value == Void {
  /// Writes a value with response.
  package static func write(_ data: Data, to characteristic: CBCharacteristic) -> Self {
    Self(.write(characteristic)) {
      $0.writeValue(data, for: characteristic, type: .withResponse)
    } value: { _, _ in
    }
  }

  /// Writes a descriptor.
  package static func write(_ data: Data, to descriptor: CBDescriptor) -> Self {
    Self(.writeDescriptor(descriptor)) {
      $0.writeValue(data, for: descriptor)
    } value: { _, _ in
    }
  }
}

// MARK: - The link

extension PeripheralRequest where Value == Int {
  /// Reads the RSSI of the link, in dBm.
  package static var rssi: Self {
    Self(.rssi, { $0.readRSSI() }) { _, answer in
      if case .rssi(let value) = answer { value } else { nil }
    }
  }
}

extension PeripheralRequest where Value == CBL2CAPChannel {
  /// Opens an L2CAP channel to a PSM of the peripheral.
  package static func channel(psm: CBL2CAPPSM) -> Self {
    Self(.channel, { $0.openL2CAPChannel(psm) }) { _, answer in
      if case .channel(let channel) = answer { channel } else { nil }
    }
  }
}
