public import BluetoothWire

/// Finds iBeacons in advertising reports, and counts what else there is.
public struct BeaconReader: Sendable {
  /// Counters of what a reader has received.
  public struct Counters: Hashable, Sendable {
    /// iBeacons.
    public var iBeacons = 0
    /// Beacons of other formats.
    public var others = 0
    /// What began as a beacon and was not one.
    public var malformed = 0
    /// Reports that were about something else.
    public var foreign = 0
  }

  /// The counters since this reader was created.
  public private(set) var counters = Counters()

  /// Has read nothing yet.
  public init() {}

  /// The sighting that a report of this advertising data is; nil if it is not of an iBeacon.
  public mutating func sighting(
    in data: ArraySlice<UInt8>, from address: DeviceAddress, rssi: Int8
  ) -> BeaconSighting? {
    switch Beacon.read(AdvertisingData(data)) {
    case .beacon(.iBeacon(let beacon)):
      counters.iBeacons += 1
      return BeaconSighting(
        identity: BeaconIdentity(beacon), address: address, rssi: rssi,
        powerAtOneMetre: beacon.powerAtOneMetre)
    case .beacon: counters.others += 1
    case .malformed: counters.malformed += 1
    case .foreign: counters.foreign += 1
    }
    return nil
  }
}
