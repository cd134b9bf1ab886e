import BluetoothWire
import Essentials
import Testing

@testable import BeaconMachines

@Suite("Region monitor")
struct RegionMonitorTests {
  private let hall = BeaconRegion(identifier: "hall", constraint: .init(uuid: museum))
  private let identity = BeaconIdentity(uuid: museum, major: 1, minor: 1)

  @Test("a region is entered with the first sighting and left 30 s after the last")
  func enterAndExit() throws {
    var host = try MonitoringHost([hall])
    host.run(for: 5)
    #expect(host.takeActions() == [])
    host.handle(.sighted(sighting()))
    #expect(
      host.takeActions() == [
        .entered(identifier: "hall", identity), .determined(identifier: "hall", .inside),
      ])
    host.hear(sighting(), every: 2, for: 60)
    #expect(host.takeActions() == [])
    host.run(for: 27.5)
    #expect(host.takeActions() == [])
    host.run(for: 1)
    #expect(
      host.takeActions() == [
        .exited(identifier: "hall"), .determined(identifier: "hall", .outside),
      ])
    #expect(host.monitor.nextWake == nil)
  }

  @Test("a region where nothing is heard is outside after the exit delay, without an exit")
  func outsideFromTheStart() throws {
    var settings = RegionMonitor.Settings()
    settings.exitDelay = .seconds(7)
    var host = try MonitoringHost([hall], settings: settings)
    host.run(for: 6.9)
    #expect(host.monitor.state(of: "hall") == .unknown)
    host.run(for: 0.2)
    #expect(host.takeActions() == [.determined(identifier: "hall", .outside)])
  }

  @Test("a beacon of another UUID, major or minor number is not in the region")
  func constraints() throws {
    let region = BeaconRegion(
      identifier: "case", constraint: .init(uuid: museum, major: 1, minor: 2))
    var host = try MonitoringHost([region])
    for other in [sighting(uuid: otherUUID, 1, 2), sighting(2, 2), sighting(1, 3)] {
      host.handle(.sighted(other))
    }
    #expect(host.takeActions() == [])
    #expect(host.monitor.counters.matches == 0)
    host.handle(.sighted(sighting(1, 2)))
    #expect(host.takeActions().count == 2)
    let wide = BeaconConstraint(uuid: museum, major: 7)
    #expect(wide.matches(BeaconIdentity(uuid: museum, major: 7, minor: 9)))
    #expect(!wide.matches(BeaconIdentity(uuid: museum, major: 8, minor: 9)))
  }

  @Test("after a stall longer than the exit delay the packets that waited come first")
  func stall() throws {
    var host = try MonitoringHost([hall])
    host.hear(sighting(), every: 1, for: 5)
    _ = host.takeActions()
    host.stall(for: 45)
    // The timer is first, then the packets.
    host.monitor.wake(now: host.now, into: &host.actions)
    #expect(host.takeActions() == [])
    host.stall(for: 0.01)
    host.handle(.sighted(sighting()))
    host.run(for: 20)
    #expect(host.takeActions() == [])
    #expect(host.monitor.counters.stalls == 1)
    host.run(for: 11)
    #expect(host.takeActions().first == .exited(identifier: "hall"))
  }

  @Test("a short stall just before the end of the delay doesn't make an exit", arguments: 0..<40)
  func shortStall(step: Int) throws {
    var host = try MonitoringHost([hall])
    host.handle(.sighted(sighting()))
    _ = host.takeActions()
    let silence = 26 + Double(step) / 10
    host.run(for: silence)
    _ = host.takeActions()
    guard host.monitor.state(of: "hall") == .inside else { return }
    // A packet arrives, and waits for 2.5 s because the process is stopped.
    host.stall(for: 2.5)
    host.monitor.wake(now: host.now, into: &host.actions)
    host.monitor.wake(now: host.now, into: &host.actions)
    host.handle(.sighted(sighting()))
    host.run(for: 1)
    #expect(host.takeActions() == [], "after \(silence) s")
  }

  @Test("a stall delays an exit and doesn't prevent it")
  func stallDelays() throws {
    var host = try MonitoringHost([hall])
    host.handle(.sighted(sighting()))
    _ = host.takeActions()
    host.run(for: 29.9)
    host.stall(for: 600)
    host.run(for: 0.9)
    #expect(host.takeActions() == [])
    host.run(for: 0.3)
    #expect(host.takeActions().first == .exited(identifier: "hall"))
  }

  @Test("a process that is always late leaves within 32 calls", arguments: [1.3, 2, 10, 60])
  func starved(period: Double) throws {
    var host = try MonitoringHost([hall])
    host.hear(sighting(), every: 1, for: 3)
    _ = host.takeActions()
    var callCount = 0
    while host.monitor.state(of: "hall") == .inside, callCount < 100 {
      host.stall(for: period)
      host.monitor.wake(now: host.now, into: &host.actions)
      callCount += 1
    }
    #expect(callCount <= 32)
    #expect(host.takeActions().first == .exited(identifier: "hall"))
  }

  @Test(
    "a process that is always late stays as long as packets wait for it", arguments: [1.3, 10, 60])
  func starvedInside(period: Double) throws {
    var host = try MonitoringHost([hall])
    host.hear(sighting(), every: 1, for: 3)
    _ = host.takeActions()
    for _ in 0..<200 {
      host.stall(for: period)
      // The timer is first, then the packets.
      host.monitor.wake(now: host.now, into: &host.actions)
      host.handle(.sighted(sighting()))
    }
    #expect(host.takeActions() == [])
  }

  @Test("while the radio is off the state is unknown, and coming back is not a second enter")
  func radioOff() throws {
    var host = try MonitoringHost([hall])
    host.handle(.sighted(sighting()))
    _ = host.takeActions()
    host.handle(.scanning(false))
    #expect(host.takeActions() == [.determined(identifier: "hall", .unknown)])
    host.run(for: 300)
    // Nothing is believed of a receiver that is off.
    host.handle(.sighted(sighting()))
    #expect(host.takeActions() == [])
    host.handle(.scanning(true))
    host.run(for: 20)
    #expect(host.takeActions() == [])
    host.handle(.sighted(sighting()))
    #expect(host.takeActions() == [.determined(identifier: "hall", .inside)])
    host.handle(.scanning(false))
    host.handle(.scanning(true))
    host.run(for: 31)
    #expect(
      host.takeActions() == [
        .determined(identifier: "hall", .unknown), .exited(identifier: "hall"),
        .determined(identifier: "hall", .outside),
      ])
  }

  @Test("switching the display on reports the state of a region that asks for it, inside only")
  func display() throws {
    var asking = hall
    asking.notifiesStateOnDisplay = true
    let silent = BeaconRegion(identifier: "silent", constraint: .init(uuid: museum))
    var host = try MonitoringHost([asking, silent])
    host.handle(.displaySwitchedOn)
    #expect(host.takeActions() == [])
    host.handle(.sighted(sighting()))
    _ = host.takeActions()
    host.handle(.displaySwitchedOn)
    #expect(host.takeActions() == [.determined(identifier: "hall", .inside)])
  }

  @Test("crossings that aren't asked for are not reported, and the state is")
  func notifications() throws {
    var quiet = hall
    quiet.notifiesOnEntry = false
    quiet.notifiesOnExit = false
    var host = try MonitoringHost([quiet])
    host.handle(.sighted(sighting()))
    host.run(for: 31)
    #expect(
      host.takeActions() == [
        .determined(identifier: "hall", .inside), .determined(identifier: "hall", .outside),
      ])
  }

  @Test("a requested state is reported; that of an unknown region is not")
  func request() throws {
    var host = try MonitoringHost([hall])
    host.handle(.stateRequested(identifier: "hall"))
    host.handle(.stateRequested(identifier: "cellar"))
    #expect(host.takeActions() == [.determined(identifier: "hall", .unknown)])
  }

  @Test("the twenty-first region is refused, and a replacement is not")
  func limit() throws {
    var host = try MonitoringHost()
    func region(_ number: Int) -> BeaconRegion {
      BeaconRegion(
        identifier: "\(number)", constraint: .init(uuid: museum, major: UInt16(number)))
    }
    for number in 0..<20 { try host.monitor.start(region(number), now: host.now) }
    #expect(throws: RegionMonitorError.tooManyRegions(max: 20)) {
      try host.monitor.start(region(20), now: host.now)
    }
    try host.monitor.start(region(7), now: host.now)
    #expect(host.monitor.regions.count == 20)
    let wasThere = host.monitor.stop(identifier: "7")
    let isThere = host.monitor.stop(identifier: "7")
    #expect(wasThere && !isThere)
    try host.monitor.start(region(20), now: host.now)
    var long = region(3)
    long.identifier = String(repeating: "ä", count: 513)
    #expect(throws: RegionMonitorError.identifierTooLong(byteCount: 1026, max: 1024)) {
      try host.monitor.start(long, now: host.now)
    }
  }

  @Test("the same region again keeps its state; one of the same name begins anew")
  func replacement() throws {
    var host = try MonitoringHost([hall])
    host.handle(.sighted(sighting()))
    _ = host.takeActions()
    try host.monitor.start(hall, now: host.now)
    host.handle(.sighted(sighting()))
    #expect(host.takeActions() == [])
    let other = BeaconRegion(identifier: "hall", constraint: .init(uuid: museum, major: 1))
    try host.monitor.start(other, now: host.now)
    #expect(host.monitor.state(of: "hall") == .unknown)
    host.handle(.sighted(sighting()))
    #expect(host.takeActions().first == .entered(identifier: "hall", identity))
  }

  @Test("a region that is assumed to be inside is not entered, and is left")
  func assumed() throws {
    var host = try MonitoringHost()
    try host.monitor.start(hall, assuming: .inside, now: host.now)
    host.handle(.sighted(sighting()))
    #expect(host.takeActions() == [])
    host.run(for: 31)
    #expect(host.takeActions().first == .exited(identifier: "hall"))
  }

  @Test("a region that is added long after the last event waits its own exit delay")
  func addedLate() throws {
    var host = try MonitoringHost([hall])
    host.run(for: 3600)
    _ = host.takeActions()
    try host.monitor.start(
      BeaconRegion(identifier: "late", constraint: .init(uuid: otherUUID)), now: host.now)
    host.run(for: 29.9)
    #expect(host.takeActions() == [])
    host.run(for: 0.2)
    #expect(host.takeActions() == [.determined(identifier: "late", .outside)])
  }

  @Test("whatever happens, enters and exits alternate", arguments: 0..<200 as Range<UInt64>)
  func alternation(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var host = try MonitoringHost([hall])
    var isInside = false
    for _ in 0..<400 {
      switch random.next() % 9 {
      case 0: host.handle(.scanning(random.next() % 4 != 0))
      case 1: host.stall(for: random.unit() * 60)
      case 2: host.run(for: random.unit() * 40)
      case 3:
        host.monitor = try RegionMonitor(snapshot: host.monitor.snapshot[...])
        host.handle(.scanning(true))
      case 4: host.handle(.displaySwitchedOn)
      case 5: try host.monitor.start(hall, now: host.now)
      case 6: host.handle(.sighted(sighting(uuid: otherUUID)))
      default: host.handle(.sighted(sighting()))
      }
      #expect(host.monitor.violations() == [], "seed \(seed)")
      for action in host.takeActions() {
        switch action {
        case .entered:
          #expect(!isInside, "seed \(seed)")
          isInside = true
        case .exited:
          #expect(isInside, "seed \(seed)")
          isInside = false
        case .determined: break
        }
      }
    }
  }
}

