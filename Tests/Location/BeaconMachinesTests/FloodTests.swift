import BluetoothWire
import Essentials
import Testing

@testable import BeaconMachines

/// Beacons that are there, among made-up ones.
@Suite("Floods of made-up beacons")
struct FloodTests {
  private let all = BeaconConstraint(uuid: museum)

  /// The number of reports in 12 s in which a beacon at −60 dBm that comes after `start` seconds appears
  /// with its own address, level and proximity, beside `count` addresses at −90 dBm with its identity.
  private func appearances(beside count: Int, start: Double, every interval: Double) throws -> Int {
    var host = try RangingHost([all])
    var next = Instant.seconds(start)
    var appearances = 0
    for packet in 0..<Int(12 * 170) {
      if host.now >= next {
        host.hear(sighting(rssi: -60, address: 1))
        next = next + TimeSpan(nanoseconds: Int64(interval * 1e9))
      }
      host.hear(sighting(rssi: -90, address: 100 + UInt64(packet % count)))
      host.run(for: 1.0 / 170)
      for report in host.takeReports() {
        let own = report.first { $0.address.bits == 1 }
        if let own, own.proximity == .near, abs(own.level + 60) < 0.5 { appearances += 1 }
      }
    }
    #expect(host.machine.trackCount <= 16 && host.machine.violations() == [])
    return appearances
  }

  @Test(
    "made-up quiet addresses of its identity neither hide a loud steady beacon nor change its level",
    arguments: [1, 16, 17, 64, 300], [0, 4] as [Double])
  func impostors(count: Int, start: Double) throws {
    for interval in [0.1, 0.3, 1] {
      let appearances = try appearances(beside: count, start: start, every: interval)
      #expect(appearances >= 11 - Int(start), "every \(interval) s")
    }
  }

  @Test("a quiet new address in each packet doesn't change the level of a beacon with its identity")
  func newAddresses() throws {
    var host = try RangingHost([all])
    var levels: [Double?] = []
    for packet in 0..<500 as Range<UInt64> {
      if packet % 5 == 0 { host.hear(sighting(rssi: -65, address: 1)) }
      host.hear(sighting(rssi: -92, address: 1000 + packet))
      host.run(for: 0.02)
      levels += host.takeReports().map { $0.first { $0.address.bits == 1 }?.level }
    }
    #expect(levels.count >= 9 && levels.allSatisfy { $0.map { abs($0 + 65) < 0.5 } == true })
  }

  @Test("a beacon with a new address in each packet is heard among steady quiet impostors")
  func rotatingAmongImpostors() throws {
    var host = try RangingHost([all])
    var reports: [[RangedBeacon]] = []
    for packet in 0..<1000 as Range<UInt64> {
      if packet >= 400, packet % 10 == 0 { host.hear(sighting(rssi: -60, address: 1000 + packet)) }
      for address in 1...40 as ClosedRange<UInt64> where (packet + address) % 10 == 0 {
        host.hear(sighting(rssi: -90, address: address))
      }
      host.run(for: 0.01)
      if packet >= 500 { reports += host.takeReports() }
    }
    reports.removeFirst(4)
    #expect(reports.count >= 4)
    #expect(
      reports.allSatisfy { $0.contains { $0.address.bits >= 1000 && abs($0.level + 60) < 2 } })
  }

  @Test(
    "loud packets that come once don't take the place of quieter steady beacons, old or new",
    arguments: [0.1, 1])
  func loudOnce(interval: Double) throws {
    var settings = RangingMachine.Settings()
    settings.tracksMax = 256
    var host = try RangingHost([all], settings: settings)
    let real = (0..<5).map { sighting(1, $0, rssi: -70, address: UInt64($0)) }
    var counts: [Int] = []
    var next = Instant.zero
    for packet in 0..<6000 as Range<UInt64> {
      if host.now >= next {
        for sighting in real.prefix(packet < 2400 ? 3 : 5) { host.hear(sighting) }
        next = next + TimeSpan(nanoseconds: Int64(interval * 1e9))
      }
      host.hear(sighting(2, UInt16(packet), rssi: -30, address: 1000 + packet))
      host.run(for: 0.0025)
      counts += host.takeReports().map { $0.count { $0.identity.major == 1 && $0.rssi == -70 } }
    }
    #expect(counts.dropFirst(3).allSatisfy { $0 >= 3 } && counts.suffix(5) == [5, 5, 5, 5, 5])
    #expect(host.machine.trackCount == 256 && host.machine.counters.untracked > 0)
  }

  @Test("the memory of what found no room is bounded and forgets what came first")
  func memory() {
    var memory = SightingMemory<Int>(capacity: 3)
    for key in 1...3 { memory.keep(SightingHistory(at: .zero), of: key) }
    memory.forget(2)
    let second = memory.history(of: 1, heardAt: .seconds(2))
    #expect(second.count == 2 && !second.isSteady)
    memory.keep(second, of: 1)
    #expect(memory.history(of: 1, heardAt: .seconds(3)).isSteady)
    for key in 4...5 { memory.keep(SightingHistory(at: .zero), of: key) }
    #expect(memory.count == 3)
    #expect(memory.history(of: 1, heardAt: .seconds(3)).count == 1)
    #expect(memory.history(of: 3, heardAt: .seconds(3)).count == 2)
    #expect(memory.history(of: 4, heardAt: .seconds(100)).count == 1)
  }

  @Test("steady things keep three quarters of the places, and the rest is for newcomers")
  func shares() {
    func places(steady: Int, new: Int) -> [(id: Int, standing: Standing)] {
      (0..<steady).map { ($0, Standing(isSteady: true, level: -80)) }
        + (0..<new).map { (100 + $0, Standing(isSteady: false, level: -40)) }
    }
    let loud = Standing(isSteady: false, level: -20)
    let quiet = Standing(isSteady: true, level: -90)
    #expect(Standing.displaced(among: places(steady: 12, new: 4), by: loud) == 100)
    #expect(Standing.displaced(among: places(steady: 13, new: 3), by: loud) == 0)
    #expect(Standing.displaced(among: places(steady: 11, new: 5), by: quiet) == 100)
    #expect(Standing.displaced(among: places(steady: 12, new: 4), by: quiet) == nil)
    let gone = [(id: 9, standing: Standing(isSteady: false, isSilent: true, level: -20))]
    #expect(Standing.displaced(among: places(steady: 12, new: 4) + gone, by: quiet) == 9)
  }
}
