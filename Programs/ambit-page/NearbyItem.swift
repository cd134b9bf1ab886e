import AmbitCLI
import BeaconMachines
import BluetoothWire
import Essentials

/// Something that is or was nearby, as the page lists it.
struct NearbyItem: Identifiable, Hashable, Sendable {
  enum Kind: String, CaseIterable, Sendable {
    case device = "Device"
    case beacon = "Beacon"
    case service = "Service"
  }

  enum Presence: Hashable, Sendable {
    case here
    /// Not heard for a while, or unregistered a moment ago.
    case fading
    /// Only found by searching.
    case gone
  }

  let id: String
  var kind: Kind
  var name: String?
  /// What it offers, decoded.
  var summary: String
  /// In dBm, smoothed.
  var strength: Int?
  var levels = LevelHistory()
  let firstSeen: Instant
  var lastSeen: Instant
  var presence = Presence.here
  /// Order of arrival; never reused.
  let number: Int
  /// The manufacturer.
  var company: String?
  /// The names of its services.
  var services: [String] = []
  var sighting: Sighting?
  var network: NetworkTable.Row?
  /// How far a beacon is.
  var distance: String?

  /// The name, or else an identifier.
  var title: String {
    if let name { return name }
    if case .iBeacon(let beacon) = sighting?.beacon {
      return "iBeacon \(beacon.major)/\(beacon.minor)"
    }
    return sighting?.shortID ?? id
  }

  /// Everything of it that can be searched for, in small letters.
  private(set) var searchText = ""

  /// Updates `searchText` after other properties have changed.
  fileprivate mutating func updateSearchText() {
    let address = sighting?.address?.description ?? ""
    let parts = [title, summary, kind.rawValue, company ?? "", id, address] + services
    searchText = parts.joined(separator: "\n").lowercased()
  }
}

/// How strongly something was heard in the last minute.
struct LevelHistory: Hashable, Sendable {
  /// The time step of a level.
  static let step = TimeSpan.seconds(2)
  static let count = 30
  /// The levels that a line shows from bottom to top, in dBm.
  static let range = -100...(-30)

  /// The newest last; nil where nothing was heard.
  private(set) var levels: [Int?] = []
  /// The points of a line, as SVG writes them, 60 wide and 16 high: one unit for each second that has gone
  /// by.
  private(set) var points = ""

  mutating func add(_ level: Int?) {
    levels.append(level)
    if levels.count > Self.count { levels.removeFirst() }
    points = makePoints()
  }

  private func makePoints() -> String {
    let gap = Self.count - levels.count
    return levels.enumerated().compactMap { index, level in
      level.map { level in
        let share =
          Double(
            min(max(level, Self.range.lowerBound), Self.range.upperBound)
              - Self.range.lowerBound) / Double(Self.range.count - 1)
        return "\(2 * (gap + index)),\(Int((15 - 14 * share).rounded()))"
      }
    }.joined(separator: " ")
  }
}

/// Everything that was seen since the page began, in the order in which it came.
struct NearbyHistory: Sendable {
  enum Limits {
    /// The limit of items; the one that has been gone longest is removed.
    static let itemCount = 5_000
    /// The time for which an unregistered service is still shown.
    static let fadesFor = TimeSpan.seconds(10)
  }

  private var byID: [String: NearbyItem] = [:]
  private var arrivals = 0
  private var nextLevel: Instant?

  /// The items in the order of arrival.
  var items: [NearbyItem] { byID.values.sorted { $0.number < $1.number } }
  subscript(id: String) -> NearbyItem? { byID[id] }

  static func id(ofService name: String) -> String { "service " + name }

  /// Updates the items.
  ///
  /// - Parameters:
  ///   - connected: The connected devices, most of which don't advertise during a connection.
  ///   - kept: Items that are never removed for lack of space.
  mutating func update(
    devices: [NearbyTable.Device], network: [NetworkTable.Row], beacons: [BeaconSurvey.Row],
    connected: Set<String> = [], kept: Set<String> = [], now: Instant
  ) {
    let isLevelDue = nextLevel.map { now >= $0 } ?? true
    if isLevelDue { nextLevel = now + LevelHistory.step }
    var present: Set<String> = []
    let distances = Dictionary(
      beacons.map { ($0.beacon.address, BeaconList.distance($0)) }, uniquingKeysWith: { a, _ in a })
    for device in devices {
      present.insert(device.sighting.identifier)
      let distance = device.sighting.address.flatMap { distances[$0] }
      update(device, distance, isLevelDue, now: now)
    }
    for row in network {
      present.insert(Self.id(ofService: row.name))
      update(row, now: now)
    }
    for id in byID.keys where !present.contains(id) {
      let isService = byID[id]?.kind == .service
      let isRecent = byID[id].map { now - $0.lastSeen < Limits.fadesFor } == true
      byID[id]?.presence = isService && isRecent ? .fading : .gone
      byID[id]?.distance = nil
    }
    for id in connected { byID[id]?.presence = .here }
    forget(allBut: kept.union(connected))
  }

  private mutating func update(
    _ device: NearbyTable.Device, _ distance: String?, _ isLevelDue: Bool, now: Instant
  ) {
    let sighting = device.sighting
    arrive(sighting.identifier, .device, now: now)
    guard var item = byID.removeValue(forKey: sighting.identifier) else { return }
    defer { byID[item.id] = item }
    if isLevelDue {
      item.levels.add(now - device.lastHeard < LevelHistory.step ? device.strength?.shown : nil)
    }
    item.strength = device.strength?.shown
    item.lastSeen = device.lastHeard
    item.presence = device.isQuiet(now: now) ? .fading : .here
    item.distance = distance
    guard item.sighting.map({ !$0.hasSameContent(as: sighting) }) ?? true else { return }
    item.sighting = sighting
    item.kind = sighting.beacon == nil ? .device : .beacon
    item.name = sighting.name
    item.summary = sighting.summary
    item.company = sighting.company.map {
      AssignedNumbers.companyName($0) ?? "Company \($0)"
    }
    item.services = sighting.services.map { AssignedNumbers.serviceName($0) ?? "\($0)" }
    item.updateSearchText()
  }

  private mutating func update(_ row: NetworkTable.Row, now: Instant) {
    let id = Self.id(ofService: row.name)
    arrive(id, .service, now: now)
    byID[id]?.lastSeen = now
    byID[id]?.presence = .here
    guard byID[id]?.network != row else { return }
    byID[id]?.network = row
    byID[id]?.name = row.name
    byID[id]?.services = row.types
    byID[id]?.summary = row.types.joined(separator: ", ")
    byID[id]?.updateSearchText()
  }

  private mutating func arrive(_ id: String, _ kind: NearbyItem.Kind, now: Instant) {
    guard byID[id] == nil else { return }
    arrivals += 1
    byID[id] = NearbyItem(
      id: id, kind: kind, summary: "", firstSeen: now, lastSeen: now, number: arrivals)
  }

  private mutating func forget(allBut kept: Set<String>) {
    let surplus = byID.count - Limits.itemCount
    guard surplus > 0 else { return }
    let gone = byID.values.filter { $0.presence == .gone && !kept.contains($0.id) }
      .sorted { $0.lastSeen < $1.lastSeen }
    for item in gone.prefix(surplus) { byID[item.id] = nil }
  }
}

extension Sighting {
  /// Whether two advertisements are equal, apart from their strength.
  fileprivate func hasSameContent(as other: Sighting) -> Bool {
    var same = self
    same.rssi = other.rssi
    return same == other
  }
}
