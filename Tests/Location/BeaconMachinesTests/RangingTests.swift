import BluetoothWire
import Essentials
import Testing

@testable import BeaconMachines

@Suite("Ranging")
struct RangingTests {
  private let all = BeaconConstraint(uuid: museum)

  @Test("reports come once a second, empty ones too, whatever the number of sightings")
  func reports() throws {
    var host = try RangingHost([all])
    host.run(for: 3.5)
    #expect(host.takeReports() == [[], [], []])
    host.hear([sighting()], every: 0.1, for: 5)
    #expect(host.takeReports().map(\.count) == [1, 1, 1, 1, 1])
  }

  @Test("rssi is the mean since the last report, and 0 where nothing was heard")
  func mean() throws {
    var host = try RangingHost([all])
    for rssi: Int8 in [-60, -64, -71] { host.hear(sighting(rssi: rssi)) }
    host.run(for: 1)
    host.hear(sighting(rssi: -50))
    host.run(for: 2)
    #expect(host.takeReports().map { $0.map(\.rssi) } == [[-65], [-50], [0]])
  }

  @Test(
    "a beacon whose strength is never measured is in range and unknown",
    arguments: [127, 0, 21, -128])
  func unmeasured(rssi: Int) throws {
    var host = try RangingHost([all])
    host.hear([sighting(rssi: Int8(rssi)), sighting(1, 2, rssi: -60)], every: 0.5, for: 1)
    let report = try #require(host.takeReports().last)
    #expect(report.map(\.identity.minor) == [2, 1] && report.map(\.rssi) == [-60, 0])
    #expect(report[1].proximity == .unknown && report[1].accuracyMetres == -1)
    #expect(host.machine.counters.unmeasured == 2)
  }

  @Test("a beacon whose strength is not measured any more stays in range and becomes unknown")
  func unmeasuredLater() throws {
    var host = try RangingHost([all])
    host.hear([sighting()], every: 0.5, for: 2)
    host.hear([sighting(rssi: 127)], every: 0.5, for: 15)
    let report = try #require(host.takeReports().last)
    #expect(report.map(\.proximity) == [.unknown] && report.map(\.rssi) == [0])
    host.hear([sighting()], every: 0.5, for: 1)
    #expect(host.takeReports().last?.map(\.proximity) == [.near])
  }

  @Test("the nearest is first and the unknown last")
  func order() throws {
    var host = try RangingHost([all])
    host.hear(sighting(1, 9, rssi: -40))
    host.run(for: 2.5)
    for (minor, rssi) in [(1, -80), (2, -50), (3, -65)] as [(UInt16, Int8)] {
      host.hear(sighting(1, minor, rssi: rssi))
    }
    host.run(for: 0.5)
    let report = try #require(host.takeReports().last)
    #expect(report.map(\.identity.minor) == [2, 3, 1, 9])
    #expect(report.map(\.accuracyMetres).dropLast().allSatisfy { $0 > 0 })
    #expect(report.last?.accuracyMetres == -1)
  }

  @Test("every constraint gets its own beacons")
  func constraints() throws {
    let one = BeaconConstraint(uuid: museum, major: 1)
    var host = try RangingHost([all, one, BeaconConstraint(uuid: otherUUID)])
    host.hear(sighting(1, 1))
    host.hear(sighting(2, 1))
    host.run(for: 1)
    #expect(host.takeReports().map(\.count) == [2, 1, 0])
    host.machine.stop(all)
    #expect(host.machine.trackCount == 1)
    host.run(for: 1)
    #expect(host.takeReports().map(\.count) == [1, 0])
  }

