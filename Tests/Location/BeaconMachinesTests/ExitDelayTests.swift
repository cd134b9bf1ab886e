import BluetoothWire
import Essentials
import Testing

@testable import BeaconMachines

@Suite("Exit delays follow the beacons")
struct ExitDelayTests {
  private let hall = BeaconRegion(identifier: "hall", constraint: BeaconConstraint(uuid: museum))

  /// The exits in an hour beside a beacon of which a third of the advertisements is missed.
  private func falseExits(
    every interval: Double, seed: UInt64, settings: RegionMonitor.Settings = .init()
  ) throws -> Int {
    var random = SeededGenerator(seed: seed)
    var host = try MonitoringHost([hall], settings: settings)
    host.handle(.sighted(sighting()))
    while host.now < .seconds(3_600) {
      host.run(for: interval)
      if random.unit() > 0.35 { host.handle(.sighted(sighting())) }
    }
    return host.takeActions().filter { $0 == .exited(identifier: "hall") }.count
  }

  @Test(
    "a beacon that advertises rarely is not left while it is there",
    arguments: [1, 4, 10.24], [1, 2, 3] as [UInt64])
  func rare(interval: Double, seed: UInt64) throws {
    // The first interval is not known yet, and may be a long one.
    #expect(try falseExits(every: interval, seed: seed) <= 1)
  }

  @Test("the same beacon is left often with a fixed delay, so that the test can fail")
  func fixed() throws {
    var settings = RegionMonitor.Settings()
    settings.exitDelayMax = settings.exitDelay
    #expect(try falseExits(every: 10.24, seed: 1, settings: settings) > 5)
  }

  /// The time from the last sighting until the region is left, in seconds.
  private func delay(after host: MonitoringHost) -> Double {
    var host = host
    let start = host.now
    while host.monitor.state(of: "hall") == .inside, host.now < start + .seconds(1_000) {
      host.run(for: 0.5)
    }
    return (host.now - start).seconds
  }

  @Test("a beacon that is gone is left after eight of its intervals, within bounds")
  func gone() throws {
    for (interval, expected) in [(0.1, 30.0), (3, 30), (5, 40), (10, 80), (20, 160), (25, 164)] {
      var host = try MonitoringHost([hall])
      for _ in 0..<40 {
        host.run(for: interval)
        host.handle(.sighted(sighting()))
      }
      #expect(abs(delay(after: host) - expected) <= 1, "every \(interval) s")
    }
  }

  @Test("an absence is no interval, and one long silence is forgotten")
  func absence() throws {
    var host = try MonitoringHost([hall])
    host.hear(sighting(), every: 1, for: 20)
    host.run(for: 500)
    host.hear(sighting(), every: 1, for: 20)
    #expect(delay(after: host) <= 31)
    host.run(for: 100)
    host.hear(sighting(), every: 1, for: 30)
    #expect(delay(after: host) <= 31)
    host.handle(.scanning(false))
    host.run(for: 100)
    host.handle(.scanning(true))
    host.handle(.sighted(sighting()))
    #expect(delay(after: host) <= 31)
  }

  @Test("the absence of a visitor that comes back is not learnt as its interval")
  func visitor() throws {
    var host = try MonitoringHost([hall])
    host.hear(sighting(), every: 1, for: 60)
    host.run(for: 150)
    host.hear(sighting(), every: 1, for: 2)
    #expect(delay(after: host) <= 31)
  }

  @Test(
    "a beacon that slows down is left falsely twice and then no more",
    arguments: [35, 60, 100] as [Double],
    [1, 3])
  func slower(interval: Double, burst: Int) throws {
    var host = try MonitoringHost([hall])
    host.hear(sighting(), every: 0.1, for: 20)
    for _ in 0..<20 {
      host.run(for: interval - 0.1 * Double(burst))
      host.hear(sighting(), every: 0.1, for: 0.1 * Double(burst))
    }
    #expect(host.takeActions().filter { $0 == .exited(identifier: "hall") }.count <= 2)
    #expect(host.monitor.state(of: "hall") == .inside)
    #expect(delay(after: host) <= 165)
    // It forgets that when the beacon is heard often again.
    host.hear(sighting(), every: 0.1, for: 170)
    #expect(delay(after: host) <= 31)
  }

