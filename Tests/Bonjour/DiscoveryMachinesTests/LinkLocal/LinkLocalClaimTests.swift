import ARPWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("Getting an IPv4 link-local address")
struct LinkLocalClaimTests {
  @Test("F1: first choices are spread evenly over 169.254.1.0 up to 169.254.254.255")
  func spread() {
    var counts: [Int] = Array(repeating: 0, count: 254)
    let hostCount = 25_400
    for host in 0..<hostCount {
      var addresses = LinkLocalAddresses(
        hardware: MACAddress(rawValue: 0x0200_0000_0000 + UInt64(host)))
      let address = addresses.next()
      #expect(LinkLocalAddresses.range.contains(address))
      counts[Int(address.rawValue >> 8 & 0xFF) - 1] += 1
    }
    let expected = Double(hostCount) / 254
    let chiSquare = counts.reduce(0) {
      $0 + (Double($1) - expected) * (Double($1) - expected) / expected
    }
    // 253 degrees of freedom: 99.9 % of fair draws stay below 325.
    #expect(chiSquare < 325)
    #expect(LinkLocalAddresses.range.lowerBound.description == "169.254.1.0")
    #expect(LinkLocalAddresses.range.upperBound.description == "169.254.254.255")
  }

  @Test("F1: the same hardware address tries the same addresses in the same order")
  func sameHost() {
    for seed in UInt64(1)...1000 {
      let mac = MACAddress(rawValue: seed &* 0x9E37_79B9_7F4A)
      var (first, second) = (LinkLocalAddresses(hardware: mac), LinkLocalAddresses(hardware: mac))
      #expect((0..<4).map { _ in first.next() } == (0..<4).map { _ in second.next() })
    }
    #expect(LinkLocalRig.started(seed: 1).address == LinkLocalRig.started(seed: 2).address)
  }

  @Test("F2: a remembered address is tried first, and a claimed one is remembered")
  func remembered() {
    let address = Inet4Address(169, 254, 77, 7)
    var rig = LinkLocalRig.started(remembered: address)
    #expect(rig.address == address)
    rig.pass(.seconds(15))
    #expect(rig.actions.map(\.action).contains(.remember(address)))
    for useless in [Inet4Address(169, 254, 0, 9), Inet4Address(10, 0, 0, 1)] {
      #expect(LinkLocalRig.started(remembered: useless).address != useless)
    }
  }