  @Test("a silent beacon is unknown after two seconds and gone after ten")
  func silence() throws {
    var host = try RangingHost([all])
    host.run(for: 0.5)
    host.hear(sighting())
    host.run(for: 13)
    let reports = host.takeReports()
    #expect(
      reports.map { $0.first?.proximity } == [
        .near, .near, .unknown, .unknown, .unknown, .unknown, .unknown, .unknown, .unknown,
        .unknown, nil, nil, nil,
      ])
    #expect(host.machine.trackCount == 0)
  }

  @Test("two beacons of one identity that are heard at the same time are reported apart")
  func duplicates() throws {
    var host = try RangingHost([all])
    let near = sighting(rssi: -45, address: 1)
    let far = sighting(rssi: -85, address: 2)
    host.hear([near, far], every: 0.25, for: 8)
    let reports = host.takeReports()
    #expect(reports.map(\.count) == [2, 2, 2, 2, 2, 2, 2, 2])
    let last = try #require(reports.last)
    #expect(last.map(\.address.bits) == [1, 2])
    #expect(abs(last[0].level + 45) < 0.5 && abs(last[1].level + 85) < 0.5)
  }

  @Test("a beacon with a new address is the same beacon, and keeps its level")
  func rotation() throws {
    var host = try RangingHost([all])
    host.hear([sighting(rssi: -75, address: 1)], every: 0.1, for: 10)
    _ = host.takeReports()
    for address: UInt64 in 2...6 {
      host.hear([sighting(rssi: -75, address: address)], every: 0.1, for: 15)
      let reports = host.takeReports()
      #expect(reports.map(\.count) == Array(repeating: 1, count: 15))
      #expect(reports.allSatisfy { $0.first?.address.bits == address })
      #expect(reports.allSatisfy { abs(($0.first?.level ?? 0) + 75) < 0.1 })
    }
    #expect(host.machine.trackCount == 1)
  }

  @Test("one of two beacons of one identity that changes its address stays apart from the other")
  func rotationBesideDuplicate() throws {
    var host = try RangingHost([all])
    host.hear(
      [sighting(rssi: -50, address: 1), sighting(rssi: -80, address: 2)], every: 0.1, for: 5)
    host.hear(
      [sighting(rssi: -50, address: 1), sighting(rssi: -80, address: 3)], every: 0.1, for: 15)
    let reports = host.takeReports()
    #expect(reports.allSatisfy { $0.count == 2 })
    #expect(reports.last?.map(\.address.bits) == [1, 3])
    #expect(host.machine.trackCount == 2)
  }

  @Test("a flood of made-up beacons displaces no other beacon and is counted")
  func flood() throws {
    var settings = RangingMachine.Settings()
    settings.tracksMax = 100
    var host = try RangingHost([all], settings: settings)
    host.hear([sighting(1, 1)], every: 0.1, for: 1)
    for number in 0..<5000 { host.hear(sighting(9, UInt16(number), address: 7)) }
    host.hear([sighting(1, 1)], every: 0.1, for: 5)
    #expect(host.machine.trackCount == 100)
    #expect(host.machine.counters.untracked == 4901)
    let reports = host.takeReports()
    #expect(reports.allSatisfy { $0.contains { $0.identity.major == 1 && $0.rssi == -60 } })
    host.hear([sighting(1, 1)], every: 0.1, for: 10)
    #expect(host.takeReports().last?.count == 1)
  }

  @Test("made-up addresses of one identity don't take over the room of others")
  func addressFlood() throws {
    var host = try RangingHost([all])
    host.hear([sighting(1, 1, address: 1)], every: 0.1, for: 1)
    for number in 0..<1000 { host.hear(sighting(1, 1, address: 100 + UInt64(number))) }
    host.hear(sighting(1, 1, address: 1))
    #expect(host.machine.trackCount == 16)
    #expect(host.machine.counters.untracked == 0)
    host.run(for: 1)
    #expect(host.takeReports().last?.contains { $0.address.bits == 1 } == true)
  }

  @Test("made-up addresses of one identity don't hide a louder beacon that comes later")
  func squattedIdentity() throws {
    var host = try RangingHost([all])
    let forged = (100..<116).map { sighting(1, 1, rssi: -70, address: $0) }
    host.hear(forged, every: 0.1, for: 3)
    host.hear(forged + [sighting(1, 1, rssi: -55, address: 1)], every: 0.1, for: 3)
    let report = try #require(host.takeReports().last)
    #expect(report.first?.address.bits == 1 && report.first?.rssi == -55)
    #expect(host.machine.trackCount == 16)
  }

  @Test("a beacon with a new address in each packet is heard in each packet")
  func rotationInEachPacket() throws {
    var host = try RangingHost([all])
    for address in 1...300 as ClosedRange<UInt64> {
      host.hear(sighting(rssi: -60, address: address))
      host.run(for: 0.1)
    }
    #expect(host.machine.counters.untracked == 0)
    let reports = host.takeReports()
    #expect(reports.count == 30 && reports.allSatisfy { $0.count == 1 && $0[0].rssi == -60 })
  }

  @Test("a louder beacon takes the place of a weaker one in a full table, and not the reverse")
  func displacement() throws {
    var settings = RangingMachine.Settings()
    settings.tracksMax = 20
    var host = try RangingHost([all], settings: settings)
    let weak = (0..<20).map { sighting(1, UInt16($0), rssi: -80) }
    host.hear(weak, every: 0.2, for: 3)
    host.hear(weak + [sighting(2, 1, rssi: -50), sighting(2, 2, rssi: -85)], every: 0.2, for: 3)
    let report = try #require(host.takeReports().last)
    #expect(report.contains { $0.identity.major == 2 && $0.identity.minor == 1 })
    #expect(!report.contains { $0.identity.major == 2 && $0.identity.minor == 2 })
    #expect(host.machine.trackCount == 20)
    #expect(host.machine.counters.displaced > 0 && host.machine.violations() == [])
  }

  @Test("a silent beacon makes room for another in a full table")
  func silentMakesRoom() throws {
    var settings = RangingMachine.Settings()
    settings.tracksMax = 1
    var host = try RangingHost([all], settings: settings)
    host.hear(sighting(1, 1, rssi: -40))
    host.hear(sighting(1, 2, rssi: -90))
    #expect(host.machine.counters.untracked == 1)
    host.run(for: 3)
    host.hear(sighting(1, 2, rssi: -90))
    host.run(for: 1)
    #expect(host.takeReports().last?.map(\.identity.minor) == [2])
  }

  @Test(
    "a measured power that no beacon can have gives no distance",
    arguments: [-128, -127, -126, -101, -9, -1, 0, 1, 20, 127] as [Int8])
  func noMeasuredPower(power: Int8) throws {
    var host = try RangingHost([all])
    host.hear([sighting(power: power)], every: 0.1, for: 1)
    let beacon = try #require(host.takeReports().last?.first)
    #expect(beacon.distance == nil && beacon.accuracyMetres == -1)
    #expect(beacon.proximity == .unknown && beacon.rssi == -60)
  }

  @Test("an RSSI of 0 is no measurement")
  func zeroRSSI() throws {
    var host = try RangingHost([all])
    host.hear(sighting(rssi: 0))
    host.hear(sighting(rssi: -60))
    host.run(for: 1)
    #expect(host.takeReports().last?.map(\.rssi) == [-60])
    #expect(host.machine.counters.unmeasured == 1)
  }

  @Test("a stall is followed by one report, in the old rhythm, in which no beacon is silent")
  func stall() throws {
    var host = try RangingHost([all])
    host.hear([sighting()], every: 0.1, for: 2)
    _ = host.takeReports()
    host.now = host.now + .milliseconds(60_300)
    host.machine.wake(now: host.now, into: &host.actions)
    #expect(host.takeReports().map { $0.first?.proximity } == [.near])
    host.hear([sighting()], every: 0.1, for: 0.6)
    #expect(host.takeReports() == [])
    host.hear([sighting()], every: 0.1, for: 0.2)
    #expect(host.takeReports().map(\.count) == [1])
  }

  @Test("when scanning ends there is one empty report, and none until it begins again")
  func radioOff() throws {
    var host = try RangingHost([all])
    host.hear([sighting()], every: 0.1, for: 2)
    _ = host.takeReports()
    host.machine.handle(.scanning(false), now: host.now, into: &host.actions)
    #expect(host.machine.nextWake == nil)
    host.hear(sighting())
    #expect(host.takeReports() == [[]])
    host.machine.handle(.scanning(true), now: host.now, into: &host.actions)
    host.run(for: 1)
    #expect(host.takeReports() == [[]])
  }

  @Test("constraints are bounded, and one that is ranged already is not another one")
  func bound() throws {
    var settings = RangingMachine.Settings()
    settings.constraintsMax = 1
    var machine = RangingMachine(settings: settings)
    try machine.start(all, now: .zero)
    try machine.start(all, now: .zero)
    #expect(throws: RangingMachine.Failure.tooManyConstraints(max: 1)) {
      try machine.start(BeaconConstraint(uuid: otherUUID), now: .zero)
    }
  }

  @Test("beacon tracks and their links stay consistent", arguments: 0..<50 as Range<UInt64>)
  func random(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var settings = RangingMachine.Settings()
    settings.tracksMax = 12
    settings.sameIdentityMax = 5
    var host = try RangingHost([all], settings: settings)
    for _ in 0..<2000 {
      let value = sighting(
        1, UInt16(random.next() % 3), rssi: Int8(-90 + Int(random.next() % 50)),
        address: random.next() % 7)
      host.hear(value)
      if random.next() % 8 == 0 { host.run(for: random.unit() * 4) }
      #expect(host.machine.trackCount <= 12, "seed \(seed)")
      #expect(host.machine.violations() == [], "seed \(seed)")
    }
    for report in host.takeReports() {
      let keys = report.map { "\($0.identity.minor) \($0.address)" }
      #expect(Set(keys).count == keys.count, "seed \(seed)")
    }
    host.run(for: 12)
    #expect(host.machine.trackCount == 0, "seed \(seed)")
  }
}

