public import BluetoothWire

/// The identity of an iBeacon: its UUID, major and minor. Several beacons may have the same.
public struct BeaconIdentity: Hashable, Sendable {
  /// The UUID of the beacon's owner or app.
  public var uuid: BluetoothUUID
  /// The group of beacons, such as those of a building.
  public var major: UInt16
  /// The beacon within the group.
  public var minor: UInt16

  /// Creates an identity.
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

/// Matches beacons by UUID, major and minor. As in `CLBeaconIdentityConstraint`, nil matches any
/// value, and a minor number requires a major number.
public struct BeaconConstraint: Hashable, Sendable {
  /// The UUID of the beacons.
  public let uuid: BluetoothUUID
  /// The major number; nil for any.
  public let major: UInt16?
  /// The minor number; nil for any.
  public let minor: UInt16?

  /// Creates a constraint that matches all beacons with a UUID.
  public init(uuid: BluetoothUUID) {
    self.uuid = uuid
    major = nil
    minor = nil
  }

  /// Creates a constraint that matches the beacons of a group.
  public init(uuid: BluetoothUUID, major: UInt16) {
    self.uuid = uuid
    self.major = major
    minor = nil
  }

  /// Creates a constraint that matches the beacons with one identity.
  public init(uuid: BluetoothUUID, major: UInt16, minor: UInt16) {
    self.uuid = uuid
    self.major = major
    self.minor = minor
  }

  /// Whether a beacon satisfies the constraint.
  public func matches(_ identity: BeaconIdentity) -> Bool {
    uuid == identity.uuid && (major == nil || major == identity.major)
      && (minor == nil || minor == identity.minor)
  }
}

/// One advertisement of a beacon, as received by one receiver.
public struct BeaconSighting: Hashable, Sendable {
  /// The RSSI of a report whose controller could not measure it (Core 5.4, Vol 4, Part E,
  /// §7.7.65.2).
  public static let unknownRSSI: Int8 = 127

  /// The identity of the beacon.
  public var identity: BeaconIdentity
  /// The advertiser's address. Beacons may change it.
  public var address: DeviceAddress
  /// The RSSI in dBm; see ``measuredRSSI``.
  public var rssi: Int8
  /// The measured power in the advertisement: the RSSI in dBm at a distance of one metre.
  public var powerAtOneMetre: Int8

  /// The RSSI in dBm; nil if it is unknown (``MeasuredStrength/rssi(_:)``).
  public var measuredRSSI: Int8? { MeasuredStrength.rssi(Int(rssi)) }

  /// The measured power in dBm; nil if the advertisement has none, or one that can't be
  /// (``MeasuredStrength/powerRange``).
  public var measuredPower: Int8? { MeasuredStrength.power(powerAtOneMetre) }

  /// Creates a sighting.
  public init(
    identity: BeaconIdentity, address: DeviceAddress, rssi: Int8, powerAtOneMetre: Int8
  ) {
    self.identity = identity
    self.address = address
    self.rssi = rssi
    self.powerAtOneMetre = powerAtOneMetre
  }
}
