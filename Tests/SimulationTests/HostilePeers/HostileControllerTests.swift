import BluetoothInterface
import BluetoothWire
import Essentials
import Simulation
import Testing

@testable import BluetoothMachines

/// A controller that lies to our host.
@Suite("A host and its hostile controller")
struct HostileControllerTests {
  private func inject(_ rig: HostileWorld, _ event: some HCIEventParameters) {
    rig.host.inject(event.packet)
  }

  /// An event packet as it comes, with its code and its own idea of its length.
  private func inject(_ rig: HostileWorld, _ hex: String) {
    rig.host.inject(HCIPacket(kind: .event, bytes: bytes(hex)))
  }

  private func connectionComplete(
    _ handle: UInt16, _ peer: DeviceAddress, role: LinkRole = .central
  ) -> LEConnectionComplete {
    LEConnectionComplete(
      handle: handle, role: role, peer: PeerAddress(peer),
      timing: ConnectionTiming(intervalUnits1250us: 24, latency: 0, timeoutUnits10ms: 72))
  }

  @Test("a controller that reports packets it never got is given no more than it has room for")
  func completedPackets() throws {
    let rig = try HostileWorld()
    try rig.meet()
    rig.world.run(for: .seconds(1))
    let handle = try #require(rig.link?.handle)
    for _ in 0..<100 {
      inject(
        rig,
        NumberOfCompletedPackets(
          [handle, 0, 0x0EFF, 0xFFFF, handle | 0xF000].map { .init(handle: $0, count: 0xFFFF) }))
    }
    for hex in ["13 01 ff", "13 05 3f 0100 ffff", "13 00", "13 05 01 0100 ff", "13 ff"] {
      inject(rig, hex)
    }
    rig.host.controller.faults.withholdsCompletedPackets = true
    for _ in 0..<200 { rig.start { .gatt(rig.peer.address, .writeWithoutResponse(3, [1]), $0) } }
    rig.world.run(for: .seconds(1))
    // The only link leaves an eighth of the buffers for the next one.
    let room = Int(rig.host.controller.capabilities.aclPacketCount) * 7 / 8
    #expect(rig.host.machine.scheduler.buffersInUse(handle: handle) == room)
    #expect(rig.host.controller.droppedPacketCount == 0)
    rig.host.controller.faults.withholdsCompletedPackets = false
    try rig.expectUnharmed()
  }

  @Test("a controller with data for unknown links gets commands to end them, in bounded memory")
  func unknownLinks() throws {
    let rig = try HostileWorld()
    try rig.meet(HostileWorld.honest)
    for handle in 0..<4_096 as Range<UInt16> {
      guard rig.host.machine.links.index(handle: handle) == nil else { continue }
      rig.host.inject(
        ACLHeader.packet(
          handle: handle, boundary: .firstFlushable, payload: bytes("03 00 04 00 0a 03 00")))
      #expect(rig.host.machine.links.orphans.count <= LinkTable.Limits.linksMax)
    }
    try rig.useHonest()
    for hex in ["", "01", "0100", "01000500", "0100ffff00", "01300100ff"] {
      rig.host.inject(HCIPacket(kind: .acl, bytes: bytes(hex)))
    }
    try rig.useHonest()
    try rig.part(HostileWorld.honest)
    rig.world.run(for: .seconds(200))
    try rig.expectUnharmed()
  }

  @Test("a controller that announces a link twice, or an unknown end, doesn't confuse the links")
  func links() throws {
    let rig = try HostileWorld()
    for (newHandle, newPeer) in [(nil, nil), (0x123, nil), (nil, 0x77), (0x123, 0x77)]
      as [(UInt16?, UInt64?)]
    {
      try rig.meet(HostileWorld.honest)
      try rig.meet()
      let handle = try #require(rig.link?.handle)
      let other = newPeer.map { DeviceAddress(bits: $0, kind: .public) }
      inject(rig, connectionComplete(newHandle ?? handle, other ?? rig.peer.address))
      #expect(Set(rig.host.machine.links.peers).count == rig.host.machine.links.count)
      #expect(Set(rig.host.machine.links.handles).count == rig.host.machine.links.count)
      for unknown in 0x200..<0x300 as Range<UInt16> {
        inject(rig, DisconnectionComplete(handle: unknown, reason: .connectionTimeout))
      }
      try rig.useHonest()
      rig.world.run(for: .seconds(5))
      let isKept = newHandle != nil && newPeer != nil
      #expect((rig.link != nil) == isKept, "\(newHandle as Any) \(newPeer as Any)")
      try rig.part()
      try rig.part(HostileWorld.honest)
    }
    try rig.expectUnharmed()
  }