@Suite("Snapshots of a region monitor")
struct RegionSnapshotTests {
  private func monitor() throws -> MonitoringHost {
    try MonitoringHost([
      BeaconRegion(
        identifier: "Säle", constraint: .init(uuid: museum), notifiesStateOnDisplay: true),
      BeaconRegion(
        identifier: "shop", constraint: .init(uuid: otherUUID, major: 0xFFFF),
        notifiesOnEntry: false),
      BeaconRegion(
        identifier: "", constraint: .init(uuid: otherUUID, major: 0, minor: 0),
        notifiesOnExit: false),
    ])
  }

  @Test("a restored monitor has the regions, doesn't enter again and reports the exit")
  func restored() throws {
    var host = try monitor()
    host.handle(.sighted(sighting()))
    var next = try MonitoringHost(restoring: host.monitor.snapshot, now: .seconds(7200))
    #expect(next.monitor.regions == host.monitor.regions)
    #expect(next.monitor.state(of: "Säle") == .unknown)
    next.handle(.scanning(true))
    next.handle(.sighted(sighting()))
    #expect(next.takeActions() == [.determined(identifier: "Säle", .inside)])
    next.run(for: 31)
    #expect(next.takeActions().contains(.exited(identifier: "Säle")))
    #expect(
      try RegionMonitor(snapshot: next.monitor.snapshot[...]).snapshot == next.monitor.snapshot)
  }

  @Test("a restored region that was not entered is entered with the first sighting")
  func notEntered() throws {
    let host = try monitor()
    var next = try MonitoringHost(restoring: host.monitor.snapshot, now: .zero)
    next.handle(.scanning(true))
    next.handle(.sighted(sighting()))
    #expect(
      next.takeActions().first
        == .entered(identifier: "Säle", BeaconIdentity(uuid: museum, major: 1, minor: 1)))
  }

  @Test("a cut snapshot, one with bytes too many and one of another version are refused")
  func cut() throws {
    let whole = try monitor().monitor.snapshot
    for count in 0..<whole.count {
      #expect(throws: RegionSnapshotError.self, "\(count) bytes") {
        try RegionMonitor(snapshot: whole.prefix(count))
      }
    }
    #expect(throws: RegionSnapshotError.malformed(.trailingBytes(count: 1))) {
      try RegionMonitor(snapshot: (whole + [0])[...])
    }
    var other = whole
    other[3] = 2
    #expect(throws: RegionSnapshotError.unknownVersion) {
      try RegionMonitor(snapshot: other[...])
    }
  }

  @Test("two regions of one name, too many and names that are not UTF-8 are refused")
  func hostile() throws {
    let head: [UInt8] = [0x41, 0x52, 0x4D, 0x01]
    func region(_ flags: UInt8, _ name: [UInt8]) -> [UInt8] {
      [flags] + [UInt8](repeating: 1, count: 20) + [UInt8(name.count), 0] + name
    }
    #expect(throws: RegionSnapshotError.badIdentifier) {
      try RegionMonitor(snapshot: (head + [2, 0] + region(0, [65]) + region(0, [65]))[...])
    }
    #expect(throws: RegionSnapshotError.badIdentifier) {
      try RegionMonitor(snapshot: (head + [1, 0] + region(0, [0xFF]))[...])
    }
    #expect(throws: RegionSnapshotError.limit(.tooManyRegions(max: 20))) {
      try RegionMonitor(snapshot: (head + [0xFF, 0xFF])[...])
    }
    for flags: UInt8 in [0x02, 0x40, 0x80] {
      #expect(
        throws: RegionSnapshotError.malformed(.invalidValue(field: "flags", value: Int(flags)))
      ) {
        try RegionMonitor(snapshot: (head + [1, 0] + region(flags, [65]))[...])
      }
    }
  }

  @Test(
    "a mutated snapshot is refused or restores its contents", arguments: 0..<20 as Range<UInt64>)
  func mutated(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let whole = try monitor().monitor.snapshot
    for _ in 0..<500 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        bytes[Int.random(in: bytes.indices, using: &random)] = UInt8(
          truncatingIfNeeded: random.next())
      }
      guard let restored = try? RegionMonitor(snapshot: bytes[...]) else { continue }
      let again = try RegionMonitor(snapshot: restored.snapshot[...])
      #expect(again.regions == restored.regions, "seed \(seed)")
    }
  }
}
