import DNSWire
import Essentials
import Testing

@testable import DiscoveryMachines

@Suite("The invariants of Multicast DNS")
struct InvariantTests {
  private let address = QuestionKey(Web.host, .a)

  // MARK: The cache

  /// Two records of one name without a query, one of another with one.
  private func cache() -> RecordCache {
    var cache = RecordCache(rng: SeededGenerator(seed: 1))
    cache.want(QuestionKey("other.local.", .any), now: .zero)
    for record in [Web.address(1), Web.address(2), Web.address(3, name: "other.local.")] {
      #expect(cache.insert(record, now: .zero) == .added)
    }
    #expect(cache.violations(perTable: .max) == [])
    return cache
  }

  @Test("a record that is not found by its name or its data is found")
  func indices() {
    var cache = cache()
    cache.slotsByName[Web.host] = [1, 0]
    #expect(
      cache.violations(perTable: .max)
        == ["slot 0 is not found by its name", "slot 1 is not found by its name"])
    cache = self.cache()
    cache.slotsByIdentity = [:]
    #expect(cache.violations(perTable: .max).contains("slot 2 is not found by its data"))
    #expect(cache.violations(perTable: .max).contains("there are not 3 records"))
  }

  @Test("a record that may be evicted though there is a query for it is found")
  func wanted() {
    var cache = cache()
    cache.wants[address] = 1
    #expect(
      cache.violations(perTable: .max) == ["slot 0 is not wanted", "slot 1 is not wanted"])
    cache = self.cache()
    cache.oldestIdle = 2
    #expect(
      cache.violations(perTable: .max) == [
        "slot 0 is not in the row of idle records", "slot 2 has a query and may be evicted",
      ])
  }

  @Test("records that no deadline ends are found")
  func deadlines() {
    var cache = cache()
    cache.queue.prune { _, _ in false }
    #expect(cache.violations(perTable: .max).first == "a record is never due")
    #expect(cache.violations(perTable: .max).contains("slot 0 is not queued"))
  }

  @Test("the invariants check a part of a large table, and each record moves the part on")
  func part() {
    var cache = RecordCache(rng: SeededGenerator(seed: 1))
    for number in 0..<100 as Range<UInt8> { _ = cache.insert(Web.address(number), now: .zero) }
    cache.slotsByIdentity = [:]
    let lost = { cache.violations(perTable: 4).filter { $0.hasSuffix("by its data") } }
    let before = lost()
    #expect(before.count == 4)
    cache.lastSerial += 50
    #expect(lost().count == 4 && lost() != before)
  }

  // MARK: The querier

  @Test("a client without a subscription, and one that has a question for nothing, are found")
  func subscriptions() throws {
    var lab = QuerierLab()
    let query = lab.start(.records(Web.host, .a))
    lab.run(.seconds(1))
    lab.hear([Web.address(5)])
    #expect(lab.querier.violations() == [])
    lab.querier.subscriptions = [:]
    #expect(
      lab.querier.violations() == [
        "query \(query.rawValue) has no answers to one of its questions", "0 clients, not 1",
      ])
    lab = QuerierLab()
    lab.start(.records(Web.host, .a))
    lab.querier.clients = [:]
    #expect(
      lab.querier.violations()
        == ["query 1 gets what it doesn't ask for", "0 clients, not 1"])
  }

  @Test("interfaces that are out of order are found")
  func interfaces() {
    var lab = QuerierLab(interfaceCount: 2)
    lab.querier.interfaces.swapAt(0, 1)
    #expect(lab.querier.violations() == ["the interfaces are in no order"])
  }

  // MARK: The responder

  @Test("a registration that probes in no round is found")
  func probing() throws {
    var rig = try ResponderRig.ready()
    let id = try rig.register("Lamp")
    #expect(rig.responder.violations() == [])
    rig.responder.links[existing: ResponderRig.link].probeRounds = []
    #expect(
      rig.responder.violations() == ["registration \(id.rawValue) probes in no round"])
  }

  @Test("records that belong to no registration are found")
  func orphans() throws {
    var rig = try ResponderRig.registered()
    #expect(rig.responder.violations() == [])
    rig.responder.entries[RegistrationID(rawValue: 1)] = nil
    let found = rig.responder.violations()
    #expect(Set(found.map { $0.drop { $0 != "i" } }) == ["is unknown to its registration"])
  }

  @Test("a shared record that would not be found is found")
  func shared() throws {
    var rig = try ResponderRig.registered()
    rig.responder.store.sharedByContent = [:]
    #expect(
      rig.responder.violations().contains { $0.hasSuffix("is not found by its record") })
  }

  @Test("goodbyes without a time, and a link that is not served, are found")
  func links() throws {
    var rig = try ResponderRig.registered()
    rig.responder.links[existing: ResponderRig.link].goodbyes = [.a(.ambit, 1)]
    #expect(rig.responder.violations() == ["goodbyes and their time differ"])
    rig = try ResponderRig.registered()
    rig.responder.linkOrder = []
    #expect(rig.responder.violations() == ["the links and their order differ"])
  }

  // MARK: The whole

  @Test("a responder and a querier with other interfaces are found")
  func whole() throws {
    var machine = try DiscoveryMachine(hostLabel: [104], rng: SeededGenerator(seed: 1))
    var actions: [DiscoveryAction] = []
    machine.handle(
      .interfaceChanged(QuerierLab.interface(1)), now: .zero, into: &actions)
    #expect(machine.violations() == [])
    machine.querier.interfaces = []
    #expect(machine.violations() == ["the responder and the querier have other interfaces"])
  }

  @Test("an address that is held without a link is found")
  func linkLocal() {
    var rig = LinkLocalRig.claimed()
    #expect(rig.machine.violations() == [])
    rig.machine.isLinkUp = false
    #expect(rig.machine.violations() == ["it is at work without need"])
  }
}