@Suite("Link filter and distance")
struct DistanceTests {
  /// Roughly normal, with this standard deviation.
  private static func noise(_ sigma: Double, _ random: inout SeededGenerator) -> Double {
    var sum = -6.0
    for _ in 0..<12 { sum += random.unit() }
    return sum * sigma
  }

  @Test(
    "the link filter is unbiased to 0.2 dB where nothing changes",
    arguments: [0.1, 0.3, 1] as [Double],
    0..<10 as Range<UInt64>)
  func unbiased(interval: Double, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let level = -50 - 30 * random.unit()
    var filter = LinkFilter()
    var sum = 0.0
    var measured = 0.0
    let count = 20_000
    for step in 0..<count {
      // Jitter of the advertiser, losses of the receiver.
      let now = Instant.seconds(Double(step) * interval + random.unit() * 0.01)
      let rssi = Int8((level + Self.noise(4, &random)).rounded())
      filter.add(rssi: rssi, now: now)
      measured += Double(rssi)
      sum += try #require(filter.level)
    }
    #expect(abs(sum / Double(count) - level) < 0.2, "seed \(seed)")
    #expect(abs(measured / Double(count) - level) < 0.2, "seed \(seed)")
  }

  @Test(
    "the link filter follows a step of 9 dB within three seconds",
    arguments: [0.1, 0.3, 1] as [Double],
    [-9, 9] as [Double])
  func step(interval: Double, height: Double) throws {
    // The mean over many links, so that the test is of the filter and not of one noise.
    var sum = 0.0
    let links = 300
    for seed in 0..<UInt64(links) {
      var random = SeededGenerator(seed: seed)
      var filter = LinkFilter()
      var now = 0.0
      while now < 33 + 1e-6 {
        let level = now < 30 ? -65.0 : -65 + height
        filter.add(
          rssi: Int8((level + Self.noise(4, &random)).rounded()), now: .seconds(now))
        now += interval
      }
      sum += try #require(filter.level)
    }
    #expect(abs(sum / Double(links) - (-65 + height)) < 1.5)
  }

