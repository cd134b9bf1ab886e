import BluetoothWire
import Essentials
import Simulation
import Testing

@Suite("A recording that is heard again")
struct ReplayTests {
  private static func advertisement(_ byte: UInt8) -> Advertisement {
    var advertisement = Advertisement(
      address: DeviceAddress(bits: 0xC0_0000_0000_00 | UInt64(byte), kind: .random),
      data: [2, 0xFF, byte])
    advertisement.scanResponse = advertisement.data
    return advertisement
  }

  private static func reception(
    _ seconds: Int64, _ receiver: Int, _ advertisement: Int, isScanResponse: Bool = false,
    rssi: Int8
  ) -> AirRecording.Reception {
    AirRecording.Reception(
      time: .seconds(seconds), receiver: receiver, advertisement: advertisement,
      isScanResponse: isScanResponse, rssi: rssi)
  }

  private static let recording = AirRecording(
    receivers: ["hall", "cellar"], advertisements: [advertisement(1), advertisement(2)],
    receptions: [
      reception(2, 0, 1, rssi: -70), reception(1, 0, 0, rssi: -60), reception(1, 1, 0, rssi: -90),
      reception(3, 0, 0, isScanResponse: true, rssi: -61),
      // An unknown receiver, an unknown advertisement, a time before the beginning.
      reception(1, 2, 0, rssi: -1), reception(1, 0, 2, rssi: -1), reception(-1, 0, 0, rssi: -1),
    ])

  private static func host(_ world: World, _ place: Int) -> ScriptedHost {
    let host = ScriptedHost(
      world, "host \(place)", address: 0xA0_0000_0000 + UInt64(place), at: world.hostPlaces[place])
    host.start()
    return host
  }

  @Test("each receiver of a replay hears the recorded packets at their times and strengths")
  func whole() {
    let world = World(seed: 1)
    var isOver = false
    world.replay(Self.recording) { isOver = true }
    #expect(world.hostPlaces.map(\.name) == ["hall", "cellar"])
    let (hall, cellar) = (Self.host(world, 0), Self.host(world, 1))
    // The replay waits for a scan.
    world.run(for: .seconds(100))
    cellar.scan(type: .active)
    hall.scan(type: .active)
    world.run(for: .milliseconds(1_500))
    #expect(hall.reports.map(\.rssi) == [-60] && cellar.reports.map(\.rssi) == [-90])
    #expect(hall.reports.first.map { Array($0.data) } == [2, 0xFF, 1])
    #expect(!isOver)
    world.run(for: .seconds(10))
    #expect(hall.reports.map(\.rssi) == [-60, -70, -61] && cellar.reports.count == 1)
    #expect(hall.reports.map(\.kind) == [.nonConnectable, .nonConnectable, .scanResponse])
    #expect(isOver)
  }

  @Test("a receiver that doesn't scan hears nothing, and a passive scanner no responses")
  func passive() {
    let world = World(seed: 1)
    world.replay(Self.recording)
    let (hall, cellar) = (Self.host(world, 0), Self.host(world, 1))
    hall.scan(type: .passive)
    world.run(for: .seconds(10))
    #expect(hall.reports.map(\.rssi) == [-60, -70] && cellar.reports.isEmpty)
  }

  @Test("a host elsewhere hears nothing of it")
  func elsewhere() {
    let world = World(seed: 1)
    world.replay(Self.recording)
    let other = ScriptedHost(world, "other", address: 0xA0_0000_0009)
    other.start()
    other.scan()
    world.run(for: .seconds(10))
    #expect(other.reports.isEmpty)
  }
}
