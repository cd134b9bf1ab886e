import Essentials
import Testing

@testable import PortSharing

@Suite("The search for an owner")
struct OwnerSearchTests {
  private var now = Instant.zero

  private mutating func act(
    _ search: inout OwnerSearch, _ event: OwnerSearch.Event
  ) -> [OwnerSearch.Action] {
    var actions: [OwnerSearch.Action] = []
    search.handle(event, now: now, into: &actions)
    return actions
  }

  private mutating func wake(_ search: inout OwnerSearch) -> [OwnerSearch.Action] {
    guard let due = search.nextWake else { return [] }
    now = due
    var actions: [OwnerSearch.Action] = []
    search.wake(now: now, into: &actions)
    return actions
  }

  private func search(_ addressCount: Int) -> OwnerSearch {
    OwnerSearch(addressCount: addressCount, rng: SeededGenerator(seed: 1))
  }

  /// A search that follows an owner.
  private mutating func following() -> OwnerSearch {
    var search = search(1)
    _ = act(&search, .begin)
    #expect(act(&search, .connected(.isThere)) == [.greet])
    #expect(act(&search, .welcomed) == [.follow])
    return search
  }

  @Test("the first host binds the last address, after it tried the others")
  mutating func first() {
    var search = search(2)
    #expect(act(&search, .begin) == [.connect(0)])
    #expect(act(&search, .connected(.noOwner)) == [.connect(1)])
    #expect(act(&search, .connected(.noOwner)) == [.bind])
    #expect(act(&search, .bound(.isOurs)) == [.runLocally(nil)])
    #expect(search.nextWake == nil)
  }

  @Test("a host that was slower in binding the address tries again a moment later")
  mutating func slower() {
    var search = search(1)
    _ = act(&search, .begin)
    _ = act(&search, .connected(.noOwner))
    #expect(act(&search, .bound(.isTaken)) == [])
    #expect(wake(&search) == [.connect(0)])
    #expect(now <= Instant.zero + OwnerSearch.Limits.electionPauseMax)
    #expect(act(&search, .connected(.isThere)) == [.greet])
  }

  @Test("a host without an address, or to which the system allows none, runs by itself")
  mutating func impossible() {
    var without = search(0)
    #expect(act(&without, .begin) == [.runLocally(.impossible)])
    var forbidden = search(2)
    _ = act(&forbidden, .begin)
    #expect(act(&forbidden, .connected(.impossible)) == [.connect(1)])
    #expect(act(&forbidden, .connected(.impossible)) == [.runLocally(.impossible)])
  }

