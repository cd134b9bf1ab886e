package import BluetoothWire

/// Finds iBeacons in advertising reports, and counts all reports by kind.
package struct BeaconReader: Sendable {
  /// Counters of the reports.
  package struct Counters: Hashable, Sendable {
    /// iBeacons.
    package var iBeacons = 0
    /// Beacons of other formats.
    package var others = 0
    /// Reports that began like a beacon but were malformed.
    package var malformed = 0
    /// Reports without a beacon.
    package var foreign = 0
  }

  /// The counters since this reader was created.
  package private(set) var counters = Counters()

  /// Creates a reader.
  package init() {}

  /// The sighting in this advertising data; nil if it isn't that of an iBeacon.
  package mutating func sighting(
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
