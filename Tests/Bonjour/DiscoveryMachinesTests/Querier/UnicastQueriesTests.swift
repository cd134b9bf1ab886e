import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("Queries for the system's resolver")
struct UnicastQueriesTests {
  private let address = InetAddress.v4(Inet4Address(192, 0, 2, 1))
  private var now = Instant.zero
  private var queries = UnicastQueries()

  private mutating func act(_ event: UnicastQueries.Event) -> [UnicastQueries.Action] {
    var actions: [UnicastQueries.Action] = []
    queries.handle(event, now: now, into: &actions)
    return actions
  }

  /// What is due next, and the time is then.
  private mutating func wake() throws -> [UnicastQueries.Action] {
    now = max(now, try #require(queries.nextWake))
    var actions: [UnicastQueries.Action] = []
    queries.wake(now: now, into: &actions)
    return actions
  }

  private mutating func start(
    _ number: Int, timeout: TimeSpan? = nil
  ) throws -> [UnicastQueries.Action] {
    let request = QueryRequest.addresses(
      try DNSName(text: "host-\(number).example.com."), versions: [.v4])
    let query = try #require(UnicastAddresses(request, QueryOptions(timeout: timeout)))
    return act(.started(Self.id(number), query))
  }

  private static func id(_ number: Int) -> QueryID { QueryID(rawValue: UInt64(number)) }

  /// The queries that are looked up.
  private static func numbers(_ actions: [UnicastQueries.Action]) -> [Int] {
    actions.compactMap { action in
      guard case .lookUp(let host, let id) = action else { return nil }
      #expect(host == "host-\(id.rawValue).example.com")
      return Int(id.rawValue)
    }
  }

  private static let placeCount = UnicastQueries.Limits.lookUpsMax
  private static let placeCountInAll = UnicastQueries.Limits.lookUpsInAllMax

  /// Starts queries until no time brings a place.
  private mutating func takeAllPlaces() throws {
    var asked: [Int] = []
    for number in 0..<Self.placeCountInAll { asked += Self.numbers(try start(number)) }
    while queries.nextWake != nil { asked += Self.numbers(try wake()) }
    #expect(asked == Array(0..<Self.placeCountInAll))
  }

  @Test("look-ups wait for a place in the order of their queries, also the later ones of each")
  mutating func inOrder() throws {
    var asked: [Int] = []
    for number in 0..<20 { asked += Self.numbers(try start(number)) }
    #expect(asked == Array(0..<Self.placeCount))
    #expect(queries.nextWake == Instant.zero + UnicastQueries.Limits.placeTime)
    var answered = 0
    while answered < 20 {
      now = now + .milliseconds(1)
      asked += Self.numbers(act(.answered(Self.id(asked[answered]), [address])))
      answered += 1
    }
    #expect(asked == Array(0..<20))
    for _ in 0..<20 {
      asked += Self.numbers(try wake())
      if answered < asked.count { _ = act(.answered(Self.id(asked[answered]), [address])) }
      answered += 1
    }
    #expect(asked == Array(0..<20) + Array(0..<20))
  }

  @Test("a query that is ended while it waits is not looked up, and its entries don't pile up")
  mutating func cancelled() throws {
    for number in 0..<Self.placeCount { _ = try start(number) }
    for number in 100..<10_000 {
      #expect(try start(number, timeout: .seconds(9)) == [])
      #expect(queries.contains(Self.id(number)))
      #expect(act(.stopped(Self.id(number))) == [])
    }
    #expect(queries.entryCount < 1_000)
    #expect(try start(20_000) == [])
    #expect(Self.numbers(act(.answered(Self.id(0), []))) == [20_000])
    _ = act(.allStopped)
    #expect(queries.nextWake == nil && queries.entryCount == 0)
    // Those that were asked for still occupy their places.
    #expect(try start(30_000) == [])
    #expect(Self.numbers(act(.answered(Self.id(1), [address]))) == [30_000])
  }

  @Test("a query with a timeout ends on time, also while it waits for a place")
  mutating func timeout() throws {
    try takeAllPlaces()
    let end = now + .seconds(5)
    #expect(try start(50, timeout: .seconds(5)) == [])
    #expect(try start(51) == [])
    #expect(
      try wake() == [.deliver(Self.id(50), .failed(.timedOut), moreComing: false)])
    #expect(now == end)
    #expect(!queries.contains(Self.id(50)))
    #expect(Self.numbers(act(.answered(Self.id(0), []))) == [51])
  }

