/// A value in a message of D-Bus, as far as BlueZ's interfaces have such (D-Bus Specification, Type System). A
/// variant is the value that it contains.
package indirect enum BusValue: Sendable, Hashable {
  /// BOOLEAN.
  case boolean(Bool)
  /// BYTE.
  case byte(UInt8)
  /// INT16.
  case int16(Int16)
  /// UINT16.
  case uint16(UInt16)
  /// UINT32.
  case uint32(UInt32)
  /// STRING.
  case string(String)
  /// OBJECT_PATH.
  case path(String)
  /// `ay`.
  case bytes([UInt8])
  /// `as`.
  case strings([String])
  /// `ao`.
  case paths([String])
  /// `a{sv}`.
  case properties([String: BusValue])
  /// `a{qv}`, as manufacturer data by company.
  case numbered([UInt16: BusValue])
  /// `a{sa{sv}}`: the properties of an object, by interface.
  case interfaces([String: [String: BusValue]])
  /// `a{oa{sa{sv}}}`: the interfaces of objects, by path.
  case objects([String: [String: [String: BusValue]]])
  /// `a(yyay)`: the patterns of a monitor. Not received.
  case patterns([AdvertisingPattern])
  /// An argument that is a VARIANT, for a method that takes one. Not received: a variant is its value.
  case variant(BusValue)
  /// A value of another type, which was skipped.
  case other
}

extension BusValue {
  package var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
  package var int16: Int16? { if case .int16(let value) = self { value } else { nil } }
  package var uint16: UInt16? { if case .uint16(let value) = self { value } else { nil } }
  package var uint32: UInt32? { if case .uint32(let value) = self { value } else { nil } }
  package var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
  package var strings: [String]? { if case .strings(let value) = self { value } else { nil } }
  package var paths: [String]? { if case .paths(let value) = self { value } else { nil } }
  /// The text of a string or a path.
  package var text: String? {
    switch self {
    case .string(let text), .path(let text): text
    default: nil
    }
  }
  package var properties: [String: BusValue]? {
    if case .properties(let value) = self { value } else { nil }
  }
  package var numbered: [UInt16: BusValue]? {
    if case .numbered(let value) = self { value } else { nil }
  }
  package var interfaces: [String: [String: BusValue]]? {
    if case .interfaces(let value) = self { value } else { nil }
  }
  package var objects: [String: [String: [String: BusValue]]]? {
    if case .objects(let value) = self { value } else { nil }
  }
}

/// A method call.
package struct BusCall: Sendable, Hashable {
  /// The name of the service on the bus.
  package var destination: String
  package var path: String
  package var interface: String
  package var member: String
  package var arguments: [BusValue]

  package init(
    _ destination: String, _ path: String, _ interface: String, _ member: String,
    _ arguments: [BusValue] = []
  ) {
    self.destination = destination
    self.path = path
    self.interface = interface
    self.member = member
    self.arguments = arguments
  }
}

/// An error reply: its name, such as `org.bluez.Error.Failed`, and its text.
package struct BusError: Error, Sendable, Hashable {
  package var name: String
  package var message: String

  package init(_ name: String, _ message: String) {
    self.name = name
    self.message = message
  }
}

/// A received signal.
package struct BusSignal: Sendable, Hashable {
  /// The unique name of its sender, which the bus vouches for.
  package var sender: String
  package var path: String
  package var interface: String
  package var member: String
  package var arguments: [BusValue]

  package init(
    sender: String, path: String, interface: String, member: String, arguments: [BusValue]
  ) {
    self.sender = sender
    self.path = path
    self.interface = interface
    self.member = member
    self.arguments = arguments
  }
}

/// Identifies a call in its reply.
package struct BusCallID: Sendable, Hashable {
  package var rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A call of a method of this program's by another one.
package struct BusMethodCall: Sendable, Hashable {
  /// The unique name of its sender, which the bus vouches for.
  package var sender: String
  package var path: String
  package var interface: String
  package var member: String
  package var arguments: [BusValue]

  package init(
    sender: String, path: String, interface: String, member: String, arguments: [BusValue]
  ) {
    self.sender = sender
    self.path = path
    self.interface = interface
    self.member = member
    self.arguments = arguments
  }
}

extension BusSignal {
  /// Whether it may be about a device, rather than about one of its characteristics.
  package var concernsDevices: Bool {
    arguments.first != .string(BusName.characteristic)
  }
}

/// Identifies a call by another program in its answer.
package struct IncomingCallID: Sendable, Hashable {
  package var rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Identifies a session with a host on BlueZ.
package struct BlueZSessionID: Sendable, Hashable, Comparable {
  package var rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// Identifies another program whose sessions this process serves, such as a connection with the hub.
package struct BlueZProgramID: Sendable, Hashable {
  package var rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Names of interfaces and services.
enum BusName {
  static let bus = "org.freedesktop.DBus"
  static let properties = "org.freedesktop.DBus.Properties"
  static let objectManager = "org.freedesktop.DBus.ObjectManager"
  static let bluez = "org.bluez"
  static let adapter = "org.bluez.Adapter1"
  static let device = "org.bluez.Device1"
  static let agentManager = "org.bluez.AgentManager1"
  static let agent = "org.bluez.Agent1"
  static let gattManager = "org.bluez.GattManager1"
  static let peer = "org.freedesktop.DBus.Peer"
  static let advertisingManager = "org.bluez.LEAdvertisingManager1"
  static let advertisement = "org.bluez.LEAdvertisement1"
  static let monitorManager = "org.bluez.AdvertisementMonitorManager1"
  static let monitor = "org.bluez.AdvertisementMonitor1"
  static let service = "org.bluez.GattService1"
  static let characteristic = "org.bluez.GattCharacteristic1"
  static let descriptor = "org.bluez.GattDescriptor1"
}
