import BluetoothWire
import Essentials
import PeripheralFiles
import Simulation
import Testing

@Suite("A floor with walls, beacons and people")
struct FloorTests {
  private static let uuid = "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0"

  /// Radio without chance.
  private static var still: RadioModel {
    var radio = RadioModel()
    radio.shadowingDB = 0
    radio.fadingDB = 0
    radio.advertisementLoss = 0
    return radio
  }

  private static func world(_ text: String) throws -> World {
    let world = World(seed: 1, radio: still)
    world.add(try FloorFile(Array(("{\"units\": \"m\", " + text + "}").utf8)))
    return world
  }

  /// The mean strength that a host at a place hears for some time.
  private static func strength(
    in world: World, at place: HostPlace, for span: TimeSpan = .seconds(2)
  ) throws -> Double {
    let host = ScriptedHost(world, place.name, address: 0xA0_0000_0000, at: place)
    host.start()
    host.scan()
    world.run(for: span)
    let levels = host.reports.compactMap(\.rssi).map(Double.init)
    host.perform(LESetScanEnable(isEnabled: false, filtersDuplicates: false))
    try #require(!levels.isEmpty)
    return levels.reduce(0, +) / Double(levels.count)
  }

  private static func strength(
    _ text: String, x: Double, y: Double = 0
  ) throws -> Double {
    try strength(
      in: world(text),
      at: HostPlace(name: "host", motion: .still(Position(x: x, y: y, z: 1))))
  }

  private static func beacon(_ rest: String) -> String {
    "{\"uuid\": \"\(uuid)\", \"major\": 1, \"minor\": 1, \(rest)}"
  }

  @Test(
    "a beacon is heard with its measured power from one metre, and advertises it",
    arguments: [-59, -72])
  func measuredPower(power: Int) throws {
    let text =
      "\"beacons\": [\(Self.beacon("\"x\": 0, \"y\": 0, \"z\": 1, \"measuredPower\": \(power)"))]"
    #expect(try Self.strength(text, x: 1) == Double(power))
    let wrong = text.replacing("\"measuredPower\"", with: "\"error\": -6, \"measuredPower\"")
    #expect(try Self.strength(wrong, x: 1) == Double(power - 6))
  }

  @Test("walls between weaken a signal, others don't")
  func walls() throws {
    let beacon = "\"beacons\": [\(Self.beacon("\"x\": 0, \"y\": 0, \"z\": 1"))]"
    let free = try Self.strength(beacon, x: 5)
    let walls = "\"walls\": [{\"from\": [2, -1], \"to\": [2, 1], \"attenuation\": 7}, "
    let behind = try Self.strength(
      beacon + ", " + walls + "{\"from\": [6, -1], \"to\": [6, 1]}]", x: 5)
    #expect(free - behind == 7)
  }

  @Test("a body weakens a signal for receivers behind it, not for those ahead")
  func ownBody() throws {
    func text(toX: Double) -> String {
      // Ada walks one step along x and stops; her phone is ahead of her.
      "\"walkers\": [{\"name\": \"Ada\", \"speed\": 1, \"attenuation\": 9, \"repeats\": false, "
        + "\"path\": [{\"x\": 0, \"y\": 0}, {\"x\": \(toX), \"y\": 0}]}], "
        + "\"beacons\": [\(Self.beacon("\"carriedBy\": \"Ada\""))]"
    }
    func level(toX: Double, hearX: Double) throws -> Double {
      let world = try Self.world(text(toX: toX))
      world.run(for: .seconds(2))
      return try Self.strength(
        in: world, at: HostPlace(name: "host", motion: .still(Position(x: hearX, z: 1.2))))
    }
    // Facing the host: the beacon is 0.3 m nearer than she is; turned away: 0.3 m farther, behind her.
    let facing = try level(toX: 1, hearX: 6)
    let away = try level(toX: 1, hearX: -4)
    #expect((9.5...11.5).contains(facing - away), "\(facing), \(away)")
  }

  @Test(
    "a stranger in between weakens a signal as long as she is there; a receiver above hears over her"
  )
  func stranger() throws {
    let text =
      "\"walkers\": [{\"name\": \"Ada\", \"repeats\": false, \"path\": [{\"x\": 3, \"y\": 0, \"stay\": 10}, "
      + "{\"x\": 3, \"y\": 5}]}], "
      + "\"beacons\": [\(Self.beacon("\"x\": 0, \"y\": 0, \"z\": 1"))]"
    let world = try Self.world(text)
    let host = HostPlace(name: "host", motion: .still(Position(x: 6, z: 1)))
    let blocked = try Self.strength(in: world, at: host)
    world.run(for: .seconds(20))
    let free = try Self.strength(
      in: world, at: HostPlace(name: "other", motion: .still(Position(x: 6, z: 1))))
    #expect(free - blocked == 8)
    let above = try Self.world(text)
    let high = HostPlace(name: "high", motion: .still(Position(x: 6, z: 6)))
    let over = try Self.strength(in: above, at: high)
    let same = try Self.strength(
      in: Self.world("\"beacons\": [\(Self.beacon("\"x\": 0, \"y\": 0, \"z\": 1"))]"), at: high)
    #expect(over == same)
  }

  @Test("a walker passes the stops in time, stays, and comes back to the first")
  func path() throws {
    let world = try Self.world(
      "\"walkers\": [{\"name\": \"Ada\", \"speed\": 2, \"path\": [{\"x\": 0, \"y\": 0, \"stay\": 1}, "
        + "{\"x\": 4, \"y\": 0, \"stay\": 3}]}]")
    let motion = try #require(world.walkers.first).motion
    func x(_ seconds: Double) -> Double {
      motion.position(at: Instant(nanoseconds: Int64(seconds * 1e9))).x
    }
    // One second there, two on the way, three there, two back.
    #expect(x(0.5) == 0 && x(2) == 2 && x(4) == 4 && x(7) == 2 && x(8.5) == 0 && x(10) == 2)
    func heading(_ seconds: Double) -> Double {
      motion.heading(at: Instant(nanoseconds: Int64(seconds * 1e9))).x
    }
    #expect(heading(2) == 1 && heading(5) == 1 && heading(7) == -1)
  }

  @Test("hosts are at phones and receivers, in this order, and hear with their gains")
  func places() throws {
    let world = try Self.world(
      "\"walkers\": [{\"name\": \"Ada\", \"path\": [{\"x\": 3, \"y\": 0}], \"phone\": true}], "
        + "\"receivers\": [{\"id\": \"a\", \"x\": 1, \"y\": 0, \"z\": 1, \"gain\": -4}], "
        + "\"beacons\": [\(Self.beacon("\"x\": 0, \"y\": 0, \"z\": 1"))]")
    #expect(world.hostPlaces.map(\.name) == ["Ada", "a"])
    let receiver = try #require(world.hostPlaces.last)
    #expect(try Self.strength(in: world, at: receiver) == -63)
    let phone = try #require(world.hostPlaces.first)
    let place = phone.motion.position(at: world.now)
    #expect(place.x == 3 && place.z == 1.2)
  }
}