  @Test("a look-up that takes long keeps no place from others, until too many of them take long")
  mutating func slow() throws {
    for number in 0..<30 { _ = try start(number) }
    var asked = Self.placeCount
    for round in 1..<Self.placeCountInAll / Self.placeCount {
      #expect(Self.numbers(try wake()) == Array(asked..<asked + Self.placeCount))
      #expect(now == Instant.zero + UnicastQueries.Limits.placeTime * Int64(round))
      asked += Self.placeCount
    }
    #expect(asked == Self.placeCountInAll)
    #expect(queries.nextWake == nil, "no time brings a place")
    let answered = act(.answered(Self.id(3), [address]))
    #expect(Self.numbers(answered) == [], "it has left its place long ago")
    #expect(Self.numbers(try wake()) == [asked])
  }

  @Test("a first look-up comes before renewals, of which there are only a few at once")
  mutating func renewals() throws {
    for number in 0..<5 { _ = try start(number) }
    for number in 0..<5 { #expect(act(.answered(Self.id(number), [])).count == 1) }
    now = now + .seconds(61)
    #expect(Self.numbers(try start(100)) == [100, 0, 1, 2, 3])
    #expect(Self.numbers(try start(101)) == [101])
    #expect(try start(102) == [], "all places are taken")
    #expect(Self.numbers(act(.answered(Self.id(0), [address]))) == [102])
    #expect(Self.numbers(act(.answered(Self.id(1), [address]))) == [4])
  }

  @Test("renewals that take long leave all other places to first look-ups")
  mutating func slowRenewals() throws {
    for number in 0..<Self.placeCount { _ = try start(number) }
    for number in 0..<Self.placeCount { _ = act(.answered(Self.id(number), [address])) }
    #expect(Self.numbers(try wake()) == [0, 1, 2, 3])
    now = now + .seconds(30)
    #expect(queries.nextWake == nil, "only an answer brings a place for a renewal")
    for number in 100..<100 + Self.placeCount {
      #expect(Self.numbers(try start(number)) == [number])
    }
    #expect(try start(200) == [])
  }

  @Test("the first in line is tried again where other parts of the process use the resolver")
  mutating func busy() throws {
    for number in 0..<4 { _ = try start(number) }
    for number in 0..<4 { #expect(act(.busy(Self.id(number))) == []) }
    now = now + .milliseconds(1)
    #expect(try start(4) == [], "it would not have a place either")
    #expect(queries.nextWake == Instant.zero + UnicastQueries.Limits.busyPause)
    #expect(Self.numbers(try wake()) == [0, 1, 2, 3, 4])
    #expect(act(.busy(Self.id(4))) == [])
    #expect(Self.numbers(act(.answered(Self.id(0), [address]))) == [4], "a place became free")
  }

  @Test("queries never contradict themselves, whatever starts, ends and answers", arguments: 0..<20)
  mutating func random(_ seed: UInt64) throws {
    var rng = SeededGenerator(seed: seed)
    var (lookedUp, startedCount): ([Int], Int) = ([], 0)
    for step in 0..<400 {
      switch Int.random(in: 0..<8, using: &rng) {
      case 0...1:
        let timeout =
          Bool.random(using: &rng) ? TimeSpan.seconds(.random(in: 0...90, using: &rng)) : nil
        lookedUp += Self.numbers(try start(startedCount, timeout: timeout))
        startedCount += 1
      case 2 where startedCount > 0:
        lookedUp += Self.numbers(act(.stopped(Self.id(.random(in: 0..<startedCount, using: &rng)))))
      case 3...4 where !lookedUp.isEmpty:
        let number = lookedUp.remove(at: .random(in: 0..<lookedUp.count, using: &rng))
        let addresses = Bool.random(using: &rng) ? [address] : []
        lookedUp += Self.numbers(act(.answered(Self.id(number), addresses)))
      case 5 where !lookedUp.isEmpty:
        let number = lookedUp.remove(at: .random(in: 0..<lookedUp.count, using: &rng))
        lookedUp += Self.numbers(act(.busy(Self.id(number))))
      case 6...7 where queries.nextWake != nil: lookedUp += Self.numbers(try wake())
      default: now = now + .milliseconds(.random(in: 0...900, using: &rng))
      }
      let violations = queries.violations()
      #expect(violations.isEmpty, "after step \(step) of seed \(seed)")
    }
    #expect(startedCount > 50)
  }
}