  @Test("strengths and powers count from the least to the greatest that can be")
  func plausible() {
    #expect([-127, -1, 1, 20].allSatisfy { MeasuredStrength.rssi($0).map(Int.init) == $0 })
    #expect([-1000, -128, 0, 21, 127, 1000].allSatisfy { MeasuredStrength.rssi($0) == nil })
    #expect(([-100, -59, -10] as [Int8]).allSatisfy { MeasuredStrength.power($0) == $0 })
    var filter = LinkFilter()
    for rssi: Int8 in [21, 126, -128, 0] {
      let isUsed = filter.add(rssi: rssi, now: .zero)
      #expect(!isUsed)
    }
    #expect(filter.level == nil)
  }

  @Test("a strength of 127 dBm changes nothing")
  func unmeasured() {
    var filter = LinkFilter()
    let first = filter.add(rssi: 127, now: .zero)
    #expect(!first && filter.level == nil)
    let second = filter.add(rssi: -60, now: .zero)
    let before = filter
    let third = filter.add(rssi: 127, now: .seconds(1))
    #expect(second && !third && filter == before)
    #expect(filter.level == -60)
  }

  @Test("uncertainty grows without measurements, up to a bound")
  func uncertainty() {
    var filter = LinkFilter()
    for step in 0..<50 { filter.add(rssi: -60, now: .seconds(Double(step) * 0.1)) }
    let now = filter.variance(at: .seconds(5))
    #expect(now < 5)
    #expect(filter.variance(at: .seconds(10)) > now + 20)
    #expect(filter.variance(at: .distantFuture) == 400)
    #expect(filter.variance(at: .zero) <= now)
  }

