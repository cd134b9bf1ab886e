internal import BluetoothInterface
internal import BluetoothWire

extension ServiceDefinition {
  /// What the host publishes for a service of the app; refuses what must not be published.
  init(
    _ service: CBMutableService, publishedHandle: (CBService) -> UInt16?
  ) throws(CBError) {
    guard !SystemServices.uuids.contains(service.uuid.value) else { throw CBError(.uuidNotAllowed) }
    var included: [UInt16] = []
    for other in service.includedServices ?? [] {
      guard let handle = publishedHandle(other) else {
        throw CBError.invalid("The included service \(other.uuid.uuidString) is not published.")
      }
      included.append(handle)
    }
    var characteristics: [CharacteristicDefinition] = []
    for characteristic in service.characteristics ?? [] {
      guard let characteristic = characteristic as? CBMutableCharacteristic else {
        throw CBError.invalid(
          "The characteristic \(characteristic.uuid.uuidString) is a peripheral's.")
      }
      characteristics.append(try CharacteristicDefinition(characteristic))
    }
    self.init(
      uuid: service.uuid.value, isPrimary: service.isPrimary, includedServices: included,
      characteristics: characteristics)
  }
}

extension CharacteristicDefinition {
  fileprivate init(_ characteristic: CBMutableCharacteristic) throws(CBError) {
    let uuid = characteristic.uuid
    let properties = characteristic.properties
    let permissions = characteristic.permissions
    let value = characteristic.value
    guard properties.isDisjoint(with: [.broadcast, .extendedProperties]) else {
      throw CBError.invalid("\(uuid.uuidString) cannot be broadcast or have extended properties.")
    }
    if value != nil {
      guard properties.isSubset(of: .read),
        permissions.isSubset(of: [.readable, .readEncryptionRequired])
      else {
        throw CBError.invalid("\(uuid.uuidString) has a cached value, so it must be read-only.")
      }
    }
    guard value?.count ?? 0 <= Limits.valueByteCountMax else {
      throw CBError.invalid("The value of \(uuid.uuidString) is longer than 512 bytes.")
    }
    var descriptors: [DescriptorDefinition] = []
    for descriptor in characteristic.descriptors ?? [] {
      descriptors.append(try DescriptorDefinition(descriptor))
    }
    var wire = BluetoothInterface.CharacteristicProperties(
      rawValue: UInt8(truncatingIfNeeded: properties.rawValue))
    if properties.contains(.notifyEncryptionRequired) { wire.insert(.notify) }
    if properties.contains(.indicateEncryptionRequired) { wire.insert(.indicate) }
    self.init(
      uuid: uuid.value, properties: wire,
      permissions: AttributePermissions(
        rawValue: UInt8(truncatingIfNeeded: permissions.rawValue)),
      value: value.map { [UInt8]($0) },
      subscribingRequiresEncryption: !properties.isDisjoint(
        with: [.notifyEncryptionRequired, .indicateEncryptionRequired]),
      descriptors: descriptors)
  }
}

extension DescriptorDefinition {
  fileprivate init(_ descriptor: CBDescriptor) throws(CBError) {
    let uuid = descriptor.uuid.value
    switch (uuid, descriptor.value) {
    case (0x2901, let text as String): self.init(uuid: uuid, value: Array(text.utf8))
    case (0x2904, let data as Data): self.init(uuid: uuid, value: [UInt8](data))
    default:
      throw CBError.invalid(
        "A descriptor can be a user description (2901) with a String or a presentation format "
          + "(2904) with a Data, not \(descriptor.uuid.uuidString).")
    }
  }
}

// The inverse, for services that a host has kept.

extension CBMutableService {
  /// A service as it was published, without the services that it includes.
  convenience init(_ definition: ServiceDefinition) {
    self.init(type: CBUUID(definition.uuid), primary: definition.isPrimary)
    characteristics = definition.characteristics.map { CBMutableCharacteristic($0) }
  }
}

extension CBMutableCharacteristic {
  fileprivate convenience init(_ definition: CharacteristicDefinition) {
    var properties = CBCharacteristicProperties(definition.properties)
    if definition.subscribingRequiresEncryption {
      if properties.remove(.notify) != nil { properties.insert(.notifyEncryptionRequired) }
      if properties.remove(.indicate) != nil { properties.insert(.indicateEncryptionRequired) }
    }
    self.init(
      type: CBUUID(definition.uuid), properties: properties,
      value: definition.value.map { Data($0) },
      permissions: CBAttributePermissions(rawValue: UInt(definition.permissions.rawValue)))
    guard !definition.descriptors.isEmpty else { return }
    descriptors = definition.descriptors.map {
      let uuid = CBUUID($0.uuid)
      return CBMutableDescriptor(type: uuid, value: CBDescriptor.value(of: uuid, $0.value))
    }
  }
}

extension CBError {
  /// `invalidParameters` with a sentence.
  static func invalid(_ text: String) -> CBError {
    CBError(.invalidParameters, userInfo: [NSLocalizedDescriptionKey: text])
  }
}

extension ConnectionParameters {
  /// Intervals of 15–30, 60–120 and 200–400 ms: Apple names no numbers, only the intent; all are
  /// within its accessory guidelines.
  init(_ latency: CBPeripheralManagerConnectionLatency) {
    let units: ClosedRange<UInt16>
    switch latency {
    case .low: units = 12...24
    case .medium: units = 48...96
    case .high: units = 160...320
    }
    self.init(intervalUnits: units, latency: 0, timeoutUnits: 400)
  }
}