  @Test("F3 F16: the address is not announced before probing has succeeded", arguments: 1...20)
  func silence(_ seed: UInt64) throws {
    var rig = LinkLocalRig.started(seed: seed)
    rig.pass(.seconds(20))
    let claim = try #require(
      rig.actions.firstIndex { $0.action == .claim(rig.address ?? .any) })
    for (_, action) in rig.actions[..<claim] {
      guard case .broadcast(let packet) = action else {
        Issue.record("\(action) came before the claim")
        continue
      }
      #expect(packet.isProbe)
    }
    #expect(claim == 3)
  }

  @Test("F4: a probe is broadcast, without a sender's address or a target's hardware address")
  func probe() {
    var rig = LinkLocalRig.started()
    rig.pass(.seconds(1))
    #expect(
      rig.sent.first?.packet
        == ARPPacket(
          .request, senderHardware: rig.machine.hardware, senderAddress: .any,
          targetHardware: .zero, targetAddress: rig.address ?? .any))
  }

  @Test("F5: the first of three probes comes within a second, the others 1 to 2 s after another")
  func probeTimes() {
    var delays: [Double] = []
    var gaps: [Double] = []
    for seed in UInt64(1)...100 {
      var rig = LinkLocalRig.started(seed: seed)
      rig.pass(.seconds(20))
      let probes = rig.sent.filter(\.packet.isProbe).map(\.at)
      #expect(probes.count == 3)
      delays.append((probes[0] - .zero).seconds)
      gaps += [(probes[1] - probes[0]).seconds, (probes[2] - probes[1]).seconds]
    }
    #expect(delays.allSatisfy { (0...1).contains($0) })
    #expect(gaps.allSatisfy { (1...2).contains($0) })
    for samples in [delays, gaps] {
      #expect((samples.max() ?? 0) - (samples.min() ?? 0) > 0.9, "rng decides")
    }
  }

  @Test(
    "F9: an address is announced twice, 2 s apart, and first when 2 s passed since the last probe")
  func announcements() throws {
    var rig = LinkLocalRig.started()
    rig.pass(.seconds(60))
    let address = try #require(rig.address)
    let (probes, rest) = (rig.sent.prefix(3), rig.sent.dropFirst(3))
    #expect(
      rest.map(\.packet)
        == Array(repeating: .announcement(of: address, from: rig.machine.hardware), count: 2))
    let times = rest.map(\.at)
    #expect(times[0] - probes[2].at == .seconds(2))
    #expect(times[1] - times[0] == .seconds(2))
  }

  @Test("F12: an address that is held is not probed for again")
  func noPeriodicProbes() {
    var rig = LinkLocalRig.claimed()
    rig.pass(.seconds(86_400))
    #expect(rig.actions.isEmpty)
    #expect(rig.machine.nextWake == nil)
  }

  @Test("F13: when the link comes up again, or another, the same address is probed for again")
  func linkUpAgain() throws {
    for events in [[LinkLocalMachine.Event.linkDown, .linkUp], [.linkUp]] {
      var rig = LinkLocalRig.claimed()
      let address = try #require(rig.address)
      for event in events { rig.handle(event) }
      #expect(rig.actions.map(\.action) == [.release(address, .linkChanged)])
      rig.pass(.seconds(20))
      #expect(
        rig.sent.prefix(3).allSatisfy { $0.packet.isProbe && $0.packet.targetAddress == address })
      #expect(rig.address == address)
      #expect(rig.isClaimed)
    }
  }

  @Test("a link that goes down while probing ends it")
  func linkDownWhileProbing() {
    var rig = LinkLocalRig.started()
    rig.pass(untilSent: 2)
    rig.handle(.linkDown)
    #expect(rig.machine.status == .linkDown)
    rig.pass(.seconds(100))
    #expect(rig.sent.count == 2)
    #expect(rig.actions.count == 2)
  }

  @Test("F14: an address that is valid beyond the link ends it, until that is gone")
  func routableAddress() throws {
    var rig = LinkLocalRig.claimed()
    let address = try #require(rig.address)
    rig.handle(.routableAddress(true))
    #expect(rig.actions.map(\.action) == [.release(address, .routableAddress)])
    #expect(rig.machine.status == .routableAddress)
    rig.handle(.linkUp)
    rig.receive(.probe(for: address, from: .other))
    rig.pass(.seconds(100))
    #expect(rig.actions.count == 1)
    rig.handle(.routableAddress(false))
    rig.pass(.seconds(20))
    #expect(rig.address == address)
    #expect(rig.isClaimed)
  }

  @Test("F18: the machines of two interfaces know nothing of each other")
  func twoInterfaces() {
    var (first, second) = (LinkLocalRig.started(), LinkLocalRig(hardware: 0x0200_0000_0002))
    second.handle(.linkUp)
    first.pass(.seconds(15))
    second.pass(.seconds(15))
    let held = second.address
    first.receive(.announcement(of: first.address ?? .any, from: .other))
    first.receive(.announcement(of: first.address ?? .any, from: .other))
    first.pass(.seconds(20))
    second.pass(.seconds(20))
    #expect(second.address == held)
    #expect(second.isClaimed)
  }

  @Test("a machine that was shut down gives its address back and never does anything again")
  func shutDown() throws {
    var rig = LinkLocalRig.claimed()
    let address = try #require(rig.address)
    rig.handle(.shutDown)
    #expect(rig.actions.map(\.action) == [.release(address, .shutDown)])
    for event in [LinkLocalMachine.Event.linkUp, .routableAddress(true), .routableAddress(false)] {
      rig.handle(event)
    }
    rig.pass(.seconds(100))
    #expect(rig.actions.count == 1)
    #expect(rig.machine.status == .shutDown)
  }
}