  @Test("the power at one metre gives one metre, and 22 dB less gives ten")
  func pathLoss() {
    let model = DistanceModel()
    let one = model.distance(level: -59, levelVariance: 0, powerAtOneMetre: -59)
    let ten = model.distance(level: -81, levelVariance: 0, powerAtOneMetre: -59)
    #expect(abs(one.metres - 1) < 1e-12 && abs(ten.metres - 10) < 1e-9)
    #expect(one.interval.lowerBound < 0.6 && one.interval.upperBound > 1.8)
    #expect(one.accuracyMetres > 1 && one.accuracyMetres < one.interval.upperBound)
    let unsure = model.distance(level: -59, levelVariance: 100, powerAtOneMetre: -59)
    #expect(unsure.interval.upperBound > one.interval.upperBound)
  }

  @Test("the interval holds the distance, and the accuracy is its radius, in 68 of 100 cases")
  func calibration() {
    var random = SeededGenerator(seed: 3)
    let model = DistanceModel()
    var inInterval = 0
    var inRadius = 0
    let count = 20_000
    for _ in 0..<count {
      let metres = 0.5 + 10 * random.unit()
      let loss = 22 * Exponential.log(metres) / Exponential.ln10
      let estimate = model.distance(
        level: -59 - loss + Self.noise(6, &random), levelVariance: 0, powerAtOneMetre: -59)
      if estimate.interval.contains(metres) { inInterval += 1 }
      if metres < estimate.accuracyMetres { inRadius += 1 }
    }
    #expect(abs(Double(inInterval) / Double(count) - 0.683) < 0.015)
    #expect(abs(Double(inRadius) / Double(count) - 0.683) < 0.015)
  }

  @Test("proximity changes only well beyond a bound, in both directions")
  func hysteresis() {
    #expect(BeaconProximity.unknown.next(metres: 0.49) == .immediate)
    #expect(BeaconProximity.unknown.next(metres: 0.51) == .near)
    #expect(BeaconProximity.unknown.next(metres: 4.01) == .far)
    #expect(BeaconProximity.immediate.next(metres: 0.6) == .immediate)
    #expect(BeaconProximity.immediate.next(metres: 0.65) == .near)
    #expect(BeaconProximity.near.next(metres: 0.45) == .near)
    #expect(BeaconProximity.near.next(metres: 0.38) == .immediate)
    #expect(BeaconProximity.near.next(metres: 4.9) == .near)
    #expect(BeaconProximity.near.next(metres: 5.1) == .far)
    #expect(BeaconProximity.far.next(metres: 3.5) == .far)
    #expect(BeaconProximity.far.next(metres: 3.1) == .near)
    #expect(BeaconProximity.far.next(metres: 0.2) == .immediate)
    #expect(BeaconProximity.immediate.next(metres: 9) == .far)
  }
}

@Suite("Beacon reader")
struct BeaconReaderTests {
  @Test("the reader counts beacons, malformed ones and foreign advertisements")
  func counters() {
    var reader = BeaconReader()
    let beacon = IBeacon(uuid: museum, major: 513, minor: 258, powerAtOneMetre: -70)
    let address = DeviceAddress(bits: 1, kind: .random)
    let found = reader.sighting(in: beacon.advertisingData[...], from: address, rssi: -61)
    #expect(
      found
        == BeaconSighting(
          identity: BeaconIdentity(uuid: museum, major: 513, minor: 258), address: address,
          rssi: -61, powerAtOneMetre: -70))
    let malformed: [UInt8] = [5, 0xFF, 0x4C, 0, 2, 0x15]
    let foreign: [UInt8] = [5, 0xFF, 0x4C, 0, 0x10, 0x05]
    let eddystone: [UInt8] = [6, 0x16, 0xAA, 0xFE, 0x10, 0xEE, 0x03]
    for data in [malformed, foreign, eddystone] {
      let other = reader.sighting(in: data[...], from: address, rssi: -61)
      #expect(other == nil)
    }
    #expect(
      [
        reader.counters.iBeacons, reader.counters.malformed, reader.counters.foreign,
        reader.counters.others,
      ] == [1, 1, 1, 1])
  }
}
