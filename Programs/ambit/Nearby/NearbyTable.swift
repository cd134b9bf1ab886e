import BeaconMachines
import BluetoothWire
package import Essentials
import Foundation
import JSONWire

/// Everything heard lately, in an order that stays. Where there is no more room, a device that is heard
/// repeatedly takes the place of one that was heard once, and a louder one that of a quieter one.
package struct NearbyTable: Sendable {
  /// Bounds of what the air can make the table grow to.
  package enum Limits {
    /// More rows than anybody reads; a crowded hall has a few hundred devices.
    package static let deviceCount = 2_000
    /// After so long without a word a device is shown as quiet.
    static let quietAfter = TimeSpan.seconds(15)
    /// After so long it is forgotten.
    static let forgottenAfter = TimeSpan.seconds(120)
    /// Devices without room of which it is remembered how often they were heard.
    static let memoryCount = 4_096
    /// After a refusal, weaker devices are refused without a search for so long: a flood of made-up ones
    /// must not cost a search for each.
    static let refusalTime = TimeSpan.seconds(1)
  }

  /// One device, as it was heard so far.
  package struct Device: Hashable, Sendable {
    package var sighting: Sighting
    package var strength: Strength?
    var firstHeard: Instant
    package var lastHeard: Instant
    /// Order of arrival; never reused.
    var number: Int
    fileprivate var history: SightingHistory

    /// Whether it fell silent.
    package func isQuiet(now: Instant) -> Bool { now - lastHeard > Limits.quietAfter }
  }

  private var devices: [String: Device] = [:]
  private var arrivals = 0
  /// Advertisements of devices that found no room.
  package private(set) var overflowCount = 0
  /// Devices that made room for others.
  private(set) var displacedCount = 0
  private var memory = SightingMemory<String>(capacity: Limits.memoryCount)
  /// The highest level that was refused lately, by kind, and until when that holds.
  private var refused: (levels: [Standing.Kind: Double], until: Instant) = ([:], .zero)

  var count: Int { devices.count }

  /// A phrase about advertisements of devices that found no room.
  package static func overflow(_ count: Int) -> String {
    count == 1
      ? "1 advertisement of another device was left out"
      : "\(count) advertisements of other devices were left out"
  }

  /// The event for a higher count of them, and of the devices that made room.
  var overflowJSON: JSON {
    .object([
      "event": .string("overflow"), "time": .time(Date()),
      "count": .integer(Int64(overflowCount)), "displaced": .integer(Int64(displacedCount)),
    ])
  }

  /// Handles one advertisement. Returns true if the device is new or its data has changed.
  @discardableResult
  package mutating func hear(_ sighting: Sighting, now: Instant) -> Bool {
    guard var device = devices[sighting.identifier] else { return arrive(sighting, now: now) }
    let before = device.sighting
    device.sighting = Self.merged(before, sighting)
    device.lastHeard = now
    device.history.heard(at: now)
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

  /// Adds a device that is heard for the first time, or again after it found no room. Returns false if
  /// it finds none.
  private mutating func arrive(_ sighting: Sighting, now: Instant) -> Bool {
    let id = sighting.identifier
    let history = memory.history(of: id, heardAt: now)
    if devices.count >= Limits.deviceCount {
      let newcomer = Standing(isSteady: history.isSteady, level: sighting.rssi.map { Double($0) })
      guard makeRoom(for: newcomer, now: now) else {
        memory.keep(history, of: id)
        overflowCount += 1
        return false
      }
    }
    memory.forget(id)
    arrivals += 1
    devices[id] = Device(
      sighting: sighting, strength: sighting.rssi.map { Strength(rssi: $0, now: now) },
      firstHeard: now, lastHeard: now, number: arrivals, history: history)
    return true
  }

  /// Removes the device that is worth less than a newcomer. Returns false if all are worth more.
  private mutating func makeRoom(for newcomer: Standing, now: Instant) -> Bool {
    if now >= refused.until { refused = ([:], now + Limits.refusalTime) }
    if let level = refused.levels[newcomer.kind], newcomer.level <= level { return false }
    let places = devices.map { id, device in
      (
        id: id,
        standing: Standing(
          isSteady: device.history.isSteady, isSilent: device.isQuiet(now: now),
          level: device.strength.map { Double($0.shown) })
      )
    }
    guard let id = Standing.displaced(among: places, by: newcomer) else {
      refused.levels[newcomer.kind] = newcomer.level
      return false
    }
    if let history = devices[id]?.history, history.count > 1 { memory.keep(history, of: id) }
    devices[id] = nil
    displacedCount += 1
    return true
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