  @Test("a visitor that goes and comes back regularly doesn't teach a longer delay")
  func regularVisitor() throws {
    var host = try MonitoringHost([hall])
    for _ in 0..<10 {
      host.hear(sighting(), every: 1, for: 40)
      host.run(for: 120)
    }
    #expect(host.takeActions().filter { $0 == .exited(identifier: "hall") }.count == 10)
  }

  @Test("a region with several beacons waits for the one that advertises least often")
  func several() throws {
    var host = try MonitoringHost([hall])
    for _ in 0..<40 {
      host.handle(.sighted(sighting(1, 2)))
      host.hear(sighting(1, 1), every: 0.5, for: 10)
    }
    // Not heard for almost ten seconds: eight intervals are over after seventy more.
    #expect(abs(delay(after: host) - 70) <= 2)
    _ = host.takeActions()
    try host.monitor.start(
      BeaconRegion(
        identifier: "hall", constraint: BeaconConstraint(uuid: museum, major: 1, minor: 1)),
      now: host.now)
    host.hear(sighting(1, 1), every: 0.5, for: 10)
    #expect(delay(after: host) <= 31)
  }

  @Test("a flood of made-up beacons doesn't make a known one forgotten, and takes bounded room")
  func flood() throws {
    var host = try MonitoringHost([hall])
    host.hear(sighting(1, 1), every: 10, for: 10)
    for round in 0..<40 {
      host.handle(.sighted(sighting(1, 1)))
      for minor in 0..<300 { host.handle(.sighted(sighting(UInt16(2 + round), UInt16(minor)))) }
      host.run(for: 10)
    }
    #expect(host.monitor.intervals.count == BeaconIntervals.countMax)
    host.handle(.sighted(sighting(1, 1)))
    #expect(abs(delay(after: host) - 80) <= 1)
    host.monitor.stop(identifier: "hall")
    #expect(host.monitor.intervals.count == 0)
  }

  /// A host that monitors the hall, where a beacon was heard just now.
  private func entered(exitDelay: Double) throws -> MonitoringHost {
    var settings = RegionMonitor.Settings()
    settings.exitDelay = .nanoseconds(Int64(exitDelay * 1e9))
    settings.receiverFailureTimeMax = .seconds(7)
    var host = try MonitoringHost([hall], settings: settings)
    host.run(for: 1)
    host.handle(.sighted(sighting()))
    _ = host.takeActions()
    return host
  }

  @Test(
    "a receiver that dies makes no exit before that is noticed",
    arguments: [0.5, 1, 2, 5, 7, 10, 13, 14, 30], [0, 0.4])
  func deadReceiver(exitDelay: Double, lastSign: Double) throws {
    var host = try entered(exitDelay: exitDelay)
    if lastSign > 0 {
      host.run(for: lastSign)
      host.handle(.received)
    }
    host.run(for: 7)
    host.handle(.scanning(false))
    host.run(for: 60)
    #expect(host.takeActions() == [.determined(identifier: "hall", .unknown)])
  }

  @Test("a region is left as soon as the delay is over and the receiver is known to be alive")
  func livingReceiver() throws {
    for (exitDelay, silent) in [(2.0, 9.0), (7, 14), (10, 14), (14, 14), (20, 20), (30, 30)] {
      var host = try entered(exitDelay: exitDelay)
      #expect(abs(delay(after: host) - silent) <= 0.5, "\(exitDelay) s")
      host.run(for: exitDelay)
      host.handle(.received)
      #expect(delay(after: host) <= 0.5, "\(exitDelay) s")
    }
  }
}
