import BluetoothWire
import Essentials
import Testing

@testable import PeripheralFiles

private let uuid = "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0"

@Suite("Floor files")
struct FloorFileTests {
  private static func floor(_ text: String) throws(PeripheralFileError) -> FloorFile {
    try FloorFile(Array(text.utf8))
  }

  @Test("a whole floor is read, in metres whatever its units are")
  func whole() throws {
    let floor = try Self.floor(
      """
      {"units": "feet", "beaconHeight": 5,
       "receivers": [{"id": "hall", "x": 10, "y": 20, "z": 8, "gain": -3}],
       "rooms": [{"name": "Hall", "corners": [[0, 0], [10, 0], [10, 10]]}],
       "walls": [{"from": [0, 0], "to": [10, 0], "attenuation": 12}],
       "walkers": [{"name": "Ada", "speed": 5, "path": [{"x": 1, "y": 2, "stay": 3}], "phone": true}],
       "beacons": [
         {"uuid": "\(uuid)", "major": 1, "minor": 2, "measuredPower": -65, "interval": 0.2,
          "carriedBy": "Ada"},
         {"uuid": "\(uuid)", "major": 1, "minor": 3, "x": 0, "y": 0, "z": 10}]}
      """)
    #expect(abs(floor.beaconHeight - 1.524) < 1e-9)
    let receiver = try #require(floor.receivers.first)
    #expect(receiver.id == "hall" && abs(receiver.place.x - 3.048) < 1e-9 && receiver.gain == -3)
    #expect(floor.rooms.first?.corners.count == 3 && floor.walls.first?.attenuation == 12)
    let walker = try #require(floor.walkers.first)
    #expect(abs(walker.speed - 1.524) < 1e-9 && walker.hasPhone && walker.repeats)
    #expect(walker.path.first?.stay == .seconds(3) && walker.attenuation == 8)
    let beacon = try #require(floor.beacons.first)
    #expect(beacon.place == .carried(by: 0) && beacon.interval == .milliseconds(200))
    #expect(beacon.advertisement.minor == 2 && beacon.advertisement.powerAtOneMetre == -65)
    #expect(floor.beacons.last?.advertisement.powerAtOneMetre == -59)
  }

  @Test(
    "a mistake is refused with its line",
    arguments: [
      ("\"receivers\": [],\n\"walks\": []", 2, "unknown key \"walks\"; did you mean \"walls\"?"),
      ("\"receivers\": [\n{\"id\": \"a\", \"x\": 1, \"y\": 1}]", 2, "\"z\" is missing"),
      (
        "\"receivers\": [{\"id\": \"a\", \"x\": 1, \"y\": 1, \"z\": 1},\n{\"id\": \"a\", \"x\": 1, \"y\": 1, \"z\": 1}]",
        2, "another receiver has this name"
      ),
      ("\n\"receivers\": [{\"id\": \"a,b\"}]", 2, "without commas"),
      ("\n\"rooms\": [{\"name\": \"\", \"corners\": [[0, 0], [1, 1]]}]", 2, "three corners"),
      ("\n\n\"walls\": [{\"from\": [0], \"to\": [0, 0]}]", 3, "expected [x, y]"),
      (
        "\n\"walls\": [{\"from\": [0, 0], \"to\": [0, 1], \"attenuation\": -1}]", 2,
        "decibels from 0 to 100"
      ),
      ("\n\"walls\": [{\"from\": [0, 0], \"to\": [0, 1e9]}]", 2, "at most a kilometre"),
      ("\n\"walkers\": [{\"name\": \"a\", \"path\": []}]", 2, "at least one stop"),
      (
        "\n\"walkers\": [{\"name\": \"a\", \"speed\": 0,\n\"path\": [{\"x\": 0, \"y\": 0}]}]", 2,
        "metres a second"
      ),
      (
        "\"beacons\": [{\"uuid\": \"\(uuid)\", \"major\": 1, \"minor\": 1,\n\"carriedBy\": \"b\"}]",
        2, "no walker is called \"b\""
      ),
      (
        "\"walkers\": [{\"name\": \"b\", \"path\": [{\"x\": 0, \"y\": 0}]}],\n\"beacons\": [{\"uuid\": \"\(uuid)\", \"major\": 1, \"minor\": 1, \"carriedBy\": \"b\", \"x\": 1}]",
        2, "no position of its own"
      ),
      ("\n\"beacons\": [{\"uuid\": \"180F\", \"major\": 1, \"minor\": 1}]", 2, "a UUID like"),
      (
        "\n\"beacons\": [{\"uuid\": \"\(uuid)\", \"major\": 65536, \"minor\": 1}]", 2,
        "from 0 to 65535"
      ),
    ] as [(String, Int, String)])
  func mistakes(members: String, line: Int, reason: String) {
    let error = #expect(throws: PeripheralFileError.self) {
      try Self.floor("{\"units\": \"m\", " + members + "}")
    }
    #expect(error?.position?.line == line, "\(String(describing: error))")
    #expect(error?.reason.contains(reason) == true, "\(String(describing: error))")
  }

  @Test("unknown units, or none, are refused")
  func units() {
    let unknown = #expect(throws: PeripheralFileError.self) {
      try Self.floor("{\"units\": \"miles\"}")
    }
    #expect(unknown?.reason.hasPrefix("unknown units \"miles\"") == true)
    let missing = #expect(throws: PeripheralFileError.self) {
      try Self.floor("{\"receivers\": []}")
    }
    #expect(missing?.reason.contains("\"units\"") == true)
  }

  @Test("a file is a floor if it has units, and a device otherwise")
  func kinds() throws {
    let floor = try SimulationFile(Array("{\"units\": \"m\"}".utf8))
    #expect(floor == .floor(FloorFile()))
    let device = try SimulationFile(Array("{\"services\": [{\"uuid\": \"180F\"}]}".utf8))
    guard case .device(let file) = device else {
      Issue.record("\(device)")
      return
    }
    #expect(file.services.count == 1)
  }

  @Test("random bytes are read or refused, never a trap", arguments: 0..<300 as Range<UInt64>)
  func noise(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var text = Array(
      ("{\"units\":\"m\",\"receivers\":[{\"id\":\"a\",\"x\":1,\"y\":1,\"z\":1}],\"walkers\":[{\"name\":"
        + "\"b\",\"path\":[{\"x\":0,\"y\":0,\"stay\":1}]}],\"beacons\":[{\"uuid\":\"\(uuid)\","
        + "\"major\":1,\"minor\":1,\"carriedBy\":\"b\"}]}").utf8)
    for _ in 0..<3 {
      text[Int(generator.next() % UInt64(text.count))] = UInt8(truncatingIfNeeded: generator.next())
    }
    do throws(PeripheralFileError) { _ = try FloorFile(text) } catch {
      #expect(!error.reason.isEmpty, "seed \(seed)")
    }
  }
}
