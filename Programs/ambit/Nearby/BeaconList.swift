import BeaconMachines
import BluetoothWire
import Essentials

/// The beacons of the live view: those that were ranged last, the nearest first.
package struct BeaconList: Sendable {
  private(set) var rows: [BeaconSurvey.Row] = []
  /// Advertisements that began as a beacon's and were malformed.
  private(set) var malformedCount = 0
  private var addresses: Set<DeviceAddress> = []
  /// Whether all beacons that are heard are ranged.
  private var isComplete = false

  /// No beacons.
  init() {}

  /// What a survey has.
  init(_ survey: BeaconSurvey) {
    rows = survey.report
    malformedCount = survey.malformedCount
    addresses = Set(rows.map(\.beacon.address))
    isComplete = survey.refusedCount == 0
  }

  /// Whether a device is one of the beacons, in this report or the next, and nothing else that could be
  /// opened. Those that fell silent are devices that did.
  func shows(_ device: NearbyTable.Device, now: Instant) -> Bool {
    let sighting = device.sighting
    guard sighting.isConnectable != true, sighting.beacon?.powerAtOneMetre != nil,
      let address = sighting.address, !device.isQuiet(now: now)
    else { return false }
    return isComplete || addresses.contains(address)
  }

  /// A beacon's short name: the numbers of an iBeacon before its UUID.
  static func name(_ row: BeaconSurvey.Row) -> String {
    guard row.format != .eddystone else { return row.name }
    let identity = row.beacon.identity
    return "\(identity.major)/\(identity.minor) \(identity.uuid.fullDescription.prefix(8))…"
  }

  /// How near it is: `near 1.2–3.4 m`.
  package static func distance(_ row: BeaconSurvey.Row) -> String {
    guard let distance = row.beacon.distance else { return "\(row.beacon.proximity)" }
    return "\(row.beacon.proximity) \(BeaconText.interval(distance))"
  }
}
