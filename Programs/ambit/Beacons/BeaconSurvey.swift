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
    /// UUIDs or identifiers without room of which it is remembered how often they were heard.
    static let memoryMax = 4_096
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

    /// How often each ranged UUID was heard.
    var histories: [BluetoothUUID: SightingHistory] = [:]
    /// The same of what found no room, by its UUID or Eddystone identifier.
    var memory = SightingMemory<String>(capacity: Limits.memoryMax)
    /// The highest level that was refused since the last report, by kind: a flood of weak beacons must
    /// not cost a search for each.
    var refused: [Standing.Kind: Double] = [:]

    /// Ends ranging the UUID that is worth less than a newcomer (``Standing``).
    ///
    /// - Parameter rssi: In dBm; nil if it is unknown.
    /// - Returns: The UUID; nil if all are worth more.
    mutating func release(for name: String, _ rssi: Int8?, now: Instant) -> BluetoothUUID? {
      let history = memory.history(of: name, heardAt: now)
      let newcomer = Standing(isSteady: history.isSteady, level: rssi.map { Double($0) })
      var released: BluetoothUUID?
      if newcomer.level > refused[newcomer.kind] ?? -.infinity {
        released = Standing.displaced(among: standings, by: newcomer)
        if released == nil { refused[newcomer.kind] = newcomer.level }
      }
      guard let released else {
        memory.keep(history, of: name)
        return nil
      }
      if let history = histories.removeValue(forKey: released), history.count > 1 {
        let name = names[safe: Int(clamping: released.low)]
        memory.keep(history, of: name ?? released.fullDescription)
      }
      machine.stop(BeaconConstraint(uuid: released))
      return released
    }

    /// The worth of the ranged UUIDs. One without a beacon in range is silent.
    private var standings: [(id: BluetoothUUID, standing: Standing)] {
      let levels = machine.highestLevels
      return machine.constraints.map { constraint in
        let uuid = constraint.uuid
        let isSteady = histories[uuid]?.isSteady == true
        return (
          uuid, Standing(isSteady: isSteady, isSilent: levels[uuid] == nil, level: levels[uuid])
        )
      }
    }

    /// Ranges a UUID. Returns false if there is no room.
    mutating func start(_ uuid: BluetoothUUID, _ name: String, now: Instant) -> Bool {
      guard machine.constraints.count < Limits.namesMax,
        (try? machine.start(BeaconConstraint(uuid: uuid), now: now)) != nil
      else { return false }
      histories[uuid] = memory.history(of: name, heardAt: now)
      memory.forget(name)
      return true
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
      let power = beacon.powerAtOneMetre, let address = sighting.address
    else { return }
    let rssi = sighting.rssi.flatMap { MeasuredStrength.rssi($0) }
    let identity: BeaconIdentity
    let format: Format
    var name: String?
    switch beacon {
    case .iBeacon(let fields): (format, identity) = (.iBeacon, BeaconIdentity(fields))
    case .altBeacon(let fields):
      guard let fields = fields.asIBeacon else { return }
      (format, identity) = (.altBeacon, BeaconIdentity(fields))
    case .eddystoneUID, .eddystoneURL, .eddystoneEphemeral, .eddystoneTelemetry:
      let text = Self.name(beacon)
      guard let number = number(of: text, rssi, now) else {
        refusedCount += 1
        return
      }
      name = text
      format = .eddystone
      identity = BeaconIdentity(uuid: .init(high: 0, low: number), major: 0, minor: 0)
    }
    guard constraints.isEmpty || constraints.contains(where: { $0.matches(identity) }) else {
      return
    }
    let heard = BeaconSighting(
      identity: identity, address: address, rssi: rssi ?? BeaconSighting.unknownRSSI,
      powerAtOneMetre: power)
    range(heard, name, format, now)
  }

  /// - Parameter name: An Eddystone beacon's identifier.
  private mutating func range(
    _ sighting: BeaconSighting, _ name: String?, _ format: Format, _ now: Instant
  ) {
    guard var lane = lanes[format] else { return }
    lanes[format] = nil
    defer { lanes[format] = lane }
    let uuid = sighting.identity.uuid
    if lane.histories[uuid] == nil {
      let key = name ?? uuid.fullDescription
      // Eddystone identifiers have released one with their number.
      if name == nil, lane.machine.constraints.count >= Limits.namesMax {
        _ = lane.release(for: key, sighting.measuredRSSI, now: now)
      }
      guard lane.start(uuid, key, now: now) else {
        refusedCount += 1
        return
      }
    } else {
      lane.histories[uuid]?.heard(at: now)
    }
    lane.machine.handle(.sighted(sighting), now: now, into: &lane.actions)
  }

  /// The number in place of a UUID for an Eddystone identifier; nil if there is no room for it.
  private mutating func number(of name: String, _ rssi: Int8?, _ now: Instant) -> UInt64? {
    guard var lane = lanes[.eddystone] else { return nil }
    if let number = lane.numbers[name] { return number }
    lanes[.eddystone] = nil
    defer { lanes[.eddystone] = lane }
    let number: UInt64
    if lane.names.count < Limits.namesMax {
      number = UInt64(lane.names.count)
      lane.names.append(name)
    } else {
      guard let released = lane.release(for: name, rssi, now: now),
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
      if !lane.actions.isEmpty { lane.refused = [:] }
      if !lane.actions.isEmpty {
        // One action for each UUID.
        let ranged = lane.actions.flatMap { action in
          switch action {
          case .ranged(_, let beacons): beacons.map { row($0, format, lane.names) }
          }
        }
        isDue = true
        latest[format] = ranged
        rows += ranged
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
