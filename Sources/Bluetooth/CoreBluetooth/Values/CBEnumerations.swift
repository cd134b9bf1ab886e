/// The state of a manager's radio.
public enum CBManagerState: Int, Sendable {
  /// Nothing heard from the radio yet.
  case unknown = 0
  /// The radio is starting anew.
  case resetting = 1
  /// The radio cannot do Bluetooth Low Energy.
  case unsupported = 2
  /// This process may not use the radio.
  case unauthorized = 3
  /// The radio is gone or switched off.
  case poweredOff = 4
  /// Ready.
  case poweredOn = 5
}

/// The old name of a central manager's state.
@available(*, deprecated, message: "Use CBManagerState instead")
public enum CBCentralManagerState: Int, Sendable {
  /// Nothing heard from the radio yet.
  case unknown = 0
  /// The radio is starting anew.
  case resetting = 1
  /// The radio cannot do Bluetooth Low Energy.
  case unsupported = 2
  /// This process may not use the radio.
  case unauthorized = 3
  /// The radio is gone or switched off.
  case poweredOff = 4
  /// Ready.
  case poweredOn = 5
}

/// The old name of a peripheral manager's state.
@available(*, deprecated, message: "Use CBManagerState instead")
public enum CBPeripheralManagerState: Int, Sendable {
  /// Nothing heard from the radio yet.
  case unknown = 0
  /// The radio is starting anew.
  case resetting = 1
  /// The radio cannot do Bluetooth Low Energy.
  case unsupported = 2
  /// This process may not use the radio.
  case unauthorized = 3
  /// The radio is gone or switched off.
  case poweredOff = 4
  /// Ready.
  case poweredOn = 5
}

/// Whether an app may use Bluetooth. Here always `allowedAlways`: what a process may do with the
/// radio shows in the manager's state.
public enum CBManagerAuthorization: Int, Sendable {
  /// The user was not asked yet.
  case notDetermined = 0
  /// The user cannot allow it.
  case restricted = 1
  /// The user denied it.
  case denied = 2
  /// Allowed at any time.
  case allowedAlways = 3
}

/// The old name of a peripheral manager's authorization.
@available(*, deprecated, message: "Use CBManagerAuthorization instead")
public enum CBPeripheralManagerAuthorizationStatus: Int, Sendable {
  /// The user was not asked yet.
  case notDetermined = 0
  /// The user cannot allow it.
  case restricted = 1
  /// The user denied it.
  case denied = 2
  /// Allowed.
  case authorized = 3
}

/// The state of a peripheral's connection.
public enum CBPeripheralState: Int, Sendable {
  /// Neither connected nor requested.
  case disconnected = 0
  /// Asked for.
  case connecting = 1
  /// Connected.
  case connected = 2
  /// On its way down.
  case disconnecting = 3
}

/// Whether a write waits for the peripheral's answer.
public enum CBCharacteristicWriteType: Int, Sendable {
  /// The peripheral responds, and the delegate is notified.
  case withResponse = 0
  /// The peripheral doesn't respond.
  case withoutResponse = 1
}

/// How fast a link should answer; the price is the peripheral's energy.
public enum CBPeripheralManagerConnectionLatency: Int, Sendable {
  /// As fast as possible.
  case low = 0
  /// In between.
  case medium = 1
  /// As saving as possible.
  case high = 2
}

/// What happened to a link that a manager watches.
public enum CBConnectionEvent: Int, Sendable {
  /// It went down.
  case peerDisconnected = 0
  /// It came up.
  case peerConnected = 1
}

/// What may be done with a characteristic.
public struct CBCharacteristicProperties: OptionSet, Hashable, Sendable {
  /// The bits; the low eight as they are on the wire.
  public let rawValue: UInt
  /// Properties from their bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// Can be broadcast; not for local characteristics.
  public static let broadcast = CBCharacteristicProperties(rawValue: 0x01)
  /// Can be read.
  public static let read = CBCharacteristicProperties(rawValue: 0x02)
  /// Can be written without response.
  public static let writeWithoutResponse = CBCharacteristicProperties(rawValue: 0x04)
  /// Can be written.
  public static let write = CBCharacteristicProperties(rawValue: 0x08)
  /// Can notify.
  public static let notify = CBCharacteristicProperties(rawValue: 0x10)
  /// Can indicate.
  public static let indicate = CBCharacteristicProperties(rawValue: 0x20)
  /// Can be written with a signature.
  public static let authenticatedSignedWrites = CBCharacteristicProperties(rawValue: 0x40)
  /// Has more properties in a descriptor; not for local characteristics.
  public static let extendedProperties = CBCharacteristicProperties(rawValue: 0x80)
  /// Only trusted devices may enable notifications.
  public static let notifyEncryptionRequired = CBCharacteristicProperties(rawValue: 0x100)
  /// Only trusted devices may enable indications.
  public static let indicateEncryptionRequired = CBCharacteristicProperties(rawValue: 0x200)
}

/// The access that centrals have to a local attribute.
public struct CBAttributePermissions: OptionSet, Hashable, Sendable {
  /// The bits.
  public let rawValue: UInt
  /// Permissions from their bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// Every central may read.
  public static let readable = CBAttributePermissions(rawValue: 0x01)
  /// Every central may write.
  public static let writeable = CBAttributePermissions(rawValue: 0x02)
  /// Trusted devices may read.
  public static let readEncryptionRequired = CBAttributePermissions(rawValue: 0x04)
  /// Trusted devices may write.
  public static let writeEncryptionRequired = CBAttributePermissions(rawValue: 0x08)
}

/// What a manager's connection events are about.
public struct CBConnectionEventMatchingOption: RawRepresentable, Hashable, Sendable {
  /// The option's name.
  public let rawValue: String
  /// An option from its name.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// A `[CBUUID]`: peers with one of these services.
  public static let serviceUUIDs = CBConnectionEventMatchingOption(
    rawValue: "kCBConnectionEventMatchingOptionServiceUUIDs")
  /// A `[UUID]`: these peers.
  public static let peripheralUUIDs = CBConnectionEventMatchingOption(
    rawValue: "kCBConnectionEventMatchingOptionPeripheralUUIDs")
}

/// The number on which a peer listens for connection-oriented channels.
public typealias CBL2CAPPSM = UInt16
