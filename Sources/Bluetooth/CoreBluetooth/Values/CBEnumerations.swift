/// The state of a manager's radio.
public enum CBManagerState: Int, Sendable {
  /// The state of the radio is not known yet.
  case unknown = 0
  /// The radio is being reset.
  case resetting = 1
  /// The radio doesn't support Bluetooth Low Energy.
  case unsupported = 2
  /// This process is not authorized to use the radio.
  case unauthorized = 3
  /// The radio is missing or switched off.
  case poweredOff = 4
  /// The radio is ready for use.
  case poweredOn = 5
}

/// The deprecated type of a central manager's state.
@available(*, deprecated, message: "Use CBManagerState instead")
public enum CBCentralManagerState: Int, Sendable {
  /// The state of the radio is not known yet.
  case unknown = 0
  /// The radio is being reset.
  case resetting = 1
  /// The radio doesn't support Bluetooth Low Energy.
  case unsupported = 2
  /// This process is not authorized to use the radio.
  case unauthorized = 3
  /// The radio is missing or switched off.
  case poweredOff = 4
  /// The radio is ready for use.
  case poweredOn = 5
}

/// The deprecated type of a peripheral manager's state.
@available(*, deprecated, message: "Use CBManagerState instead")
public enum CBPeripheralManagerState: Int, Sendable {
  /// The state of the radio is not known yet.
  case unknown = 0
  /// The radio is being reset.
  case resetting = 1
  /// The radio doesn't support Bluetooth Low Energy.
  case unsupported = 2
  /// This process is not authorized to use the radio.
  case unauthorized = 3
  /// The radio is missing or switched off.
  case poweredOff = 4
  /// The radio is ready for use.
  case poweredOn = 5
}

/// Whether an app may use Bluetooth. Here always `allowedAlways`: what a process may do with the
/// radio shows in the manager's state.
public enum CBManagerAuthorization: Int, Sendable {
  /// The user has not decided yet.
  case notDetermined = 0
  /// Not allowed, and the user can't change that.
  case restricted = 1
  /// The user denied it.
  case denied = 2
  /// Allowed at any time.
  case allowedAlways = 3
}

/// The deprecated type of a peripheral manager's authorization.
@available(*, deprecated, message: "Use CBManagerAuthorization instead")
public enum CBPeripheralManagerAuthorizationStatus: Int, Sendable {
  /// The user has not decided yet.
  case notDetermined = 0
  /// Not allowed, and the user can't change that.
  case restricted = 1
  /// The user denied it.
  case denied = 2
  /// Allowed.
  case authorized = 3
}

/// The state of a peripheral's connection.
public enum CBPeripheralState: Int, Sendable {
  /// Not connected, and no connection is pending.
  case disconnected = 0
  /// A connection is pending.
  case connecting = 1
  /// Connected.
  case connected = 2
  /// The connection is being closed.
  case disconnecting = 3
}

/// Whether the peripheral acknowledges a write.
public enum CBCharacteristicWriteType: Int, Sendable {
  /// The peripheral responds, and the delegate is notified.
  case withResponse = 0
  /// The peripheral doesn't respond.
  case withoutResponse = 1
}

/// The connection latency. A lower latency costs the peripheral more energy.
public enum CBPeripheralManagerConnectionLatency: Int, Sendable {
  /// The lowest latency.
  case low = 0
  /// A compromise between latency and energy.
  case medium = 1
  /// The lowest energy consumption.
  case high = 2
}

/// A connection event of a peer.
public enum CBConnectionEvent: Int, Sendable {
  /// The peer disconnected.
  case peerDisconnected = 0
  /// The peer connected.
  case peerConnected = 1
}

/// The operations that a characteristic supports.
public struct CBCharacteristicProperties: OptionSet, Hashable, Sendable {
  /// The bits; the low eight are encoded as in the Core Specification.
  public let rawValue: UInt
  /// Creates properties from their bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// Can be broadcast; not for local characteristics.
  public static let broadcast = CBCharacteristicProperties(rawValue: 0x01)
  /// Can be read.
  public static let read = CBCharacteristicProperties(rawValue: 0x02)
  /// Can be written without response.
  public static let writeWithoutResponse = CBCharacteristicProperties(rawValue: 0x04)
  /// Can be written with response.
  public static let write = CBCharacteristicProperties(rawValue: 0x08)
  /// Can notify.
  public static let notify = CBCharacteristicProperties(rawValue: 0x10)
  /// Can indicate.
  public static let indicate = CBCharacteristicProperties(rawValue: 0x20)
  /// Can be written with a signature, without response.
  public static let authenticatedSignedWrites = CBCharacteristicProperties(rawValue: 0x40)
  /// Has more properties in the extended properties descriptor; not for local characteristics.
  public static let extendedProperties = CBCharacteristicProperties(rawValue: 0x80)
  /// Only trusted devices can enable notifications.
  public static let notifyEncryptionRequired = CBCharacteristicProperties(rawValue: 0x100)
  /// Only trusted devices can enable indications.
  public static let indicateEncryptionRequired = CBCharacteristicProperties(rawValue: 0x200)
}

/// The permissions of centrals for a local attribute.
public struct CBAttributePermissions: OptionSet, Hashable, Sendable {
  /// The bits.
  public let rawValue: UInt
  /// Creates permissions from their bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// Can be read.
  public static let readable = CBAttributePermissions(rawValue: 0x01)
  /// Can be written.
  public static let writeable = CBAttributePermissions(rawValue: 0x02)
  /// Can be read by trusted devices only.
  public static let readEncryptionRequired = CBAttributePermissions(rawValue: 0x04)
  /// Can be written by trusted devices only.
  public static let writeEncryptionRequired = CBAttributePermissions(rawValue: 0x08)
}

/// The options of `registerForConnectionEvents(options:)`.
public struct CBConnectionEventMatchingOption: RawRepresentable, Hashable, Sendable {
  /// The option's name.
  public let rawValue: String
  /// Creates an option from its name.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// A `[CBUUID]`: matches peers with one of these services.
  public static let serviceUUIDs = CBConnectionEventMatchingOption(
    rawValue: "kCBConnectionEventMatchingOptionServiceUUIDs")
  /// A `[UUID]`: matches the peers with these identifiers.
  public static let peripheralUUIDs = CBConnectionEventMatchingOption(
    rawValue: "kCBConnectionEventMatchingOptionPeripheralUUIDs")
}

/// The protocol/service multiplexer (PSM) of an L2CAP connection-oriented channel.
public typealias CBL2CAPPSM = UInt16
