import ARPWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("Conflicts about an IPv4 link-local address")
struct LinkLocalConflictTests {
  private func reply(_ address: Inet4Address, to mac: MACAddress) -> ARPPacket {
    ARPPacket(
      .reply, senderHardware: .other, senderAddress: address, targetHardware: mac,
      targetAddress: .any)
  }

  @Test(
    "F6: any packet of a host that has the candidate, up to 2 s after the last probe, ends it",
    arguments: [1, 2, 3], [ARPPacket.Operation.request, .reply])
  func conflictWhileProbing(probes: Int, operation: ARPPacket.Operation) throws {
    var rig = LinkLocalRig.started()
    rig.pass(untilSent: probes)
    if probes == 3 { rig.pass(.milliseconds(1900)) }
    let candidate = try #require(rig.address)
    rig.receive(
      ARPPacket(
        operation, senderHardware: .other, senderAddress: candidate,
        targetAddress: Inet4Address(169, 254, 3, 3)))
    let next = try #require(rig.address)
    #expect(next != candidate)
    #expect(!rig.isClaimed)
    rig.pass(.seconds(15))
    #expect(rig.isClaimed)
    #expect(rig.address == next)
    let actions = rig.actions.map(\.action)
    #expect(!actions.contains(.claim(candidate)))
    #expect(actions.filter { $0 == .conflicted(candidate, with: .other) }.count == 1)
  }

  @Test("F7: another host's probe for the candidate ends it, our own that comes back does not")
  func simultaneousProbes() throws {
    var rig = LinkLocalRig.started()
    rig.pass(untilSent: 1)
    let candidate = try #require(rig.address)
    rig.receive(.probe(for: candidate, from: rig.machine.hardware))
    #expect(rig.address == candidate)
    rig.receive(.probe(for: Inet4Address(169, 254, 9, 9), from: .other))
    rig.receive(
      ARPPacket(
        .request, senderHardware: .other, senderAddress: Inet4Address(169, 254, 9, 9),
        targetAddress: candidate))
    #expect(rig.address == candidate, "who only looks for the candidate does not want it")
    rig.receive(.probe(for: candidate, from: .other))
    #expect(rig.address != candidate)
  }