  @Test("an untrusted user at root's address is skipped, at the own address avoided")
  mutating func strangers() {
    var search = search(2)
    _ = act(&search, .begin)
    #expect(act(&search, .connected(.untrustedUser(userID: 5))) == [.connect(1)])
    #expect(
      act(&search, .connected(.untrustedUser(userID: 5))) == [
        .runLocally(.untrustedUser(userID: 5))
      ])
  }

  @Test("an owner that does not answer because it was stopped is left")
  mutating func stopped() {
    var search = search(1)
    _ = act(&search, .begin)
    _ = act(&search, .connected(.isThere))
    #expect(act(&search, .stopped) == [.disconnect, .runLocally(.silence)])
    search = following()
    #expect(act(&search, .stopped) == [], "nobody asked it anything")
    #expect(wake(&search) == [.ping])
    #expect(wake(&search) == [.inspect])
    #expect(act(&search, .stopped) == [.disconnect, .runLocally(.silence)])
  }

  @Test("an owner that works is given its time, but not for ever")
  mutating func silentFromTheBeginning() {
    var search = search(1)
    _ = act(&search, .begin)
    _ = act(&search, .connected(.isThere))
    for _ in 1..<OwnerSearch.Limits.inspectionsMax { #expect(wake(&search) == [.inspect]) }
    var slow = search
    #expect(act(&slow, .welcomed) == [.follow])
    #expect(wake(&search) == [.disconnect, .runLocally(.silence)])
    #expect(
      now == Instant.zero + OwnerSearch.Limits.responseTimeout
        * Int64(OwnerSearch.Limits.inspectionsMax))
    #expect(act(&search, .welcomed) == [], "too late")
  }

  @Test("an owner that falls silent is asked, and left if it does not answer")
  mutating func silentLater() {
    var search = following()
    now = now + .seconds(20)
    #expect(act(&search, .messageReceived) == [])
    #expect(wake(&search) == [.ping])
    #expect(now == Instant.zero + .seconds(20) + OwnerSearch.Limits.silence)
    #expect(wake(&search) == [.inspect])
    #expect(act(&search, .messageReceived) == [])
    #expect(wake(&search) == [.ping])
    for _ in 1..<OwnerSearch.Limits.inspectionsMax { #expect(wake(&search) == [.inspect]) }
    #expect(wake(&search) == [.disconnect, .runLocally(.silence)])
  }

  @Test("a host that is refused, or gets invalid messages, runs by itself for good")
  mutating func rejected() {
    for reason in OwnerMessage.RejectionReason.allCases where reason != .tooManyClients {
      var search = following()
      #expect(
        act(&search, .rejected(reason)) == [.disconnect, .runLocally(.rejected(reason))])
      #expect(act(&search, .lost) == [] && search.nextWake == nil)
    }
    var search = following()
    #expect(act(&search, .distrusted) == [.disconnect, .runLocally(.invalidMessages)])
  }

  @Test("an owner with too many clients gets no second responder beside it, and is tried again")
  mutating func tooManyClients() {
    var search = following()
    #expect(act(&search, .rejected(.tooManyClients)) == [.disconnect, .refuse])
    #expect(act(&search, .lost) == [] && search.nextWake == nil)
    #expect(act(&search, .begin) == [.connect(0)])
    #expect(act(&search, .begin) == [])
    var attempts = 1
    var actions: [OwnerSearch.Action] = []
    repeat {
      actions = act(&search, .connected(.busy))
      if actions.isEmpty { #expect(wake(&search) == [.connect(0)]) }
      attempts += 1
    } while actions.isEmpty && attempts < 1_000
    #expect(actions == [.refuse])
    #expect(act(&search, .begin) == [.connect(0)])
  }

  @Test("a host that cannot connect tries less and less often, and then no more")
  mutating func busy() {
    var search = search(1)
    _ = act(&search, .begin)
    var attempts = 1
    while act(&search, .connected(.busy)) == [] {
      attempts += 1
      #expect(wake(&search) == [.connect(0)])
    }
    #expect(attempts == OwnerSearch.Limits.attemptsMax)
    #expect(now > Instant.zero + .seconds(3) && now < Instant.zero + .seconds(15))
  }

  @Test("a host without a free descriptor tries again, and then runs by itself")
  mutating func noDescriptors() {
    var search = search(1)
    _ = act(&search, .begin)
    _ = act(&search, .connected(.noOwner))
    var attempts = 1
    while act(&search, .bound(.notNow)) == [] {
      attempts += 1
      #expect(wake(&search) == [.connect(0)])
      #expect(act(&search, .connected(.noOwner)) == [.bind])
    }
    #expect(attempts == OwnerSearch.Limits.attemptsMax)
  }

  @Test("an address that is bound by a process that does not answer is given up before long")
  mutating func squatted() {
    var search = search(1)
    _ = act(&search, .begin)
    _ = act(&search, .connected(.noOwner))
    while act(&search, .bound(.isTaken)) == [] {
      #expect(wake(&search) == [.connect(0)])
      #expect(act(&search, .connected(.noOwner)) == [.bind])
    }
    #expect(now > Instant.zero + .milliseconds(200) && now < Instant.zero + .seconds(3))
  }

  @Test("another user's address that accepts no connection is skipped before long")
  mutating func shut() {
    var search = search(2)
    _ = act(&search, .begin)
    while act(&search, .connected(.busy)) == [] { #expect(wake(&search) == [.connect(0)]) }
    #expect(now < Instant.zero + .seconds(1))
    #expect(act(&search, .connected(.noOwner)) == [.bind])
    #expect(act(&search, .bound(.isTaken)) == [])
    #expect(wake(&search) == [.connect(0)])
    #expect(act(&search, .connected(.busy)) == [.connect(1)], "not again")
    #expect(act(&search, .connected(.isThere)) == [.greet])
  }

  @Test("clients that know the owner's registrations look for another owner before the others do")
  mutating func informed() {
    let half = OwnerSearch.Limits.informedPauseMax
    for _ in 0..<20 {
      var (search, other) = (following(), following())
      #expect(act(&search, .informed) == [])
      #expect(act(&search, .lost) == [] && act(&other, .lost) == [])
      #expect(search.nextWake.map { $0 <= now + half } == true)
      #expect(other.nextWake.map { $0 > now + half } == true)
      #expect(wake(&search) == [.connect(0)])
      _ = act(&search, .connected(.isThere))
      _ = act(&search, .welcomed)
      #expect(act(&search, .lost) == [])
      #expect(search.nextWake.map { $0 > now + half } == true, "another owner, which told nothing")
    }
  }

  @Test("only an owner whose address has none any more has ended")
  mutating func ended() {
    var search = search(2)
    _ = act(&search, .begin)
    _ = act(&search, .connected(.isThere))
    _ = act(&search, .welcomed)
    _ = act(&search, .lost)
    var other = search
    #expect(wake(&search) == [.connect(0)])
    #expect(act(&search, .connected(.noOwner)) == [.connect(1)])
    #expect(act(&search, .connected(.noOwner)) == [.bind])
    #expect(search.hasOwnerEnded)
    // One that lives, but has no room for this client.
    #expect(wake(&other) == [.connect(0)])
    #expect(act(&other, .connected(.impossible)) == [.connect(1)])
    #expect(act(&other, .connected(.noOwner)) == [.bind])
    #expect(!other.hasOwnerEnded)
  }

  @Test("a host that loses many owners in a short time runs by itself")
  mutating func unsteady() {
    var search = following()
    var losses = 1
    while act(&search, .lost) == [] {
      losses += 1
      #expect(wake(&search) == [.connect(0)])
      _ = act(&search, .connected(.isThere))
      _ = act(&search, .welcomed)
    }
    #expect(losses == OwnerSearch.Limits.lossesMax)
    search = following()
    for _ in 0..<100 {
      #expect(act(&search, .lost) == [])
      #expect(wake(&search) == [.connect(0)])
      _ = act(&search, .connected(.isThere))
      _ = act(&search, .welcomed)
      now = now + .seconds(10)
    }
  }

  @Test("when the owner ends, exactly one of its clients becomes the owner", arguments: 1...20)
  mutating func election(seed: UInt64) {
    var rng = SeededGenerator(seed: seed)
    var searches: [OwnerSearch] = []
    for _ in 0..<50 {
      var search = OwnerSearch(addressCount: 1, rng: rng.fork())
      _ = act(&search, .begin)
      _ = act(&search, .connected(.isThere))
      _ = act(&search, .welcomed)
      _ = act(&search, .lost)
      searches.append(search)
    }
    var owner: Int?
    var followers: Set<Int> = []
    while let next = searches.indices.filter({
      searches[$0].nextWake != nil && !followers.contains($0)
    })
    .min(by: { (searches[$0].nextWake ?? .zero) < (searches[$1].nextWake ?? .zero) }) {
      #expect(wake(&searches[next]) == [.connect(0)])
      // Sometimes another process binds the address between the check and the attempt.
      let sees = owner != nil && rng.unit() < 0.7
      let actions = act(&searches[next], .connected(sees ? .isThere : .noOwner))
      if actions == [.bind] {
        let isFirst = owner == nil
        if isFirst { owner = next }
        #expect(
          act(&searches[next], .bound(isFirst ? .isOurs : .isTaken))
            == (isFirst ? [.runLocally(nil)] : []))
      } else {
        #expect(actions == [.greet])
        #expect(act(&searches[next], .welcomed) == [.follow])
        followers.insert(next)
      }
    }
    #expect(owner != nil && followers.count == 49)
    #expect(now < Instant.zero + .seconds(2))
  }
}
