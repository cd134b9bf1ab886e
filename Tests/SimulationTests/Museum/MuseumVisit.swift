import BeaconMachines
import BluetoothWire
import Essentials
import Foundation
import PeripheralFiles
import Simulation
import Testing

/// The museum of Examples/floors: halls with walls, and exhibits with beacons and a zone each.
struct Museum {
  let floor: FloorFile
  /// Beacons, where they hang, in the order of their minor numbers from 1 on; zones are its rooms.
  let plan: FloorPlan

  init() throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Examples/floors/museum.json")
    var floor = try FloorFile([UInt8](Data(contentsOf: path)))
    // The file's visitor has his own way; the phone gets another.
    floor.walkers = []
    floor.receivers = []
    floor.beacons.removeAll { if case .carried = $0.place { true } else { false } }
    self.floor = floor
    let beacons = floor.beacons.compactMap { beacon -> FloorReceiver? in
      guard case .at(let place) = beacon.place else { return nil }
      return FloorReceiver(
        id: "\(beacon.advertisement.minor)",
        position: FloorPoint(x: place.x, y: place.y, z: place.z))
    }
    let rooms = floor.rooms.map { room in
      FloorRoom(name: room.name, corners: room.corners.map { FloorPoint(x: $0.x, y: $0.y) })
    }
    let walls = floor.walls.map { wall in
      FloorWall(
        from: FloorPoint(x: wall.from.x, y: wall.from.y),
        to: FloorPoint(x: wall.to.x, y: wall.to.y), attenuation: wall.attenuation)
    }
    plan = try #require(
      FloorPlan(receivers: beacons, rooms: rooms, walls: walls, beaconHeight: floor.beaconHeight))
  }
}

/// One visitor's way through the museum with a phone in hand: what the phone hears, and where it is.
struct MuseumVisit {
  /// A time at an exhibit.
  struct Stay: Hashable {
    var exhibit: String
    /// In seconds: when the visitor enters the zone, reaches the exhibit, leaves it, and leaves the
    /// zone.
    var entry, arrival, departure, exit: Double
  }

  private(set) var stays: [Stay] = []
  /// The readings of each second.
  private(set) var windows: [ReadingWindow] = []
  /// In seconds.
  private(set) var length = 0.0

  /// The way in the order of the exhibits: places to walk by, and before which exhibit to stay there.
  private static let way: [(x: Double, y: Double, exhibit: String?)] = [
    (5, 0.5, nil), (2, 1.7, "amber"), (7.5, 6.3, "bronze"), (10, 4, nil), (12.5, 6.3, "clay"),
    (18, 1.7, "diamond"), (15.75, 8, nil), (18.4, 12, "gold"), (12.5, 14.4, "glass"),
    (10, 12, nil), (7.5, 9.6, "flint"), (2.5, 14.4, "enamel"), (4.25, 8, nil), (5, 0.5, nil),
  ]

  init(_ museum: Museum, seed: UInt64) {
    var generator = SeededGenerator(seed: seed ^ 0x6D75_7365)
    let waypoints = route(&generator)
    findEntries(waypoints, museum)
    let world = World(seed: seed)
    world.add(museum.floor)
    let visitor = Walker(.path(waypoints))
    world.addWalker(visitor)
    let phone = ScriptedHost(
      world, "phone", address: 0xA0_0000_0001, at: HostPlace(name: "phone", motion: visitor.hand))
    phone.start()
    phone.scan()
    var collector = WindowCollector(plan: museum.plan)
    var reader = BeaconReader()
    for second in 1...max(Int64(length), 1) {
      world.run(until: Instant(nanoseconds: second * 1_000_000_000))
      for report in phone.reports {
        guard let rssi = report.rssi,
          let beacon = reader.sighting(
            in: report.data, from: report.advertiser.address, rssi: rssi),
          let index = museum.plan.index(ofReceiver: "\(beacon.identity.minor)")
        else { continue }
        let place = visitor.motion.position(at: world.now)
        collector.add(
          TraceReading(
            time: world.now, receiver: "", beacon: "", rssi: rssi,
            truth: FloorPoint(x: place.x, y: place.y, z: museum.plan.beaconHeight)), from: index)
      }
      phone.events = []
      phone.transcript = []
      windows.append(collector.end(at: world.now) ?? ReadingWindow(end: world.now, heard: []))
    }
  }

