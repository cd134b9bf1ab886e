import BluetoothWire
package import Essentials

/// Everything heard lately, in an order that stays.
package struct NearbyTable: Sendable {
  /// Bounds of what the air can make the table grow to.
  package enum Limits {
    /// More rows than anybody reads; a crowded hall has a few hundred devices.
    package static let deviceCount = 2_000
    /// After so long without a word a device is shown as quiet.
    static let quietAfter = TimeSpan.seconds(15)
    /// After so long it is forgotten.
    static let forgottenAfter = TimeSpan.seconds(120)
  }

  /// One device, as it was heard so far.
  package struct Device: Hashable, Sendable {
    package var sighting: Sighting
    package var strength: Strength?
    var firstHeard: Instant
    package var lastHeard: Instant
    /// Order of arrival; never reused.
    var number: Int

    /// Whether it fell silent.
    package func isQuiet(now: Instant) -> Bool { now - lastHeard > Limits.quietAfter }
  }

  private var devices: [String: Device] = [:]
  private var arrivals = 0
  /// Devices that found no room.
  private(set) var overflowCount = 0

  var count: Int { devices.count }

  /// Handles one advertisement. Returns true if the device is new or its data has changed.
  @discardableResult
  package mutating func hear(_ sighting: Sighting, now: Instant) -> Bool {
    guard var device = devices[sighting.identifier] else {
      guard devices.count < Limits.deviceCount else {
        overflowCount += 1
        return false
      }
      arrivals += 1
      devices[sighting.identifier] = Device(
        sighting: sighting, strength: sighting.rssi.map { Strength(rssi: $0, now: now) },
        firstHeard: now, lastHeard: now, number: arrivals)
      return true
    }
    let before = device.sighting
    device.sighting = Self.merged(before, sighting)
    device.lastHeard = now
    if let rssi = sighting.rssi {
      if device.strength == nil {
        device.strength = Strength(rssi: rssi, now: now)
      } else {
        device.strength?.add(rssi: rssi, now: now)
      }
    }
    devices[sighting.identifier] = device
    var quiet = device.sighting
    quiet.rssi = before.rssi
    return quiet != before
  }

  /// Forgets devices that have been silent for long.
  package mutating func forget(now: Instant) {
    devices = devices.filter { now - $0.value.lastHeard <= Limits.forgottenAfter }
  }

  subscript(identifier: String) -> Device? { devices[identifier] }

  /// Nearest zone first, silent ones last; within each, in the order of arrival.
  func ordered(now: Instant) -> [Device] {
    devices.values.sorted { a, b in
      let (zoneA, zoneB) = (Self.section(a, now: now), Self.section(b, now: now))
      return zoneA == zoneB ? a.number < b.number : zoneA < zoneB
    }
  }

  /// The devices in the order of arrival.
  package var byArrival: [Device] { devices.values.sorted { $0.number < $1.number } }

  static func section(_ device: Device, now: Instant) -> Int {
    if device.isQuiet(now: now) { return Strength.Zone.allCases.count }
    return (device.strength?.zone ?? .far).rawValue
  }

  /// An advertisement without a name or service list keeps those of an earlier one, since devices
  /// alternate their advertising data.
  private static func merged(_ old: Sighting, _ new: Sighting) -> Sighting {
    var merged = new
    if merged.name == nil { merged.name = old.name }
    if merged.rssi == nil { merged.rssi = old.rssi }
    if merged.txPower == nil { merged.txPower = old.txPower }
    if merged.services.isEmpty { merged.services = old.services }
    if merged.manufacturerData == nil { merged.manufacturerData = old.manufacturerData }
    if merged.serviceData.isEmpty { merged.serviceData = old.serviceData }
    if merged.solicitedServices.isEmpty { merged.solicitedServices = old.solicitedServices }
    return merged
  }
}
