package import BeaconMachines
import BluetoothWire
package import Essentials

/// Ranges all beacons of any format, once a second.
///
/// Ranging is by UUID: UUIDs of iBeacons and AltBeacons are ranged as soon as they are heard. The
/// identifier of an Eddystone beacon is mapped to a number in place of a UUID.
package struct BeaconSurvey: Sendable {
  /// One beacon in a report.
  package struct Row: Hashable, Sendable {
    var format: Format
    /// The identity as people read it.
    package var name: String
    package var beacon: RangedBeacon
    /// The link's level at the last reports, in dBm, the newest last.
    var levels: [Int]
    /// What its device tells about itself in Eddystone-TLM frames.
    var telemetry: EddystoneTelemetry?
  }

  enum Format: String, CaseIterable, Sendable {
    case iBeacon
    case altBeacon = "AltBeacon"
    case eddystone = "Eddystone"
  }

  private enum Limits {
    /// The limit of UUIDs or Eddystone identifiers per format, which bounds the cost of a report.
    static let namesMax = 256
    /// How much louder a beacon must be to take the place of another, in dB, so that two of the same
    /// level don't take turns.
    static let marginDecibels = 6.0
    /// Reports whose levels are kept.
    static let levelsMax = 16
  }

  private struct Key: Hashable {
    var format: Format
    var identity: BeaconIdentity
    var address: DeviceAddress
  }

  /// One ranging machine for each format.
  private struct Lane {
    var machine = RangingMachine()
    var actions: [RangingMachine.Action] = []
    /// The Eddystone identifiers by their number; empty for a number that is free.
    var names: [String] = []
    var numbers: [String: UInt64] = [:]

    /// The level in dBm that a beacon must exceed to take the place of another, as far as it is known
    /// since the last report: a flood of weak beacons must not cost a search for each.
    var levelToExceed: Double?

    /// Ends ranging the UUID that is least worth its place, if that is weaker than `rssi`: one without
    /// a beacon in range, or the one whose loudest beacon is weakest.
    ///
    /// - Parameter rssi: In dBm; nil if it is unknown.
    /// - Returns: The UUID; nil if all are louder.
    mutating func release(weakerThan rssi: Int8?) -> BluetoothUUID? {
      guard let rssi, Double(rssi) > levelToExceed ?? -.infinity else { return nil }
      let levels = machine.highestLevels
      let worths = machine.constraints.map { ($0, levels[$0.uuid] ?? -.infinity) }
      guard let weakest = worths.min(by: { $0.1 < $1.1 }) else { return nil }
      let limit = weakest.1 + Limits.marginDecibels
      guard Double(rssi) > limit else {
        levelToExceed = limit
        return nil
      }
      machine.stop(weakest.0)
      return weakest.0.uuid
    }
  }

  /// Only these; empty means all.
  private let constraints: [BeaconConstraint]
  private var lanes: [Format: Lane] = [:]
  private var levels: [Key: [Int]] = [:]
  /// The last telemetry of addresses; nil for a beacon of the last report that has sent none.
  private var telemetry: [DeviceAddress: EddystoneTelemetry?] = [:]
  /// Beacons that were not ranged for lack of room.
  private(set) var refusedCount = 0
  /// Advertisements that began as a beacon's and were malformed.
  private(set) var malformedCount = 0
  /// The beacons in range at the last report, the nearest first.
  package private(set) var report: [Row] = []
  /// The last report of each format. The formats are not due at the same times.
  private var latest: [Format: [Row]] = [:]
  private var isScanning = true

  init(constraints: [BeaconConstraint], now: Instant) {
    self.constraints = constraints
    for format in Format.allCases {
      var lane = Lane()
      lane.machine.handle(.scanning(true), now: now, into: &lane.actions)
      lanes[format] = lane
    }
  }

  /// When `reports` is due next.
  var nextWake: Instant? { lanes.values.compactMap(\.machine.nextWake).min() }

  /// The radio was switched on or off. While it is off, no beacon counts as gone.
  package mutating func setScanning(_ isScanning: Bool, now: Instant) {
    guard isScanning != self.isScanning else { return }
    self.isScanning = isScanning
    for format in Format.allCases {
      guard var lane = lanes[format] else { continue }
      lane.machine.handle(.scanning(isScanning), now: now, into: &lane.actions)
      lanes[format] = lane
    }
    if !isScanning {
      report = []
      latest = [:]
    }
  }

  /// Handles an advertisement; ignores those that are no beacons.
  package mutating func hear(_ sighting: Sighting, now: Instant) {
    let reading = sighting.beaconReading
    if reading == .malformed { malformedCount += 1 }
    if case .beacon(.eddystoneTelemetry(let frame)) = reading {
      // Only of devices that send a beacon's frames as well, so that it is bounded as they are.
      if let address = sighting.address, telemetry[address] != nil { telemetry[address] = frame }
      return
    }
    guard case .beacon(let beacon) = reading,
      let rssi = sighting.rssi.flatMap({ Int8(exactly: $0) }),
      let power = beacon.powerAtOneMetre, let address = sighting.address
    else { return }
    let identity: BeaconIdentity
    let format: Format
    switch beacon {
    case .iBeacon(let fields): (format, identity) = (.iBeacon, BeaconIdentity(fields))
    case .altBeacon(let fields):
      guard let fields = fields.asIBeacon else { return }
      (format, identity) = (.altBeacon, BeaconIdentity(fields))
    case .eddystoneUID, .eddystoneURL, .eddystoneEphemeral, .eddystoneTelemetry:
      let measured = rssi == 0 || rssi == BeaconSighting.unknownRSSI ? nil : rssi
      guard let number = number(of: Self.name(beacon), measured) else {
        refusedCount += 1
        return
      }
      format = .eddystone
      identity = BeaconIdentity(uuid: .init(high: 0, low: number), major: 0, minor: 0)
    }
    guard constraints.isEmpty || constraints.contains(where: { $0.matches(identity) }) else {
      return
    }
    range(
      BeaconSighting(identity: identity, address: address, rssi: rssi, powerAtOneMetre: power),
      format, now)
  }

  private mutating func range(_ sighting: BeaconSighting, _ format: Format, _ now: Instant) {
    guard var lane = lanes[format] else { return }
    lanes[format] = nil
    defer { lanes[format] = lane }
    let constraint = BeaconConstraint(uuid: sighting.identity.uuid)
    if !lane.machine.constraints.contains(constraint) {
      // Eddystone identifiers have released one with their number.
      if format != .eddystone, lane.machine.constraints.count >= Limits.namesMax {
        _ = lane.release(weakerThan: sighting.measuredRSSI)
      }
      guard lane.machine.constraints.count < Limits.namesMax,
        (try? lane.machine.start(constraint, now: now)) != nil
      else {
        refusedCount += 1
        return
      }
    }
    lane.machine.handle(.sighted(sighting), now: now, into: &lane.actions)
  }

  /// The number in place of a UUID for an Eddystone identifier; nil if there is no room for it.
  private mutating func number(of name: String, _ rssi: Int8?) -> UInt64? {
    guard var lane = lanes[.eddystone] else { return nil }
    if let number = lane.numbers[name] { return number }
    lanes[.eddystone] = nil
    defer { lanes[.eddystone] = lane }
    let number: UInt64
    if lane.names.count < Limits.namesMax {
      number = UInt64(lane.names.count)
      lane.names.append(name)
    } else {
      guard let released = lane.release(weakerThan: rssi),
        lane.names.indices.contains(Int(released.low))
      else { return nil }
      number = released.low
      lane.numbers[lane.names[Int(number)]] = nil
      lane.names[Int(number)] = name
    }
    lane.numbers[name] = number
    return number
  }

  private static func name(_ beacon: Beacon) -> String {
    let text = beacon.description
    let prefix = "Eddystone "
    return text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
  }

  /// The beacons of the formats whose report is due, the nearest first; nil if none is.
  package mutating func wake(now: Instant) -> [Row]? {
    var rows: [Row] = []
    var isDue = false
    for format in Format.allCases {
      guard var lane = lanes[format] else { continue }
      lane.machine.wake(now: now, into: &lane.actions)
      if !lane.actions.isEmpty { lane.levelToExceed = nil }
      for case .ranged(_, let beacons) in lane.actions {
        isDue = true
        latest[format] = beacons.map { row($0, format, lane.names) }
        rows += latest[format] ?? []
      }
      lane.actions = []
      lanes[format] = lane
    }
    guard isDue else { return nil }
    let all = Format.allCases.flatMap { latest[$0] ?? [] }.map { row in
      var row = row
      row.telemetry = telemetry[row.beacon.address] ?? nil
      return row
    }
    levels = Dictionary(
      all.map { (Self.key($0), $0.levels) }, uniquingKeysWith: { first, _ in first })
    telemetry = Dictionary(
      all.map { ($0.beacon.address, $0.telemetry) }, uniquingKeysWith: { first, _ in first })
    report = Self.sorted(all)
    return Self.sorted(rows)
  }

  private static func sorted(_ rows: [Row]) -> [Row] {
    rows.sorted {
      ($0.beacon.distance?.metres ?? .infinity) < ($1.beacon.distance?.metres ?? .infinity)
    }
  }

  private static func key(_ row: Row) -> Key {
    Key(format: row.format, identity: row.beacon.identity, address: row.beacon.address)
  }

  private func row(_ beacon: RangedBeacon, _ format: Format, _ names: [String]) -> Row {
    let identity = beacon.identity
    let name =
      format == .eddystone
      ? names[safe: Int(identity.uuid.low)] ?? ""
      : "\(identity.uuid.fullDescription)/\(identity.major)/\(identity.minor)"
    var row = Row(format: format, name: name, beacon: beacon, levels: [])
    row.telemetry = telemetry[beacon.address] ?? nil
    let known = levels[Self.key(row)] ?? []
    row.levels =
      beacon.distance == nil && beacon.rssi == 0
      ? known : (known + [Int(beacon.level.rounded())]).suffix(Limits.levelsMax)
    return row
  }
}
