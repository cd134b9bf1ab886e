public import BluetoothWire

/// A procedure on a peer's GATT server (Core 5.4, Vol 3, Part G, §4).
public enum GATTOperation: Sendable, Hashable {
  /// Discovers all primary services, or those with the given UUIDs. Completed with `.services`.
  case discoverServices([BluetoothUUID]?)
  /// Discovers the services that a service includes. Completed with `.services`.
  case discoverIncludedServices(in: HandleRange)
  /// Discovers the characteristics of a service, all or those with the given UUIDs. Completed with
  /// `.characteristics`.
  case discoverCharacteristics(in: HandleRange, [BluetoothUUID]?)
  /// Discovers the descriptors between a characteristic's value and its last handle. Completed with
  /// `.descriptors`.
  case discoverDescriptors(in: HandleRange)
  /// Reads a whole value of any length. Completed with `.value`.
  case read(UInt16)
  /// Reads the values of all attributes with a type in a range. Completed with `.values`.
  case readByUUID(BluetoothUUID, in: HandleRange)
  /// Reads several values with one request. Completed with `.values`, one for each handle, if the
  /// peer supports Read Multiple Variable, or else with `.value`, which contains all of them
  /// concatenated.
  case readMultiple([UInt16])
  /// Writes a value with response; in parts if it is longer than the MTU allows.
  case write(UInt16, [UInt8])
  /// Writes several values atomically: prepares all writes, checks the peer's echoes, and executes
  /// all or none.
  case reliableWrite([AttributeValue])
  /// Writes a value with a Write Command. Completed when it was sent to the controller.
  case writeWithoutResponse(UInt16, [UInt8])
  /// Writes a value with a Write Command or a Signed Write Command: without a signature over an
  /// encrypted link, else with the signature of the bond (Part G, §4.9.2). If neither is possible,
  /// the link is encrypted first, by pairing if necessary.
  case signedWrite(UInt16, [UInt8])
}

/// An attribute handle with a value.
public struct AttributeValue: Sendable, Hashable {
  /// The attribute's handle.
  public var handle: UInt16
  /// The attribute's value.
  public var value: [UInt8]

  /// Creates a handle with a value.
  public init(handle: UInt16, value: [UInt8]) {
    self.handle = handle
    self.value = value
  }
}

/// A service found on a peer.
public struct RemoteService: Sendable, Hashable {
  /// The type of the service.
  public var uuid: BluetoothUUID
  /// The handles of its declaration and all its attributes.
  public var range: HandleRange
  /// Whether the service is primary. A secondary service is only included in other services.
  public var isPrimary: Bool

  /// Creates a service.
  public init(uuid: BluetoothUUID, range: HandleRange, isPrimary: Bool) {
    self.uuid = uuid
    self.range = range
    self.isPrimary = isPrimary
  }
}

/// A characteristic found on a peer.
public struct RemoteCharacteristic: Sendable, Hashable {
  /// The type of the characteristic.
  public var uuid: BluetoothUUID
  /// The handle of its declaration.
  public var declarationHandle: UInt16
  /// The handle of its value.
  public var valueHandle: UInt16
  /// The last handle that belongs to it.
  public var endHandle: UInt16
  /// The operations that the characteristic supports.
  public var properties: CharacteristicProperties

  /// Creates a characteristic.
  public init(
    uuid: BluetoothUUID, declarationHandle: UInt16, valueHandle: UInt16, endHandle: UInt16,
    properties: CharacteristicProperties
  ) {
    self.uuid = uuid
    self.declarationHandle = declarationHandle
    self.valueHandle = valueHandle
    self.endHandle = endHandle
    self.properties = properties
  }
}

/// A descriptor found on a peer.
public struct RemoteDescriptor: Sendable, Hashable {
  /// The type of the descriptor.
  public var uuid: BluetoothUUID
  /// Its handle.
  public var handle: UInt16

  /// Creates a descriptor.
  public init(uuid: BluetoothUUID, handle: UInt16) {
    self.uuid = uuid
    self.handle = handle
  }
}

/// The operations that a characteristic supports (Core 5.4, Vol 3, Part G, §3.3.1.1).
public struct CharacteristicProperties: OptionSet, Sendable, Hashable {
  /// The octet in the declaration.
  public let rawValue: UInt8

  /// Creates properties from the octet in the declaration.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Can be broadcast in advertising data.
  public static let broadcast = CharacteristicProperties(rawValue: 0x01)
  /// Can be read.
  public static let read = CharacteristicProperties(rawValue: 0x02)
  /// Can be written without response.
  public static let writeWithoutResponse = CharacteristicProperties(rawValue: 0x04)
  /// Can be written with response.
  public static let write = CharacteristicProperties(rawValue: 0x08)
  /// Can be notified.
  public static let notify = CharacteristicProperties(rawValue: 0x10)
  /// Can be indicated.
  public static let indicate = CharacteristicProperties(rawValue: 0x20)
  /// Can be written with a signature.
  public static let authenticatedSignedWrites = CharacteristicProperties(rawValue: 0x40)
  /// Has an extended properties descriptor.
  public static let extendedProperties = CharacteristicProperties(rawValue: 0x80)
}

/// A characteristic to subscribe to.
public struct SubscriptionTarget: Sendable, Hashable {
  /// The handle of the characteristic's value.
  public var valueHandle: UInt16
  /// The last handle of the characteristic.
  public var endHandle: UInt16
  /// The handle of the client characteristic configuration descriptor; nil if the host must
  /// discover it.
  public var configurationHandle: UInt16?
  /// Whether to subscribe to indications instead of notifications.
  public var usesIndications: Bool

  /// Creates a target from the handles of a characteristic. The host discovers the configuration
  /// descriptor.
  public init(valueHandle: UInt16, endHandle: UInt16, usesIndications: Bool) {
    self.valueHandle = valueHandle
    self.endHandle = endHandle
    self.usesIndications = usesIndications
  }

  /// Creates a target with a known configuration descriptor.
  public init(valueHandle: UInt16, configurationHandle: UInt16, usesIndications: Bool) {
    self.valueHandle = valueHandle
    endHandle = configurationHandle
    self.configurationHandle = configurationHandle
    self.usesIndications = usesIndications
  }
}
