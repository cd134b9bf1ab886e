import BluetoothInterface

// Services, characteristics and descriptors: those to publish, those that are published, those of peers.

extension ServiceDefinition: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      try ServiceDefinition(
        uuid: coder.field(value) { $0.uuid }, isPrimary: coder.field(value) { $0.isPrimary },
        includedServices: coder.field(value) { $0.includedServices },
        characteristics: coder.field(value) { $0.characteristics })
    }
  }
}

extension CharacteristicDefinition: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      try CharacteristicDefinition(
        uuid: coder.field(value) { $0.uuid },
        properties: coder.field(value) { $0.properties },
        permissions: coder.field(value) { $0.permissions },
        value: coder.field(value) { $0.value },
        subscribingRequiresEncryption: coder.field(value) { $0.subscribingRequiresEncryption },
        subscribingRequiresAuthentication: coder.field(value) {
          $0.subscribingRequiresAuthentication
        },
        descriptors: coder.field(value) { $0.descriptors })
    }
  }
}

extension DescriptorDefinition: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try DescriptorDefinition(
      uuid: coder.field(value) { $0.uuid }, value: coder.field(value) { $0.value })
  }
}

extension PublishedService: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try PublishedService(
      range: coder.field(value) { $0.range },
      characteristics: coder.field(value) { $0.characteristics })
  }
}

extension PublishedCharacteristic: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try PublishedCharacteristic(
      valueHandle: coder.field(value) { $0.valueHandle },
      configurationHandle: coder.field(value) { $0.configurationHandle })
  }
}

extension RemoteService: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try RemoteService(
      uuid: coder.field(value) { $0.uuid }, range: coder.field(value) { $0.range },
      isPrimary: coder.field(value) { $0.isPrimary })
  }
}

extension RemoteCharacteristic: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try RemoteCharacteristic(
      uuid: coder.field(value) { $0.uuid },
      declarationHandle: coder.field(value) { $0.declarationHandle },
      valueHandle: coder.field(value) { $0.valueHandle },
      endHandle: coder.field(value) { $0.endHandle },
      properties: coder.field(value) { $0.properties })
  }
}

extension RemoteDescriptor: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try RemoteDescriptor(
      uuid: coder.field(value) { $0.uuid }, handle: coder.field(value) { $0.handle })
  }
}

extension AttributeValue: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try AttributeValue(
      handle: coder.field(value) { $0.handle }, value: coder.field(value) { $0.value })
  }
}

extension SubscriptionTarget: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    var target = try SubscriptionTarget(
      valueHandle: coder.field(value) { $0.valueHandle },
      endHandle: coder.field(value) { $0.endHandle },
      usesIndications: coder.field(value) { $0.usesIndications })
    target.configurationHandle = try coder.field(value) { $0.configurationHandle }
    return target
  }
}