  @Test("F8: after ten conflicts an address is tried once in 60 s, until one was held for long")
  func rateLimit() throws {
    var rig = LinkLocalRig.started()
    var attempts: [Instant] = []
    while rig.now < .zero + .seconds(3600) {
      rig.pass(untilSent: attempts.count + 1)
      attempts.append(rig.now)
      rig.receive(reply(try #require(rig.address), to: rig.machine.hardware))
    }
    let gaps = zip(attempts.dropFirst(), attempts).map { ($0 - $1).seconds }
    #expect(gaps.prefix(9).allSatisfy { $0 < 2 })
    #expect(gaps.dropFirst(9).allSatisfy { $0 >= 60 })
    #expect((60...75).contains(attempts.count))
    rig.pass(.seconds(200))
    #expect(rig.isClaimed)
    let held = try #require(rig.address)
    rig.receive(.announcement(of: held, from: .other))
    rig.receive(.announcement(of: held, from: .other))
    rig.pass(.seconds(10))
    #expect(rig.isClaimed, "conflicts of long ago slow nobody down")
  }

  @Test("F10: an address is defended with one announcement, and given up if disputed within 10 s")
  func defence() throws {
    var rig = LinkLocalRig.claimed()
    let address = try #require(rig.address)
    let defence = LinkLocalMachine.Action.broadcast(
      .announcement(of: address, from: rig.machine.hardware))
    rig.receive(reply(address, to: rig.machine.hardware))
    let told = LinkLocalMachine.Action.defended(address, against: .other)
    #expect(rig.actions.map(\.action) == [defence, told])
    rig.pass(.seconds(5))
    rig.receive(reply(address, to: rig.machine.hardware))
    #expect(
      rig.actions.dropFirst(2).prefix(2).map(\.action) == [
        .resetConnections(address), .release(address, .conflict(with: .other)),
      ])
    rig.pass(.seconds(20))
    #expect(rig.isClaimed)
    #expect(rig.address != address)
  }

  @Test("F10: disputes that are 11 s apart are each answered, and the address is kept")
  func defenceAgain() throws {
    var rig = LinkLocalRig.claimed()
    let address = try #require(rig.address)
    for count in 1...5 {
      rig.receive(.announcement(of: address, from: .other))
      #expect(rig.sent.count == count)
      rig.pass(.seconds(11))
    }
    #expect(rig.address == address)
    #expect(rig.isClaimed)
  }

  @Test("F10: a host that does not defend gives up at the first conflict")
  func surrender() throws {
    var rig = LinkLocalRig.claimed()
    rig.machine.defendsAddress = false
    let address = try #require(rig.address)
    rig.receive(.announcement(of: address, from: .other))
    #expect(rig.sent.isEmpty)
    #expect(rig.address != address)
    #expect(!rig.isClaimed)
  }

  @Test("F17: connections are reset before an address is given up for a conflict")
  func connections() throws {
    var rig = LinkLocalRig.claimed()
    let address = try #require(rig.address)
    rig.receive(.announcement(of: address, from: .other))
    rig.receive(.announcement(of: address, from: .other))
    let actions = rig.actions.map(\.action)
    let reset = try #require(actions.firstIndex(of: .resetConnections(address)))
    #expect(actions[reset + 1] == .release(address, .conflict(with: .other)))
  }

  @Test("our own packets that come back are no conflict")
  func echo() throws {
    var rig = LinkLocalRig.claimed()
    let address = try #require(rig.address)
    for _ in 0..<10 { rig.receive(.announcement(of: address, from: rig.machine.hardware)) }
    #expect(rig.actions.isEmpty)
  }

  @Test("F11: a request for the address is answered by broadcast, also a probe")
  func replies() throws {
    var rig = LinkLocalRig.claimed()
    let address = try #require(rig.address)
    let asker = Inet4Address(169, 254, 5, 5)
    rig.receive(
      ARPPacket(.request, senderHardware: .other, senderAddress: asker, targetAddress: address))
    let answer = ARPPacket(
      .reply, senderHardware: rig.machine.hardware, senderAddress: address,
      targetHardware: .other, targetAddress: asker)
    #expect(rig.actions.map(\.action) == [.broadcast(answer)])
    rig.pass(.seconds(1))
    rig.receive(.probe(for: address, from: .other))
    #expect(rig.sent.last?.packet.operation == .reply)
    #expect(rig.sent.last?.packet.senderAddress == address)
    rig.machine.answersRequests = false
    rig.pass(.seconds(1))
    rig.receive(.probe(for: address, from: .other))
    #expect(rig.sent.count == 2)
  }

  @Test("a flood of questions is answered ten times a second")
  func flood() throws {
    var rig = LinkLocalRig.claimed()
    let address = try #require(rig.address)
    for number in 0..<10_000 {
      rig.receive(
        ARPPacket(
          .request, senderHardware: MACAddress(rawValue: UInt64(number) + 100),
          senderAddress: Inet4Address(169, 254, 5, 5), targetAddress: address))
      rig.pass(.microseconds(100))
    }
    #expect((9...12).contains(rig.sent.count))
    #expect(rig.isClaimed)
  }

  @Test("two hosts that want the same address settle on different ones", arguments: 1...200)
  func twoHosts(_ seed: UInt64) {
    let wanted = Inet4Address(169, 254, 10, 10)
    var link = SimulatedLink(count: 2, remembered: [wanted, wanted], seed: seed)
    link.run(until: .zero + .seconds(300))
    #expect(link.held.compactMap { $0 }.count == 2, "seed \(seed)")
    #expect(link.held[0] != link.held[1], "seed \(seed)")
  }

  @Test("fifty hosts that want seven addresses settle on fifty", arguments: 1...4)
  func fiftyHosts(_ seed: UInt64) {
    let wanted = (0..<50).map { Inet4Address(169, 254, 10, UInt8($0 % 7)) }
    var link = SimulatedLink(count: 50, remembered: wanted, seed: seed)
    link.run(until: .zero + .seconds(300))
    #expect(Set(link.held.compactMap { $0 }).count == 50, "seed \(seed)")
  }

  @Test("two links that become one end with different addresses", arguments: 1...50)
  func joinedLinks(_ seed: UInt64) {
    let wanted = Inet4Address(169, 254, 10, 10)
    var link = SimulatedLink(count: 2, remembered: [wanted, wanted], seed: seed)
    link.lossProbability = 1
    link.run(until: .zero + .seconds(20))
    #expect(link.held == [wanted, wanted])
    link.lossProbability = 0
    link.run(until: .zero + .seconds(120))
    #expect(Set(link.held.compactMap { $0 }).count == 2, "seed \(seed)")
  }
}
