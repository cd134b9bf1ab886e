public import BluetoothWire

/// A procedure on a peer's GATT server (Core 5.4, Vol 3, Part G, §4).
public enum GATTOperation: Sendable, Hashable {
  /// All primary services, or those with the given UUIDs. Answered by `.services`.
  case discoverServices([BluetoothUUID]?)
  /// The services that a service includes. Answered by `.services`.
  case discoverIncludedServices(in: HandleRange)
  /// The characteristics of a service, all or those with the given UUIDs. Answered by
  /// `.characteristics`.
  case discoverCharacteristics(in: HandleRange, [BluetoothUUID]?)
  /// The descriptors between a characteristic's value and its last handle. Answered by
  /// `.descriptors`.
  case discoverDescriptors(in: HandleRange)
  /// The whole value, however long. Answered by `.value`.
  case read(UInt16)
  /// Values of every attribute of a type in a range. Answered by `.values`.
  case readByUUID(BluetoothUUID, in: HandleRange)
  /// Several values in one request. Answered by `.values`, one per handle where the peer can tell
  /// lengths (Read Multiple Variable), else `.value` with all of them joined.
  case readMultiple([UInt16])
  /// Writes with response; in parts where the value is longer than the MTU allows.
  case write(UInt16, [UInt8])
  /// Prepares all, checks that the peer echoed them, executes all or nothing.
  case reliableWrite([AttributeValue])
  /// Write Command: completed when it was handed to the controller.
  case writeWithoutResponse(UInt16, [UInt8])
  /// The same for a characteristic that takes signed writes: over an encrypted link a Write Command, else
  /// with the signature of the bond (Part G, §4.9.2). Without either the link is encrypted first, by
  /// pairing where need be.
  case signedWrite(UInt16, [UInt8])
}

/// A handle with a value.
public struct AttributeValue: Sendable, Hashable {
  /// The attribute's handle.
  public var handle: UInt16
  /// The attribute's value.
  public var value: [UInt8]

  /// Pairs a handle with a value.
  public init(handle: UInt16, value: [UInt8]) {
    self.handle = handle
    self.value = value
  }
}

/// A service found on a peer.
public struct RemoteService: Sendable, Hashable {
  /// What it is.
  public var uuid: BluetoothUUID
  /// Its declaration and everything in it.
  public var range: HandleRange
  /// Primary, or only there to be included.
  public var isPrimary: Bool

  /// A service as it was found.
  public init(uuid: BluetoothUUID, range: HandleRange, isPrimary: Bool) {
    self.uuid = uuid
    self.range = range
    self.isPrimary = isPrimary
  }
}

/// A characteristic found on a peer.
public struct RemoteCharacteristic: Sendable, Hashable {
  /// What it is.
  public var uuid: BluetoothUUID
  /// The handle of its declaration.
  public var declarationHandle: UInt16
  /// The handle of its value.
  public var valueHandle: UInt16
  /// The last handle that belongs to it.
  public var endHandle: UInt16
  /// What may be done with it.
  public var properties: CharacteristicProperties

  /// A characteristic as it was found.
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
  /// What it is.
  public var uuid: BluetoothUUID
  /// Its handle.
  public var handle: UInt16

  /// A descriptor as it was found.
  public init(uuid: BluetoothUUID, handle: UInt16) {
    self.uuid = uuid
    self.handle = handle
  }
}

/// What may be done with a characteristic (Core 5.4, Vol 3, Part G, §3.3.1.1).
public struct CharacteristicProperties: OptionSet, Sendable, Hashable {
  /// The octet in the declaration.
  public let rawValue: UInt8

  /// Properties from the octet in the declaration.
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
  /// The handle whose values arrive.
  public var valueHandle: UInt16
  /// The last handle of the characteristic.
  public var endHandle: UInt16
  /// The client characteristic configuration descriptor; nil for the host to find it.
  public var configurationHandle: UInt16?
  /// Indications instead of notifications.
  public var usesIndications: Bool

  /// A characteristic that ends at a handle. The host finds the configuration descriptor.
  public init(valueHandle: UInt16, endHandle: UInt16, usesIndications: Bool) {
    self.valueHandle = valueHandle
    self.endHandle = endHandle
    self.usesIndications = usesIndications
  }

  /// A characteristic whose configuration descriptor is known.
  public init(valueHandle: UInt16, configurationHandle: UInt16, usesIndications: Bool) {
    self.valueHandle = valueHandle
    endHandle = configurationHandle
    self.configurationHandle = configurationHandle
    self.usesIndications = usesIndications
  }
}