  @Test("a controller that falsely reports the end of a link is corrected at the next request")
  func endInWords() throws {
    let rig = try HostileWorld()
    try rig.meet()
    let handle = try #require(rig.link?.handle)
    let token = rig.start { .gatt(rig.peer.address, .read(3), $0) }
    inject(rig, DisconnectionComplete(handle: handle, reason: .connectionTimeout))
    #expect(rig.result(of: token) == .failure(.disconnected(.connectionTimeout)))
    try rig.meet()
    #expect(rig.gatt(.read(3)) == .failure(.att(.attributeNotFound, handle: 3)))
    try rig.expectUnharmed()
  }

  @Test("a controller that makes up links without end fills only its table, and a reset clears it")
  func phantomLinks() throws {
    let rig = try HostileWorld()
    for number in 0..<1_000 {
      let peer = DeviceAddress(bits: 0x5000 + UInt64(number), kind: .public)
      inject(rig, connectionComplete(UInt16(number), peer, role: .peripheral))
      #expect(rig.host.machine.links.count <= LinkTable.Limits.linksMax)
    }
    rig.world.run(for: .seconds(1))
    #expect(rig.host.machine.links.count == LinkTable.Limits.linksMax)
    #expect(rig.host.machine.server.sessions.count == LinkTable.Limits.linksMax)
    rig.host.controller.crash()
    rig.world.run(for: .seconds(10))
    #expect(rig.host.machine.links.isEmpty)
    try rig.expectUnharmed()
  }

  // MARK: Commands

