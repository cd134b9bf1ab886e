package import BluetoothWire

/// The identity of an iBeacon: its UUID, major and minor. Several beacons may have the same.
package struct BeaconIdentity: Hashable, Sendable {
  /// The UUID of the beacon's owner or app.
  package var uuid: BluetoothUUID
  /// The group of beacons, such as those of a building.
  package var major: UInt16
  /// The beacon within the group.
  package var minor: UInt16

  /// Creates an identity.
  package init(uuid: BluetoothUUID, major: UInt16, minor: UInt16) {
    self.uuid = uuid
    self.major = major
    self.minor = minor
  }

  /// The identity of an iBeacon.
  package init(_ beacon: IBeacon) {
    self.init(uuid: beacon.uuid, major: beacon.major, minor: beacon.minor)
  }
}

/// Matches beacons by UUID, major and minor. As in `CLBeaconIdentityConstraint`, nil matches any
/// value, and a minor number requires a major number.
package struct BeaconConstraint: Hashable, Sendable {
  /// The UUID of the beacons.
  package let uuid: BluetoothUUID
  /// The major number; nil for any.
  package let major: UInt16?
  /// The minor number; nil for any.
  package let minor: UInt16?

  /// Creates a constraint that matches all beacons with a UUID.
  package init(uuid: BluetoothUUID) {
    self.uuid = uuid
    major = nil
    minor = nil
  }

  /// Creates a constraint that matches the beacons of a group.
  package init(uuid: BluetoothUUID, major: UInt16) {
    self.uuid = uuid
    self.major = major
    minor = nil
  }

  /// Creates a constraint that matches the beacons with one identity.
  package init(uuid: BluetoothUUID, major: UInt16, minor: UInt16) {
    self.uuid = uuid
    self.major = major
    self.minor = minor
  }

  /// Whether a beacon satisfies the constraint.
  package func matches(_ identity: BeaconIdentity) -> Bool {
    uuid == identity.uuid && (major == nil || major == identity.major)
      && (minor == nil || minor == identity.minor)
  }
}

/// One advertisement of a beacon, as received by one receiver.
package struct BeaconSighting: Hashable, Sendable {
  /// The RSSI of a report whose controller could not measure it (Core 5.4, Vol 4, Part E,
  /// §7.7.65.2).
  package static let unknownRSSI: Int8 = 127

  /// The identity of the beacon.
  package var identity: BeaconIdentity
  /// The advertiser's address. Beacons may change it.
  package var address: DeviceAddress
  /// The RSSI in dBm; see ``measuredRSSI``.
  package var rssi: Int8
  /// The measured power in the advertisement: the RSSI in dBm at a distance of one metre.
  package var powerAtOneMetre: Int8

  /// The RSSI in dBm; nil if it is unknown (``MeasuredStrength/rssi(_:)``).
  package var measuredRSSI: Int8? { MeasuredStrength.rssi(Int(rssi)) }

  /// The measured power in dBm; nil if the advertisement has none, or one that can't be
  /// (``MeasuredStrength/powerRange``).
  package var measuredPower: Int8? { MeasuredStrength.power(powerAtOneMetre) }

  /// Creates a sighting.
  package init(
    identity: BeaconIdentity, address: DeviceAddress, rssi: Int8, powerAtOneMetre: Int8
  ) {
    self.identity = identity
    self.address = address
    self.rssi = rssi
    self.powerAtOneMetre = powerAtOneMetre
  }
}
