import Essentials
import Testing

@testable import PortSharing

@Suite("The search for a hub")
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
    #expect(act(&search, .connected(.connected)) == [.greet])
    #expect(act(&search, .welcomed) == [.follow])
    return search
  }

  @Test("a search is over at once where no hub listens")
  mutating func noHub() {
    var search = search(2)
    #expect(act(&search, .begin) == [.connect(0)])
    #expect(act(&search, .connected(.noOwner)) == [.connect(1)])
    #expect(act(&search, .connected(.noOwner)) == [.runLocally(nil)])
    #expect(search.nextWake == nil)
  }

  @Test("a hub that has ended is waited for until it was silent for five seconds")
  mutating func hubEnded() {
    var search = search(2)
    _ = act(&search, .begin)
    _ = act(&search, .connected(.connected))
    #expect(act(&search, .welcomed) == [.follow])
    #expect(act(&search, .lost) == [])
    let lostAt = now
    var returned = search
    #expect(wake(&returned) == [.connect(0)])
    #expect(act(&returned, .connected(.connected)) == [.greet])
    #expect(act(&returned, .welcomed) == [.follow])
    now = lostAt
    while wake(&search) == [.connect(0)] {
      #expect(act(&search, .connected(.noOwner)) == [.connect(1)])
      let actions = act(&search, .connected(.noOwner))
      if actions == [.runLocally(.impossible)] { break }
      #expect(actions == [])
    }
    #expect(search.nextWake == nil && now - lostAt <= OwnerSearch.Limits.searchTimeout)
  }

  @Test("a host to which the system allows no socket runs by itself")
  mutating func impossible() {
    var forbidden = search(2)
    _ = act(&forbidden, .begin)
    #expect(act(&forbidden, .connected(.impossible)) == [.connect(1)])
    #expect(act(&forbidden, .connected(.impossible)) == [.runLocally(.impossible)])
  }

  @Test("an untrusted user at the first address is skipped, at the last one avoided")
  mutating func strangers() {
    var search = search(2)
    _ = act(&search, .begin)
    #expect(act(&search, .connected(.untrustedUser(userID: 5))) == [.connect(1)])
    #expect(
      act(&search, .connected(.untrustedUser(userID: 5))) == [
        .runLocally(.untrustedUser(userID: 5))
      ])
  }

  @Test("an owner that does not answer the greeting is left after five seconds")
  mutating func silentFromTheBeginning() {
    var search = search(1)
    _ = act(&search, .begin)
    _ = act(&search, .connected(.connected))
    #expect(wake(&search) == [.check])
    #expect(now == Instant.zero + .seconds(5))
    var slow = search
    #expect(act(&slow, .welcomed) == [.follow], "the answer was there, and is read only now")
    #expect(act(&slow, .checked) == [])
    #expect(act(&search, .checked) == [.leave, .runLocally(.silence)])
    #expect(act(&search, .welcomed) == [], "too late")
  }

  @Test("an owner that falls silent is asked, and left five seconds after its last message")
  mutating func silentLater() {
    var search = following()
    #expect(act(&search, .needed(true)) == [])
    now = now + .seconds(1)
    #expect(act(&search, .messageReceived) == [])
    let last = now
    #expect(wake(&search) == [.ping])
    #expect(act(&search, .checked) == [], "it has time to answer")
    var answered = search
    #expect(act(&answered, .messageReceived) == [])
    #expect(wake(&search) == [.check])
    #expect(now == last + .seconds(5))
    var late = search
    #expect(act(&late, .messageReceived) == [] && act(&late, .checked) == [])
    #expect(wake(&late) == [.ping])
    #expect(act(&search, .checked) == [.leave, .runLocally(.silence)])
    now = last
    #expect(wake(&answered) == [.ping], "every time")
  }

  @Test("an owner is left five seconds after a request if it has been silent since before")
  mutating func silentWhenNeeded() {
    var search = following()
    #expect(search.nextWake == now + OwnerSearch.Limits.idleSilence, "it has nothing to do")
    now = now + .seconds(20)
    _ = act(&search, .needed(true))
    #expect(wake(&search) == [.ping])
    #expect(wake(&search) == [.check])
    #expect(act(&search, .checked) == [.leave, .runLocally(.silence)])
    #expect(now == Instant.zero + .seconds(25))
    var idle = following()
    _ = act(&idle, .needed(true))
    _ = act(&idle, .needed(false))
    _ = act(&idle, .messageReceived)
    #expect(idle.nextWake == now + OwnerSearch.Limits.idleSilence)
  }

  @Test("a host that was stopped itself, perhaps with the owner, gives the owner more time, once")
  mutating func stoppedItself() {
    for isGreeting in [true, false] {
      now = .zero
      var search = isGreeting ? search(1) : following()
      if isGreeting {
        _ = act(&search, .begin)
        _ = act(&search, .connected(.connected))
      } else {
        #expect(wake(&search) == [.ping])
      }
      now = now + .seconds(1_000)
      var actions: [OwnerSearch.Action] = []
      search.wake(now: now, into: &actions)
      #expect(actions == [])
      #expect(search.nextWake == now + OwnerSearch.Limits.responseTimeout)
      now = now + .seconds(1_000)
      search.wake(now: now, into: &actions)
      #expect(actions == [.check])
      #expect(act(&search, .checked) == [.leave, .runLocally(.silence)])
    }
  }

  /// What a search was doing when its process was stopped for a long time.
  enum Step: CaseIterable {
    case pausing, connecting, greeting
  }

  @Test(
    "a search whose process was stopped, whatever it was doing, leaves an owner time to answer",
    arguments: Step.allCases)
  mutating func stoppedSearch(step: Step) {
    var search = search(1)
    _ = act(&search, .begin)
    let stop = TimeSpan.seconds(1_000)
    switch step {
    case .pausing:
      #expect(act(&search, .connected(.busy)) == [])
      now = now + stop
      var actions: [OwnerSearch.Action] = []
      search.wake(now: now, into: &actions)
      #expect(actions == [.connect(0)])
    case .connecting: now = now + stop
    case .greeting:
      #expect(act(&search, .connected(.connected)) == [.greet])
      now = now + stop
      #expect(act(&search, .lost) == [])
      #expect(wake(&search) == [.connect(0)])
    }
    let start = now
    #expect(act(&search, .connected(.busy)) == [], "it may only just run again, too")
    #expect(wake(&search) == [.connect(0)])
    #expect(act(&search, .connected(.connected)) == [.greet])
    var silent = search
    #expect(act(&search, .welcomed) == [.follow])
    #expect(wake(&silent) == [.check])
    #expect(now - start > .seconds(2) && now - start <= OwnerSearch.Limits.responseTimeout)
    #expect(act(&silent, .checked) == [.leave, .runLocally(.silence)], "once")
  }

  @Test("however an owner is silent, a search is over after five seconds", arguments: 1...50)
  mutating func anySilence(seed: UInt64) {
    var rng = SeededGenerator(seed: seed)
    var search = OwnerSearch(addressCount: 2, rng: rng.fork())
    var actions = act(&search, .begin)
    while true {
      if actions.contains(where: { if case .runLocally = $0 { true } else { false } }) { break }
      switch actions.last {
      case .connect(let address):
        // The hub at the first address is frozen, too, or was never there.
        let outcomes: [OwnerSearch.Outcome] = [.busy, .connected, address == 0 ? .noOwner : .busy]
        actions = act(&search, .connected(outcomes[Int(rng.next(upperBound: UInt64(3)))]))
      case .greet where rng.unit() < 0.8: actions = act(&search, .lost)
      case .check: actions = act(&search, .checked)
      default: actions = wake(&search)
      }
    }
    #expect(now <= Instant.zero + .seconds(5))
  }

  @Test("an owner that leaves a ping without an answer is left, although it sends other messages")
  mutating func unanswered() {
    var search = following()
    #expect(act(&search, .messageReceived) == [])
    #expect(act(&search, .unanswered) == [.leave, .runLocally(.silence)])
    #expect(act(&search, .unanswered) == [])
  }

  @Test("a host that is refused, or gets invalid messages, runs by itself for good")
  mutating func rejected() {
    for reason in OwnerMessage.RejectionReason.allCases where reason != .tooManyClients {
      var search = following()
      #expect(
        act(&search, .rejected(reason)) == [.leave, .runLocally(.rejected(reason))])
      #expect(act(&search, .lost) == [] && search.nextWake == nil)
    }
    var search = following()
    #expect(act(&search, .distrusted) == [.leave, .runLocally(.invalidMessages)])
  }

  @Test("an owner with too many clients gets no second responder beside it, and is tried again")
  mutating func tooManyClients() {
    var search = following()
    #expect(act(&search, .rejected(.tooManyClients)) == [.disconnect, .refuse])
    #expect(act(&search, .lost) == [] && search.nextWake == nil)
    #expect(act(&search, .begin) == [.connect(0)])
    #expect(act(&search, .begin) == [])
  }

  @Test("an owner that accepts no connection is tried less and less often, for five seconds")
  mutating func busy() {
    var search = search(1)
    _ = act(&search, .begin)
    var attempts = 1
    var actions = act(&search, .connected(.busy))
    while actions == [] {
      attempts += 1
      #expect(wake(&search) == [.connect(0)])
      actions = act(&search, .connected(.busy))
    }
    #expect(actions == [.runLocally(.silence)])
    #expect(attempts <= OwnerSearch.Limits.attemptsMax)
    #expect(now > Instant.zero + .seconds(3) && now <= Instant.zero + .seconds(5))
  }

  @Test("a host without a free descriptor reports that once, waits for one, and blames no owner")
  mutating func noDescriptors() {
    var search = search(2)
    var actions = act(&search, .begin)
    var reports = 0
    for round in 0..<1_000 {
      #expect(actions == [.connect(0)])
      if round % 2 == 1 {
        #expect(act(&search, .connected(.noOwner)) == [.connect(1)])
        actions = act(&search, .connected(.noDescriptor))
      } else {
        actions = act(&search, .connected(.noDescriptor))
      }
      reports += actions.count { $0 == .reportShortage }
      #expect(search.nextWake.map { $0 <= now + OwnerSearch.Limits.retryPauseMax } == true)
      actions = wake(&search)
    }
    #expect(reports == 1)
    #expect(now > Instant.zero + OwnerSearch.Limits.searchTimeout)
    #expect(act(&search, .connected(.connected)) == [.greet])
    #expect(wake(&search) == [.check])
    #expect(search.nextWake.map { $0 > now } == true, "the owner has had its time")
    #expect(act(&search, .welcomed) == [.follow])
  }

  @Test("another user's hub that accepts no connection is skipped before long")
  mutating func shut() {
    var search = search(2)
    _ = act(&search, .begin)
    while act(&search, .connected(.busy)) == [] { #expect(wake(&search) == [.connect(0)]) }
    #expect(now < Instant.zero + .seconds(1))
    #expect(act(&search, .connected(.busy)) == [])
    #expect(wake(&search) == [.connect(0)])
    #expect(act(&search, .connected(.busy)) == [.connect(1)], "it is skipped at once")
    #expect(act(&search, .connected(.connected)) == [.greet])
  }

  @Test("programs whose hub has ended look for another one within 50 ms, not all at once")
  mutating func spread() {
    var wakes: Set<Instant> = []
    for seed in 1...20 as ClosedRange<UInt64> {
      var search = OwnerSearch(addressCount: 1, rng: SeededGenerator(seed: seed))
      _ = act(&search, .begin)
      _ = act(&search, .connected(.connected))
      _ = act(&search, .welcomed)
      #expect(act(&search, .lost) == [])
      if let wake = search.nextWake { wakes.insert(wake) }
    }
    #expect(wakes.count == 20)
    #expect(wakes.allSatisfy { $0 > now && $0 <= now + OwnerSearch.Limits.lossPauseMax })
  }

  @Test("a host that loses many owners in a short time runs by itself")
  mutating func unsteady() {
    var search = following()
    var losses = 1
    while act(&search, .lost) == [] {
      losses += 1
      #expect(wake(&search) == [.connect(0)])
      _ = act(&search, .connected(.connected))
      _ = act(&search, .welcomed)
    }
    #expect(losses == OwnerSearch.Limits.lossesMax)
    search = following()
    for _ in 0..<100 {
      #expect(act(&search, .lost) == [])
      #expect(wake(&search) == [.connect(0)])
      _ = act(&search, .connected(.connected))
      _ = act(&search, .welcomed)
      now = now + .seconds(10)
    }
  }
}
