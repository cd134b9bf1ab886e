public import BluetoothWire

/// A service that a client wants to publish.
public struct ServiceDefinition: Sendable, Hashable {
  /// What it is.
  public var uuid: BluetoothUUID
  /// Primary, or only there to be included.
  public var isPrimary: Bool
  /// The first handles of published services that it includes.
  public var includedServices: [UInt16]
  /// What it holds.
  public var characteristics: [CharacteristicDefinition]

  /// A service to publish.
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

/// A characteristic that a client wants to publish.
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
  /// A static value that the host serves; nil: the client is asked on each read.
  public var value: [UInt8]?
  /// Only encrypted links may subscribe.
  public var subscribingRequiresEncryption: Bool
  /// Only links may subscribe whose pairing was protected against a man in the middle.
  public var subscribingRequiresAuthentication: Bool
  /// Other descriptors, with fixed values.
  public var descriptors: [DescriptorDefinition]

  /// A characteristic to publish.
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

/// A descriptor that a client wants to publish; every peer can read it.
public struct DescriptorDefinition: Sendable, Hashable {
  /// What it is.
  public var uuid: BluetoothUUID
  /// Its value.
  public var value: [UInt8]

  /// A descriptor to publish.
  public init(uuid: BluetoothUUID, value: [UInt8]) {
    self.uuid = uuid
    self.value = value
  }
}

/// The access that peers have to an attribute.
public struct AttributePermissions: OptionSet, Sendable, Hashable {
  /// The bits; the first four as Apple numbers them.
  public let rawValue: UInt8

  /// Permissions from their bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Every peer may read.
  public static let readable = AttributePermissions(rawValue: 0x01)
  /// Every peer may write.
  public static let writeable = AttributePermissions(rawValue: 0x02)
  /// Peers may read over an encrypted link.
  public static let readEncryptionRequired = AttributePermissions(rawValue: 0x04)
  /// Peers may write over an encrypted link.
  public static let writeEncryptionRequired = AttributePermissions(rawValue: 0x08)
  /// Peers may read over a link whose pairing was protected against a man in the middle.
  public static let readAuthenticationRequired = AttributePermissions(rawValue: 0x10)
  /// Peers may write over a link whose pairing was protected against a man in the middle.
  public static let writeAuthenticationRequired = AttributePermissions(rawValue: 0x20)
}

/// The handles of a published service.
public struct PublishedService: Sendable, Hashable {
  /// Its declaration and everything in it.
  public var range: HandleRange
  /// Its characteristics, in the order of the definition.
  public var characteristics: [PublishedCharacteristic]

  /// A service as it was published.
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

  /// A characteristic as it was published.
  public init(valueHandle: UInt16, configurationHandle: UInt16?) {
    self.valueHandle = valueHandle
    self.configurationHandle = configurationHandle
  }
}
