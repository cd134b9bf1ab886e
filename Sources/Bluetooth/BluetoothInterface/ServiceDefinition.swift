public import BluetoothWire

/// The definition of a service to publish.
public struct ServiceDefinition: Sendable, Hashable {
  /// The type of the service.
  public var uuid: BluetoothUUID
  /// Whether the service is primary. A secondary service is only included in other services.
  public var isPrimary: Bool
  /// The included services, by the first handle of each, which must be published.
  public var includedServices: [UInt16]
  /// The characteristics of the service.
  public var characteristics: [CharacteristicDefinition]

  /// Creates a definition.
  public init(
    uuid: BluetoothUUID, isPrimary: Bool = true, includedServices: [UInt16] = [],
    characteristics: [CharacteristicDefinition] = []
  ) {
    self.uuid = uuid
    self.isPrimary = isPrimary
    self.includedServices = includedServices
    self.characteristics = characteristics
  }
}

/// The definition of a characteristic to publish.
///
/// The host adds the client characteristic configuration descriptor if the properties contain
/// notify or indicate, and the extended properties descriptor if they contain extended properties.
public struct CharacteristicDefinition: Sendable, Hashable {
  /// The characteristic's UUID.
  public var uuid: BluetoothUUID
  /// The operations that it supports.
  public var properties: CharacteristicProperties
  /// The security that reads and writes require.
  public var permissions: AttributePermissions
  /// The fixed value that the host serves; nil if the client supplies the value for each read.
  public var value: [UInt8]?
  /// Whether only encrypted links can subscribe.
  public var subscribingRequiresEncryption: Bool
  /// Whether only links can subscribe whose pairing was protected against a man in the middle.
  public var subscribingRequiresAuthentication: Bool
  /// Additional descriptors with fixed values.
  public var descriptors: [DescriptorDefinition]

  /// Creates a definition.
  public init(
    uuid: BluetoothUUID, properties: CharacteristicProperties, permissions: AttributePermissions,
    value: [UInt8]? = nil, subscribingRequiresEncryption: Bool = false,
    subscribingRequiresAuthentication: Bool = false,
    descriptors: [DescriptorDefinition] = []
  ) {
    self.uuid = uuid
    self.properties = properties
    self.permissions = permissions
    self.value = value
    self.subscribingRequiresEncryption = subscribingRequiresEncryption
    self.subscribingRequiresAuthentication = subscribingRequiresAuthentication
    self.descriptors = descriptors
  }
}

/// The definition of a descriptor to publish; every peer can read it.
public struct DescriptorDefinition: Sendable, Hashable {
  /// The type of the descriptor.
  public var uuid: BluetoothUUID
  /// Its value.
  public var value: [UInt8]

  /// Creates a definition.
  public init(uuid: BluetoothUUID, value: [UInt8]) {
    self.uuid = uuid
    self.value = value
  }
}

extension ServiceDefinition {
  /// The number of attributes that the service takes in a host's database.
  package var attributeCount: Int {
    characteristics.reduce(1 + includedServices.count) { count, characteristic in
      count + 2 + characteristic.descriptors.count + (characteristic.hasConfiguration ? 1 : 0)
        + (characteristic.properties.contains(.extendedProperties) ? 1 : 0)
    }
  }
}

extension CharacteristicDefinition {
  /// Whether the host adds a client characteristic configuration descriptor.
  package var hasConfiguration: Bool { !properties.isDisjoint(with: [.notify, .indicate]) }
}

/// The permissions of peers for an attribute.
public struct AttributePermissions: OptionSet, Sendable, Hashable {
  /// The bits; the first four are numbered as in Apple's framework.
  public let rawValue: UInt8

  /// Creates permissions from their bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Can be read.
  public static let readable = AttributePermissions(rawValue: 0x01)
  /// Can be written.
  public static let writeable = AttributePermissions(rawValue: 0x02)
  /// Can be read over an encrypted link only.
  public static let readEncryptionRequired = AttributePermissions(rawValue: 0x04)
  /// Can be written over an encrypted link only.
  public static let writeEncryptionRequired = AttributePermissions(rawValue: 0x08)
  /// Can be read only over a link whose pairing was protected against a man in the middle.
  public static let readAuthenticationRequired = AttributePermissions(rawValue: 0x10)
  /// Can be written only over a link whose pairing was protected against a man in the middle.
  public static let writeAuthenticationRequired = AttributePermissions(rawValue: 0x20)
}

/// The handles of a published service.
public struct PublishedService: Sendable, Hashable {
  /// The handles of its declaration and all its attributes.
  public var range: HandleRange
  /// Its characteristics, in the order of the definition.
  public var characteristics: [PublishedCharacteristic]

  /// Creates a published service.
  public init(range: HandleRange, characteristics: [PublishedCharacteristic]) {
    self.range = range
    self.characteristics = characteristics
  }
}

/// The handles of a published characteristic.
public struct PublishedCharacteristic: Sendable, Hashable {
  /// The handle of its value.
  public var valueHandle: UInt16
  /// The handle of its client characteristic configuration, if it has one.
  public var configurationHandle: UInt16?

  /// Creates a published characteristic.
  public init(valueHandle: UInt16, configurationHandle: UInt16?) {
    self.valueHandle = valueHandle
    self.configurationHandle = configurationHandle
  }
}
