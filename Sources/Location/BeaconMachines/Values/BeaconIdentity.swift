public import BluetoothWire

/// Which beacon: the three numbers that an iBeacon advertises. Several beacons may have the same.
public struct BeaconIdentity: Hashable, Sendable {
  /// Whose beacons these are.
  public var uuid: BluetoothUUID
  /// Which group of them.
  public var major: UInt16
  /// Which one of the group.
  public var minor: UInt16

  /// An identity from its three numbers.
  public init(uuid: BluetoothUUID, major: UInt16, minor: UInt16) {
    self.uuid = uuid
    self.major = major
    self.minor = minor
  }

  /// The identity of an iBeacon.
  public init(_ beacon: IBeacon) {
    self.init(uuid: beacon.uuid, major: beacon.major, minor: beacon.minor)
  }
}

/// The beacons that a client looks for: those whose numbers are equal to the given ones. As in
/// `CLBeaconIdentityConstraint`, a number that isn't given matches any, and a minor number needs a
/// major one.
public struct BeaconConstraint: Hashable, Sendable {
  /// Whose beacons.
  public let uuid: BluetoothUUID
  /// Which group of them; nil for any.
  public let major: UInt16?
  /// Which one of the group; nil for any.
  public let minor: UInt16?

  /// All beacons of one UUID.
  public init(uuid: BluetoothUUID) {
    self.uuid = uuid
    major = nil
    minor = nil
  }

  /// The beacons of one group.
  public init(uuid: BluetoothUUID, major: UInt16) {
    self.uuid = uuid
    self.major = major
    minor = nil
  }

  /// The beacons with one identity.
  public init(uuid: BluetoothUUID, major: UInt16, minor: UInt16) {
    self.uuid = uuid
    self.major = major
    self.minor = minor
  }

  /// Whether a beacon is one of these.
  public func matches(_ identity: BeaconIdentity) -> Bool {
    uuid == identity.uuid && (major == nil || major == identity.major)
      && (minor == nil || minor == identity.minor)
  }
}

/// One advertisement of a beacon, as one receiver heard it.
public struct BeaconSighting: Hashable, Sendable {
  /// Strength of a report whose controller could not measure it (Core 5.4, Vol 4, Part E,
  /// §7.7.65.2).
  public static let unknownRSSI: Int8 = 127

  /// Which beacon.
  public var identity: BeaconIdentity
  /// The sender's address; beacons may change their addresses.
  public var address: DeviceAddress
  /// Strength in dBm; 127 if it is not available.
  public var rssi: Int8
  /// The advertised strength that a receiver one metre away measures, in dBm.
  public var powerAtOneMetre: Int8

  /// A sighting from its parts.
  public init(
    identity: BeaconIdentity, address: DeviceAddress, rssi: Int8, powerAtOneMetre: Int8
  ) {
    self.identity = identity
    self.address = address
    self.rssi = rssi
    self.powerAtOneMetre = powerAtOneMetre
  }
}
