import BluetoothInterface
import BluetoothWire
import Essentials
import Simulation
import Testing

@testable import BluetoothMachines
@testable import GATTMachines
@testable import L2CAPMachines

/// Peers that send more than anybody asked for.
@Suite("A host in a flood from a hostile peer")
struct HostileFloodTests {
  private func values(_ rig: HostClient, of handle: UInt16) -> Int {
    rig.count { if case .valueUpdated(_, handle, _) = $0 { true } else { false } }
  }

  @Test("a flood of values on a real link leaves subscribed values and an honest peer their share")
  func notifications() throws {
    let rig = try HostileWorld(radio: RadioModel())
    rig.peer.answer = { request in
      if case .writeRequest = request { [bytes("13")] } else { nil }
    }
    try rig.meet(HostileWorld.honest)
    try rig.meet()
    let target = SubscriptionTarget(
      valueHandle: 3, configurationHandle: 4, usesIndications: false)
    #expect(rig.complete { .subscribe(rig.peer.address, target, $0) } == .success(.done))
    rig.forgetEvents()
    let floodCount = 4_000
    for _ in 0..<floodCount / 4 {
      for handle in [3, 5, 3, 0xFFFF] as [UInt16] {
        rig.peer.attribute(
          .handleValueNotification(handle: handle, value: bytes("0102030405")[...]))
      }
    }
    let start = rig.world.now
    for _ in 0..<3 { try rig.useHonest() }
    let honestTime = (rig.world.now - start).seconds
    #expect(honestTime < 5, "\(honestTime) s")
    #expect(
      values(rig, of: 3) < floodCount / 2, "the flood was over before the honest peer was read")
    rig.wait { _ in values(rig, of: 3) == floodCount / 2 }
    #expect(values(rig, of: 3) == floodCount / 2)
    #expect(values(rig, of: 5) + values(rig, of: 0xFFFF) == 0)
    #expect(rig.link?.gatt.counters.unsolicitedValues == floodCount / 2)
    try rig.part(HostileWorld.honest)
    try rig.expectUnharmed()
  }

  @Test("a flood of indications is confirmed one by one, also without a subscription")
  func indications() throws {
    let rig = try HostileWorld()
    try rig.meet()
    rig.world.run(for: .seconds(1))
    rig.peer.forgetHeard()
    for number in 0..<3_000 as Range<UInt16> {
      rig.peer.attribute(.handleValueIndication(handle: number, value: [1]))
    }
    rig.world.run(for: .seconds(1))
    #expect(rig.peer.attributes == Array(repeating: [0x1E], count: 3_000))
    #expect(rig.count { if case .valueUpdated = $0 { true } else { false } } == 0)
    try rig.expectUnharmed()
  }

  @Test("a flood of requests, commands and signals is answered, and an honest central is served")
  func requests() throws {
    let rig = try ServingWorld()
    try rig.phone.meet(rig.address)
    try rig.intrude()
    let register = rig.registerHandle
    let before = rig.requestCount
    for number in 0..<3_000 {
      rig.peer.attribute(.readRequest(handle: 3))
      rig.peer.attribute(.writeCommand(handle: register, value: [UInt8(number & 255)]))
      rig.peer.frame([0x77, UInt8(number % 255) + 1, 0, 0], on: 5)
      guard number.isMultiple(of: 500) else { continue }
      try rig.usePhone()
      let queued = rig.host.machine.scheduler.queuedByteCount(handle: rig.link?.handle ?? 0)
      #expect(queued < L2CAPLimits.queuedBytes)
    }
    rig.world.run(for: .seconds(1))
    #expect(rig.peer.attributes.count == 3_000)
    #expect(rig.peer.signals.count == 3_000)
    // The phone read and wrote twice each, six times.
    let phoneRequests = 6 * 2
    #expect(rig.requestCount - before - phoneRequests >= 3_000)
    #expect(rig.written.count >= 3_000)
    #expect(rig.host.machine.server.sessions.allSatisfy { $0.bearers[0].pending == nil })
    try rig.phone.part(rig.address)
    try rig.expectUnharmed()
  }

  @Test("a flood of requests whose answers aren't taken ends the link at a megabyte")
  func backlog() throws {
    let rig = try ServingWorld()
    try rig.intrude()
    _ = rig.answers(to: ATTPDU.exchangeMTURequest(mtu: 517).bytes)
    let handle = try #require(rig.link?.handle)
    rig.host.controller.faults.withholdsCompletedPackets = true
    rig.forgetEvents()
    var mostQueued = 0
    for _ in 0..<100 where rig.link != nil {
      for _ in 0..<100 { rig.peer.attribute(.readRequest(handle: rig.registerHandle)) }
      rig.world.run(for: .milliseconds(1))
      mostQueued = max(mostQueued, rig.host.machine.scheduler.queuedByteCount(handle: handle))
    }
    #expect((L2CAPLimits.queuedBytes * 9 / 10...L2CAPLimits.queuedBytes).contains(mostQueued))
    #expect(
      rig.endOfLink() == .limitReached("data waiting for a peer that doesn't take it"))
    rig.host.controller.faults.withholdsCompletedPackets = false
    try rig.expectUnharmed()
  }

  @Test("a crowd of peers with different vices doesn't disturb an honest one")
  func crowd() throws {
    let rig = try HostileWorld(radio: RadioModel())
    let crowd = (0..<12).map { number in
      HostilePeer(
        in: rig.world, named: "hostile \(number)", address: 0xBAD_0000 + UInt64(number),
        isPeripheral: true, at: Position(x: 1, y: Double(number) / 4))
    }
    for (number, peer) in crowd.enumerated() {
      switch number % 4 {
      case 0: peer.answer = { _ in [] }
      case 1: peer.slowness = .seconds(28)
      case 2:
        peer.answer = { [$0.isIntroduction ? HostilePeer.nothing(to: $0) : bytes("0b 41 42")] }
      default: peer.answer = { _ in Array(repeating: bytes("1d 0300 41"), count: 20) }
      }
      try rig.meet(peer.address)
    }
    let tokens = crowd.map { peer in rig.start { .gatt(peer.address, .write(3, [1]), $0) } }
    for _ in 0..<20 { for peer in crowd { peer.attribute(bytes("1b 0300 41")) } }
    try rig.meet(HostileWorld.honest)
    let start = rig.world.now
    try rig.useHonest()
    #expect((rig.world.now - start).seconds < 5)
    rig.world.run(for: .seconds(100))
    for (number, token) in tokens.enumerated() {
      let outcome: HostError = number % 4 == 1 ? .att(.attributeNotFound, handle: 3) : .attTimeout
      #expect(rig.result(of: token) == .failure(outcome), "vice \(number % 4)")
    }
    for peer in crowd { try rig.part(peer.address) }
    try rig.part(HostileWorld.honest)
    try rig.expectUnharmed()
  }
}