  @Test("a controller that sends unrequested answers changes nothing")
  func strayAnswers() throws {
    let rig = try HostileWorld()
    try rig.meet()
    var random = SeededGenerator(seed: 1)
    for opcode in 0..<0x4000 as Range<UInt16> {
      let answer = (0..<Int.random(in: 0...20, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
      inject(
        rig,
        CommandComplete(
          numberOfCommandPackets: 1, opcode: HCIOpcode(rawValue: opcode),
          returnParameters: answer[...]))
      inject(
        rig,
        CommandStatus(
          status: .commandDisallowed, numberOfCommandPackets: 1,
          opcode: HCIOpcode(rawValue: opcode)))
    }
    for hex in ["0e 00", "0e 01 01", "0e 02 0100", "0f 00", "0f 03 000100", "0e 03 01 0000 00"] {
      inject(rig, hex)
    }
    #expect(rig.complete { .readRSSI(rig.peer.address, $0) }.map { (try? $0.get()) != nil } == true)
    #expect(rig.gatt(.read(3)) == .failure(.att(.attributeNotFound, handle: 3)))
    try rig.expectUnharmed()
  }

  @Test("a controller that gives no credit for commands, and answers one, is used after 2 s")
  func noCredit() throws {
    let rig = try HostileWorld()
    try rig.meet()
    rig.world.run(for: .seconds(1))
    let start = rig.world.now
    for count in 0..<40 as Range<Int64> {
      rig.world.schedule(at: start + .milliseconds(500) * count) {
        self.inject(
          rig, CommandStatus(numberOfCommandPackets: 0, opcode: HCIOpcode(rawValue: 0)))
      }
    }
    rig.world.run(for: .milliseconds(100))
    let token = rig.start { .readRSSI(rig.peer.address, $0) }
    rig.world.run(atMost: .seconds(19)) { rig.result(of: token) != nil }
    #expect(rig.result(of: token).map { (try? $0.get()) != nil } == true)
    #expect((rig.world.now - start).seconds < 5)
    rig.world.run(for: .seconds(30))
    try rig.expectUnharmed()
  }

  @Test("a controller that sends data before it is started is ignored")
  func earlyData() {
    let world = World(seed: 1, radio: .ideal)
    let host = RunHost(1, in: world, at: .origin, isBasic: false)
    for handle in 1...10 as ClosedRange<UInt16> {
      host.inject(
        ACLHeader.packet(handle: handle, boundary: .firstFlushable, payload: [0, 0, 4, 0]))
    }
    world.run(for: .milliseconds(500))
    #expect(host.machine.state == .poweredOn)
    #expect(host.machine.links.orphans.isEmpty)
  }

  // MARK: Events

  @Test(
    "a controller that sends noise, of every code and length, doesn't stop the host",
    arguments: 1...4)
  func noise(seed: UInt64) throws {
    let rig = try HostileWorld()
    try rig.meet()
    var random = SeededGenerator(seed: seed)
    let noise = { (count: Int) in
      (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
    for code in UInt8.min...UInt8.max {
      for count in [0, 1, 2, 3, 4, 8, 19, 60] {
        let parameters = noise(count)
        for length in [UInt8(count), UInt8(count) &+ 1, 0, 0xFF] {
          rig.host.inject(HCIPacket(kind: .event, bytes: [code, length] + parameters))
        }
        // The same for LE.
        let meta: [UInt8] = [0x3E, UInt8(count + 1), code] + parameters
        rig.host.inject(HCIPacket(kind: .event, bytes: meta))
        for kind in HCIPacket.Kind.allCases {
          rig.host.inject(HCIPacket(kind: kind, bytes: noise(count)))
        }
      }
    }
    rig.world.run(for: .seconds(10))
    // What it made up is still up: only a reset can tell.
    rig.host.controller.crash()
    rig.world.run(for: .seconds(30))
    try rig.expectUnharmed()
  }

  @Test("advertising reports with wrong counts and lengths are dropped")
  func reports() throws {
    let rig = try HostileWorld()
    rig.send(.startScan(ScanOptions()))
    rig.world.run(for: .seconds(1))
    rig.forgetEvents()
    for hex in [
      "3e 02 02 00", "3e 02 02 ff", "3e 0c 02 02 00 00 010203040506 00 d0",
      "3e 0c 02 01 00 00 010203040506 01 d0", "3e 0c 02 01 00 00 010203040506 ff d0",
      "3e 0b 02 01 00 00 010203040506 00", "3e 0c 02 01 09 00 010203040506 00 d0",
      "3e 02 0d 00", "3e 02 0d ff", "3e 03 0d 01 00",
      "3e 1a 0d 01 1300 00 010203040506 01 00 ff 7f d0 0000 00 000000000000 ff",
    ] { inject(rig, hex) }
    #expect(
      rig.count {
        if case .discovered(let report) = $0 {
          report.address.bits == 0x0605_0403_0201
        } else {
          false
        }
      } == 0)
    rig.send(.stopScan)
    try rig.expectUnharmed()
  }

  @Test("advertising reports of a hundred thousand devices are delivered, in bounded memory")
  func advertisers() throws {
    let rig = try HostileWorld()
    var options = ScanOptions()
    options.services = [0xFF00]
    rig.send(.startScan(options))
    rig.world.run(for: .milliseconds(100))
    rig.forgetEvents()
    let data = bytes("03 03 00ff")[...]
    for number in 0..<100_000 {
      let peer = DeviceAddress(bits: 0x10_0000 + UInt64(number), kind: .random)
      inject(
        rig,
        LEAdvertisingReports([
          LEAdvertisingReport(
            kind: .connectable, advertiser: PeerAddress(peer), data: data, rssi: -60)
        ]))
    }
    #expect(rig.host.machine.scanner.advertiserCount <= Scanner.Limits.advertisersMax)
    #expect(rig.events.count == 100_000)
    rig.forgetEvents()
    #expect(
      rig.wait {
        if case .discovered(let report) = $0 {
          report.address == HostileWorld.honest
        } else {
          false
        }
      })
    rig.send(.stopScan)
    try rig.expectUnharmed()
  }

  @Test(
    "advertising reports of nonsense are delivered as they are, and valid data are found in them")
  func nonsense() throws {
    let rig = try HostileWorld()
    var random = SeededGenerator(seed: 1)
    for services in [[], [0xFF00]] as [[BluetoothUUID]] {
      var options = ScanOptions()
      options.services = services
      rig.forgetEvents()
      rig.send(.startScan(options))
      for number in 0..<2_000 {
        // A true beginning, then lengths and bytes that lie.
        let tail = (0..<Int.random(in: 0...27, using: &random)).map { _ in
          UInt8.random(in: 0...255, using: &random)
        }
        let data = number.isMultiple(of: 2) ? tail : [0x03, 0x03, 0x00] + tail
        let peer = DeviceAddress(bits: 0x10_0000 + UInt64(number), kind: .random)
        inject(
          rig,
          LEAdvertisingReports([
            LEAdvertisingReport(
              kind: number.isMultiple(of: 3) ? .scanResponse : .connectable,
              advertiser: PeerAddress(peer), data: data[...], rssi: nil)
          ]))
      }
      if services.isEmpty { #expect(rig.events.count == 2_000) }
      #expect(
        rig.wait {
          guard case .discovered(let report) = $0 else { return false }
          return report.address == HostileWorld.honest
        })
      rig.send(.stopScan)
    }
    try rig.expectUnharmed()
  }

  @Test("an extended advertising report that never ends is cut at the maximum length")
  func endlessReport() throws {
    let rig = try HostileWorld()
    rig.send(.startScan(ScanOptions()))
    rig.world.run(for: .milliseconds(100))
    let peer = DeviceAddress(bits: 0x77, kind: .random)
    for number in 0...1_000 {
      inject(
        rig,
        LEExtendedAdvertisingReports([
          LEExtendedAdvertisingReport(
            type: number < 1_000 ? [.moreToCome] : [], advertiser: PeerAddress(peer), rssi: -60,
            data: Array(repeating: 1, count: 200)[...])
        ]))
    }
    let lengths = rig.events.compactMap { event -> Int? in
      if case .discovered(let report) = event, report.address == peer {
        report.data.count
      } else {
        nil
      }
    }
    #expect(lengths == [Scanner.Limits.extendedDataByteCountMax])
    rig.send(.stopScan)
    try rig.expectUnharmed()
  }
}
