import BluetoothHost
import CoreBluetooth
import CoreLocation
import Essentials
import SimulatedRadio
import Simulation
import Testing

@testable import BeaconAppCode

/// The app of Examples/BeaconApp, whose code names nothing of Ambit. It runs on the run loop of the test's
/// thread, as apps do on that of their main thread.
@Suite("An app for beacons, unmodified")
struct BeaconAppTests {
  private let radio: VirtualRadio
  private let phone: BluetoothHost

  init() {
    var model = RadioModel()
    model.shadowingDB = 0
    model.fadingDB = 0
    model.advertisementLoss = 0
    radio = VirtualRadio(seed: 5, model: model)
    phone = radio.makeHost(name: "phone")
  }

  private func onPhone<App>(_ policy: LocationPolicy = .always, _ make: () -> App) -> App {
    let app = BluetoothHost.$current.withValue(phone) {
      LocationPolicy.$override.withValue(policy, operation: make)
    }
    radio.advance(by: .seconds(2))
    return app
  }

  private func addExhibit(room: UInt16, number: UInt16, metres: Double) -> ExhibitBeacon {
    let host = radio.makeHost(name: "exhibit", at: Position(x: metres, y: 0))
    let beacon = BluetoothHost.$current.withValue(host) {
      ExhibitBeacon(room: room, exhibit: number, measuredPower: -59)
    }
    radio.advance(by: .milliseconds(500))
    #expect(beacon.isAdvertising)
    return beacon
  }

  @Test(
    "the guide requests access, monitors, ranges inside, shows the nearest exhibit and a farewell")
  func guide() {
    let guide = onPhone(.ask) { MuseumGuide() }
    #expect(guide.log == ["authorization 0", "authorization 3", "monitoring museum"])
    let statue = addExhibit(room: 1, number: 7, metres: 1)
    radio.advance(by: .seconds(5))
    #expect(guide.log.suffix(2) == ["welcome", "exhibit 7 in room 1"])
    let vase = addExhibit(room: 1, number: 8, metres: 0.3)
    radio.advance(by: .seconds(15))
    #expect(guide.exhibit?.number == 8)
    vase.stop()
    radio.advance(by: .seconds(20))
    #expect(guide.exhibit?.number == 7)
    statue.stop()
    radio.advance(by: .seconds(40))
    #expect(guide.log.suffix(3).contains("goodbye") && guide.exhibit == nil)
    #expect(guide.log.filter { $0 == "welcome" }.count == 1)
    guide.close()
    radio.advance(by: .seconds(1))
    let count = guide.log.count
    _ = addExhibit(room: 1, number: 7, metres: 1)
    radio.advance(by: .seconds(20))
    #expect(guide.log.count == count)
  }

  @Test("the guide gets the user's denial")
  func denied() {
    let guide = onPhone(.denied) { MuseumGuide() }
    #expect(guide.log == ["authorization 2", "no location services"])
  }

  @Test("code of before iOS 13 ranges the regions of its shops")
  func shops() {
    let finder = onPhone { ShopFinder(shops: [("bakery", 1), ("butcher", 2)]) }
    _ = addExhibit(room: 2, number: 4, metres: 2)
    radio.advance(by: .seconds(5))
    #expect(finder.log == ["butcher, counter 4"])
  }

  @Test("the journal has each room's visit")
  func journal() async throws {
    let journal = VisitJournal()
    let hall = addExhibit(room: 1, number: 7, metres: 1)
    let task = BluetoothHost.$current.withValue(phone) {
      Task { try await journal.keep(of: ["hall": 1, "cellar": 2]) }
    }
    try await passTime(until: { await journal.entries.count == 1 })
    #expect(await journal.entries == ["hall by 7"])
    hall.stop()
    try await passTime(until: { await journal.entries.count == 2 })
    #expect(await journal.entries == ["hall by 7", "out of hall"])
    task.cancel()
    try await task.value
  }

  /// Lets time pass until something is so, which a task has to do with.
  private func passTime(until isTrue: () async -> Bool) async throws {
    for _ in 0..<100_000 {
      if await isTrue() { return }
      radio.advance(by: .milliseconds(100))
      await Task.yield()
    }
    Issue.record("it did not come true")
  }
}
