import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import GATTMachines
@testable import PairingMachines

@Suite("Tables that peers and clients fill")
struct TableBoundTests {
  private let start = Instant.zero

  @Test("the table of refused peers forgets the one that may pair again soonest")
  func pairingAttempts() {
    var attempts = PairingAttempts()
    let most = UInt64(PairingAttempts.Limits.peersMax)
    // The first has failed twice, so that others may pair again before it.
    attempts.failed(.peer(1), now: start)
    for number in 1...most { attempts.failed(.peer(number), now: start) }
    for number in 1...most { #expect(attempts.isBlocked(.peer(number), now: start)) }
    attempts.failed(.peer(most + 1), now: start)
    let free = (1...(most + 1)).filter { !attempts.isBlocked(.peer($0), now: start) }
    #expect(free == [2])
  }

  @Test(
    "dropped values are reported for a limited number of characteristics, and counted beyond it")
  func losses() {
    var backlog = EventBacklog()
    backlog.clientOpened(.one)
    let most = EventBacklog.Limits.lossesMax
    for _ in 0..<2 {
      for handle in 0...most {
        backlog.valueDropped(.notification(.peer(1), handle: UInt16(handle)), for: .one)
      }
    }
    #expect(backlog.droppedValueCount == 2 * (most + 1))
    // Those over a link that the client doesn't know are not lost.
    #expect(backlog.takeLosses(of: .one) { _ in false }.isEmpty)
    let losses = backlog.takeLosses(of: .one) { $0 == .peer(1) }
    #expect(losses.count == most && losses.allSatisfy { $0.count == 2 })
    // There is room again.
    backlog.valueDropped(.write(.peer(1), handle: 1), for: .one)
    #expect(backlog.takeLosses(of: .one) { _ in true }.count == 1)
  }

  @Test(
    "the counts of events and packets agree, whatever clients and links come, go and cause",
    arguments: 0..<20)
  func backlog(_ seed: UInt64) {
    var rng = SeededGenerator(seed: seed)
    var backlog = EventBacklog()
    backlog.controllerStarted(usesHostFlowControl: seed % 2 == 0)
    let event = HostEvent.valuesDropped(.peer(1), handle: 1, count: 1)
    var slowCount = 0
    for step in 0..<600 {
      let id = ClientID(rawValue: .random(in: 0..<3, using: &rng))
      let handle = UInt16.random(in: 0..<3, using: &rng)
      switch Int.random(in: 0..<20, using: &rng) {
      case 0...2: backlog.clientOpened(id)
      case 3: backlog.clientClosed(id)
      case 4...6:
        if !backlog.links.contains(where: { $0.handle == handle }) { backlog.linkOpened(handle) }
      case 7: backlog.linkClosed(handle)
      case 8: backlog.linkLost(handle, by: id)
      case 9: backlog.linkUsed(handle, by: id)
      case 10...12: for _ in 0..<700 { backlog.delivered(event, to: id, causedBy: handle) }
      case 13...14: backlog.handled(.random(in: 0..<900, using: &rng), by: id, now: start)
      case 15...16: for _ in 0..<90 { backlog.received(handle) }
      case 17: backlog.receivedStray(UInt16(9) + handle)
      case 18: backlog.valueDropped(.notification(.peer(1), handle: handle), for: id)
      default: _ = backlog.nextCompletion()
      }
      if backlog.isSlow(id) { slowCount += 1 }
      let violations = backlog.violations()
      #expect(violations.isEmpty, "after step \(step) of seed \(seed)")
    }
    #expect(slowCount > 0)
  }

  private static func bond(_ number: Int) -> Bond {
    Bond(
      identity: .peer(UInt64(number)), centralKey: nil, peripheralKey: nil, isAuthenticated: true,
      isSecureConnections: true)
  }

  @Test("a host has so many bonds, wherever they come from, and one for a peer that has one fits")
  func bonds() {
    let most = BondTable.Limits.bondsMax
    let many = (0..<most + 5).map(Self.bond)
    var table = BondTable()
    table.load(many)
    #expect(table.bonds.count == most)
    let isAdded = table.store(Self.bond(most + 1))
    let isReplaced = table.store(Self.bond(3))
    #expect(!isAdded && isReplaced && table.bonds.count == most)
    let gone = table.replace(by: many)
    #expect(gone.isEmpty && table.bonds.count == most)
    #expect(table.violations(perTable: most).isEmpty)
  }

  @Test
  func `A table that contradicts itself is found, and each table has its turn`() {
    var host = HostMachine(random: SeededGenerator(seed: 1))
    var checked: [Int] = []
    for _ in 0..<HostMachine.tableCount {
      host.assertInvariants()
      checked.append(host.checkedTable)
      #expect(host.violations(ofTable: host.checkedTable).isEmpty)
    }
    #expect(checked.sorted() == [Int](0..<HostMachine.tableCount))
    host.links.orphans.add(1, denialsLeft: .max, now: start)
    let contradictions = checked.flatMap { host.violations(ofTable: $0) }
    #expect(contradictions == ["an orphan waits for \(Int.max) denials"])
  }

  @Test("the results of a limited number of public keys are awaited at a time")
  func keyComputations() throws {
    let key = try #require(SMPCoordinate([UInt8](repeating: 1, count: 32)))
    let own = OwnOutOfBandData(privateKey: key, random: SMPValue(number: 1))
    let request = PendingRequest(client: .one, token: RequestToken(rawValue: 1))
    let most = UInt64(OutOfBandTable.Limits.computationsMax)
    var table = OutOfBandTable()
    for number in 0..<most {
      let isAwaited = table.computes(own, as: number, for: request)
      #expect(isAwaited)
    }
    let isOneMore = table.computes(own, as: most, for: request)
    #expect(!isOneMore)
    _ = table.computed(0, .invalidKey)
    let isAwaited = table.computes(own, as: most, for: request)
    #expect(isAwaited)
  }

  @Test(
    "clients subscribe to so many characteristics of a peer, and another takes an ended one's place"
  )
  func subscriptions() {
    let most = UInt16(SubscriptionTable.Limits.subscriptionsMax)
    var table = SubscriptionTable()
    func ask(
      _ isOn: Bool, _ handle: UInt16, from client: ClientID = .one, of requester: Requester = .host
    ) -> HostError? {
      let target = SubscriptionTarget(
        valueHandle: handle, configurationHandle: handle + 1, usesIndications: false)
      let request = PendingRequest(client: client, token: RequestToken(rawValue: 1))
      guard case .failure(let error)? = table.request(isOn, target, request, of: requester) else {
        return nil
      }
      return error
    }
    for handle in 1...most { #expect(ask(true, handle) == nil) }
    #expect(ask(true, most + 1) == .limitReached("subscriptions"))
    #expect(ask(true, most, from: .two) == nil, "another client of the same one")
    let others = [ClientID.two, .three].map { Requester.client($0) }
    for handle in 1...most {
      #expect(ask(true, most + handle, from: .two, of: others[0]) == nil)
    }
    let room = ask(true, 3 * most, from: .three, of: others[1])
    #expect(room == nil, "other programs that take all leave a third one its share")
    table.remove(in: HandleRange(1, 1))
    #expect(ask(true, 3 * most + 1) == .limitReached("subscriptions"))
  }

  @Test("a program that repeats its subscription while the peer is silent refuses no other's")
  func waitingSubscriptions() {
    var table = SubscriptionTable()
    let target = SubscriptionTarget(
      valueHandle: 1, configurationHandle: 2, usesIndications: false)
    func ask(_ client: ClientID) -> Result<HostReply, HostError>? {
      let request = PendingRequest(client: client, token: RequestToken(rawValue: 1))
      return table.request(true, target, request, of: .client(client))
    }
    for _ in 0..<SubscriptionTable.Limits.requestsMax { #expect(ask(.one) == nil) }
    #expect(ask(.one) == .failure(.limitReached("waiting subscriptions")))
    #expect(ask(.two) == nil)
  }

  @Test("links that the controller keeps are bounded, and each is ended again until it is gone")
  func orphanedLinks() {
    let most = LinkTable.Limits.linksMax
    var orphans = OrphanedLinks()
    for handle in 0..<UInt16(most + 10) { orphans.add(handle, now: start) }
    #expect(orphans.count == most)
    orphans.remove(0)
    orphans.add(UInt16(most), now: start)
    #expect(orphans.contains(UInt16(most)))
  }

  @Test("a held link keeps a limited number of packets, and a limited number of links are held")
  func heldLinks() {
    func report(_ handle: UInt16) -> LinkReport {
      LinkReport(
        LEConnectionComplete(
          handle: handle, role: .peripheral, peer: PeerAddress(.peer(1)), timing: .usual))
    }
    var held = HeldLinks()
    for handle in 0..<UInt16(HeldLinks.Limits.linksMax) {
      let isHeld = held.hold(report(handle), of: .peer(1), oldTimeout: .seconds(1), now: start)
      #expect(isHeld)
    }
    let isOneMore = held.hold(report(99), of: .peer(1), oldTimeout: .seconds(1), now: start)
    #expect(!isOneMore)
    let packet = ACLHeader.packet(handle: 0, boundary: .firstFlushable, payload: [1])
    let kept = (0...HeldLinks.Limits.packetsMax).map { _ in held.keep(packet, at: 0) }
    #expect(kept.count { $0 } == HeldLinks.Limits.packetsMax && kept.last == false)
  }

  @Test("the table of wanted peers refuses more than its limit, and counts a peer once")
  func wantedPeers() {
    let most = UInt64(Connector.Limits.pendingMax)
    var connector = Connector()
    func want(_ number: UInt64) -> Bool {
      connector.add(.peer(number), .default, notBefore: start)
    }
    for number in 0..<most { #expect(want(number)) }
    #expect(!want(most) && want(0))
    connector.remove(.peer(0))
    #expect(want(most))
  }

  @Test(
    "packets of so many connections that the host doesn't know are completed; of more they aren't")
  func strays() {
    var backlog = EventBacklog()
    backlog.controllerStarted(usesHostFlowControl: true)
    for handle in 0..<200 as Range<UInt16> { backlog.receivedStray(handle) }
    let most = EventBacklog.Limits.connectionsPerCommand / 2
    let completion = backlog.nextCompletion()
    #expect(completion?.packets.map(\.handle) == (0..<UInt16(most)).map { $0 })
    #expect(backlog.nextCompletion() == nil)
  }

  @Test("what is remembered of a peer's attributes ends at a bound")
  func database() {
    var database = RemoteDatabase()
    for number in 0..<300 as Range<UInt16> {
      let range = HandleRange(number * 20 + 1, number * 20 + 20)
      let found = (1...9).map {
        RemoteDescriptor(uuid: BluetoothUUID(0x2900 + $0), handle: range.start + $0)
      }
      database.learn(.discoverDescriptors(in: range), .descriptors(found))
    }
    let known = (0..<300 as Range<UInt16>).count {
      database.answer(.discoverDescriptors(in: HandleRange($0 * 20 + 1, $0 * 20 + 20))) != nil
    }
    // Each has ten entries: the descriptors, and itself.
    #expect(known == GATTLimits.rememberedMax / 10)
  }
}
