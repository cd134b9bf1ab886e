import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("Addresses of hosts that are not on this link")
struct UnicastAddressesTests {
  private let host: DNSName = "printer.example.com."
  private let one = InetAddress.v4(Inet4Address(192, 0, 2, 1))
  private let other = InetAddress.v4(Inet4Address(192, 0, 2, 2))
  private let six = InetAddress.v6(Inet6Address(high: 0x2001_0DB8 << 32, low: 1))
  private let answerTime = TimeSpan.seconds(60)

  private func query(
    _ versions: Set<IPVersion> = [.v4, .v6], _ options: QueryOptions = QueryOptions()
  ) throws -> UnicastAddresses {
    try #require(UnicastAddresses(.addresses(host, versions: versions), options))
  }

  private func act(
    _ query: inout UnicastAddresses, _ event: UnicastAddresses.Event, at now: Instant = .zero
  ) -> [UnicastAddresses.Action] {
    var actions: [UnicastAddresses.Action] = []
    query.handle(event, now: now, into: &actions)
    return actions
  }

  private func wake(_ query: inout UnicastAddresses, at now: Instant) -> [UnicastAddresses.Action] {
    var actions: [UnicastAddresses.Action] = []
    query.wake(now: now, into: &actions)
    return actions
  }

  private func added(_ address: InetAddress, more: Bool = false) -> UnicastAddresses.Action {
    .deliver(.addressAdded(address, ttlSeconds: 60), moreComing: more)
  }

  @Test("only addresses in other domains are for the resolver, unless the link is to be asked")
  func scope() {
    let isForResolver = { (request: QueryRequest, options: QueryOptions) in
      UnicastAddresses(request, options) != nil
    }
    #expect(isForResolver(.addresses(host, versions: [.v4]), QueryOptions()))
    #expect(
      !isForResolver(.addresses(host, versions: [.v4]), QueryOptions(reachesBeyondLink: true)))
    #expect(!isForResolver(.addresses("printer.local.", versions: [.v4]), QueryOptions()))
    #expect(!isForResolver(.records(host, .a), QueryOptions()))
  }

  @Test("the resolver is asked at once, and again every minute; what has changed is reported")
  func changes() throws {
    var query = try query()
    #expect(act(&query, .begun) == [])
    #expect(wake(&query, at: .zero) == [.lookUp("printer.example.com")])
    #expect(query.lookUpAt == nil)
    #expect(act(&query, .answered([six, one])) == [added(six, more: true), added(one)])
    #expect(query.lookUpAt == Instant.zero + answerTime)
    #expect(wake(&query, at: .zero + .seconds(59)) == [])
    #expect(wake(&query, at: .zero + answerTime) == [.lookUp("printer.example.com")])
    #expect(act(&query, .answered([one, six])) == [])
    #expect(
      act(&query, .answered([other])) == [
        .deliver(.addressRemoved(one), moreComing: true),
        .deliver(.addressRemoved(six), moreComing: true), added(other, more: true),
        .deliver(.addressAbsent(.v6), moreComing: false),
      ])
    #expect(act(&query, .answered([other])) == [])
  }

  @Test("known addresses are removed only when the resolver has none twice in a row")
  func failing() throws {
    var query = try query([.v4])
    _ = act(&query, .begun)
    _ = wake(&query, at: .zero)
    #expect(act(&query, .answered([one])) == [added(one)])
    #expect(act(&query, .answered([])) == [])
    #expect(query.lookUpAt == Instant.zero + UnicastAddresses.Limits.doubtPause)
    #expect(act(&query, .answered([one])) == [])
    #expect(act(&query, .answered([])) == [])
    #expect(
      act(&query, .answered([])) == [
        .deliver(.addressRemoved(one), moreComing: true),
        .deliver(.addressAbsent(.v4), moreComing: false),
      ])
  }

  @Test("a host that no resolver knows has no address, and is asked for again")
  func unknown() throws {
    var query = try query([.v4])
    _ = act(&query, .begun)
    _ = wake(&query, at: .zero)
    #expect(act(&query, .answered([])) == [.deliver(.addressAbsent(.v4), moreComing: false)])
    #expect(wake(&query, at: .zero + answerTime) == [.lookUp("printer.example.com")])
    #expect(act(&query, .answered([six, one]), at: .zero + answerTime) == [added(one)])
  }

  @Test("a look-up for which there was no room keeps the time at which it was due")
  func busy() throws {
    var query = try query()
    _ = act(&query, .begun, at: .zero + .seconds(1))
    for second in 1...3 {
      let now = Instant.zero + .seconds(Int64(second))
      #expect(wake(&query, at: now) == [.lookUp("printer.example.com")])
      #expect(act(&query, .busy, at: now) == [])
      #expect(query.lookUpAt == .zero + .seconds(1))
    }
  }

  @Test("a query with a timeout ends then, also while the resolver is silent")
  func timeout() throws {
    var query = try query([.v4], QueryOptions(timeout: .seconds(5)))
    _ = act(&query, .begun)
    #expect(wake(&query, at: .zero) == [.lookUp("printer.example.com")])
    #expect(query.endsAt == .zero + .seconds(5))
    #expect(wake(&query, at: .zero + .seconds(4)) == [])
    #expect(
      wake(&query, at: .zero + .seconds(5)) == [.deliver(.failed(.timedOut), moreComing: false)])
    #expect(query.endsAt == nil)
  }

  @Test("ten thousand addresses are cut to the maximum, and doubles count once")
  func flood() throws {
    var query = try query([.v4])
    _ = act(&query, .begun)
    _ = wake(&query, at: .zero)
    let many = (0..<10_000).map { InetAddress.v4(Inet4Address(rawValue: UInt32($0 / 2))) }
    let actions = act(&query, .answered(many))
    #expect(actions.count == UnicastAddresses.Limits.addressesMax)
    #expect(actions.first == added(many[0], more: true))
  }

  @Test("names that are no host's are not looked up", arguments: [".", "a b.com.", #"\000.com."#])
  func oddNames(name: DNSName) throws {
    var query = try #require(
      UnicastAddresses(.addresses(name, versions: []), QueryOptions()))
    #expect(
      act(&query, .begun) == [
        .deliver(.addressAbsent(.v4), moreComing: true),
        .deliver(.addressAbsent(.v6), moreComing: false),
      ])
  }
}