  /// Where the visitor goes: not exactly to the middle, at a pace of his or her own, and before an exhibit
  /// from one foot to the other.
  private mutating func route(_ generator: inout SeededGenerator) -> [Motion.Waypoint] {
    let speed = 0.7 + 0.6 * generator.unit()
    var waypoints: [Motion.Waypoint] = []
    var time = 1.0
    func around(_ value: Double, _ spread: Double, _ generator: inout SeededGenerator) -> Double {
      value + spread * (2 * generator.unit() - 1)
    }
    func go(_ x: Double, _ y: Double, at speed: Double) {
      let place = Position(x: x, y: y)
      if let last = waypoints.last { time += last.position.distance(to: place) / speed }
      waypoints.append(
        Motion.Waypoint(time: Instant(nanoseconds: Int64(time * 1e9)), position: place))
    }
    for stop in Self.way {
      guard let exhibit = stop.exhibit else {
        go(around(stop.x, 0.2, &generator), around(stop.y, 0.2, &generator), at: speed)
        continue
      }
      go(around(stop.x, 0.5, &generator), around(stop.y, 0.3, &generator), at: speed)
      let arrival = time
      let end = time + 20 + 25 * generator.unit()
      while time < end {
        time += 2 + 6 * generator.unit()
        waypoints.append(
          Motion.Waypoint(
            time: Instant(nanoseconds: Int64(time * 1e9)),
            position: waypoints.last?.position ?? .origin))
        go(around(stop.x, 0.5, &generator), around(stop.y, 0.3, &generator), at: 0.3)
      }
      stays.append(
        Stay(exhibit: exhibit, entry: arrival, arrival: arrival, departure: time, exit: time))
    }
    length = time + 15
    return waypoints
  }

  /// When the visitor's body comes into the zones, and goes out of them.
  private mutating func findEntries(_ waypoints: [Motion.Waypoint], _ museum: Museum) {
    let motion = Motion.path(waypoints)
    for index in stays.indices {
      guard let zone = museum.plan.rooms.first(where: { $0.name == stays[index].exhibit }) else {
        continue
      }
      func isInside(_ time: Double) -> Bool {
        let place = motion.position(at: Instant(nanoseconds: Int64(time * 1e9)))
        return zone.contains(FloorPoint(x: place.x, y: place.y))
      }
      while stays[index].entry > 0, isInside(stays[index].entry - 0.05) {
        stays[index].entry -= 0.05
      }
      while isInside(stays[index].exit + 0.05) { stays[index].exit += 0.05 }
    }
  }
}

/// The results of a visit.
struct MuseumJudgement {
  /// An action, with its time in seconds.
  typealias Event = (seconds: Double, action: RoomMonitor.Action)

  /// Exhibits that were entered in their stay exactly once, and in no other time.
  private(set) var once = 0
  /// Exhibits that were entered again in their stay.
  private(set) var again = 0
  /// Exhibits that weren't entered in their stay.
  private(set) var missed = 0
  /// Entries into exhibits where the visitor wasn't.
  private(set) var wrong = 0
  /// In seconds, how long before the visitor went from an exhibit it was left; only where it was.
  private(set) var early: [Double] = []
  /// In seconds after the visitor went out of its zone; negative before.
  private(set) var exitDelays: [Double] = []
  /// In seconds after the visitor stood before it; negative on the way there.
  private(set) var entryDelays: [Double] = []
  private(set) var stays = 0

  /// In seconds: after a visitor went out of a zone, it may still be entered so long.
  private static let grace = 3.0

  init() {}

  /// Compares actions, with their times in seconds, with the true positions.
  mutating func judge(_ events: [Event], _ visit: MuseumVisit) {
    stays += visit.stays.count
    var rest = events
    var departure = 0.0
    for stay in visit.stays {
      // From when the visitor left the exhibit before: an entry may come early, on the way.
      let range = departure...stay.exit + Self.grace
      departure = stay.departure
      let entries = rest.filter {
        $0.action == .entered(stay.exhibit) && range.contains($0.seconds)
      }
      rest.removeAll { $0.action == .entered(stay.exhibit) && range.contains($0.seconds) }
      again += entries.count > 1 ? 1 : 0
      guard let first = entries.first else {
        missed += 1
        continue
      }
      once += entries.count == 1 ? 1 : 0
      entryDelays.append(first.seconds - stay.arrival)
      let exit = events.first { $0.action == .left(stay.exhibit) && $0.seconds > first.seconds }
      let left = exit?.seconds ?? .infinity
      if left < stay.departure { early.append(stay.departure - left) }
      exitDelays.append(left - stay.exit)
    }
    wrong += rest.count { if case .entered = $0.action { true } else { false } }
  }

  /// All that a visitor would notice.
  var mistakes: Int { again + missed + wrong + early.count }

  mutating func add(_ other: MuseumJudgement) {
    once += other.once
    again += other.again
    missed += other.missed
    wrong += other.wrong
    early += other.early
    exitDelays += other.exitDelays
    entryDelays += other.entryDelays
    stays += other.stays
  }

  /// The value below which `percent` of the values are.
  static func percentile(_ values: [Double], _ percent: Double) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return .nan }
    return sorted[min(Int(Double(sorted.count) * percent / 100), sorted.count - 1)]
  }

  var line: String {
    String(
      format: "%d stays: once %d, again %d, missed %d, wrong %d, early %d (at most %.0f s), "
        + "entered after %.1f s (99 %%: %.1f), left after %.1f s (99 %%: %.1f, at most %.1f)",
      stays, once, again, missed, wrong, early.count, early.max() ?? 0,
      Self.percentile(entryDelays, 50), Self.percentile(entryDelays, 99),
      Self.percentile(exitDelays, 50), Self.percentile(exitDelays, 99),
      exitDelays.max() ?? 0)
  }
}
