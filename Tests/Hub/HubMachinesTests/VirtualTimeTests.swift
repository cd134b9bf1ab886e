import BluetoothInterface
import Essentials
import HubWire
import Testing

@testable import HubMachines

@Suite("A hub whose radio has virtual time")
struct VirtualTimeTests {
  private var hub = TestHub(hasVirtualTime: true)
  private static let abilities: HubAbilities = [.bluetooth, .virtualTime]
  private static let noon = Instant.zero + .seconds(43_200)

  private func refusal(_ messages: [HubMessage]) -> HubRefusal? {
    if case .refusal(let refusal)? = messages.last { refusal } else { nil }
  }

  @Test("a program is told the time before the events of that time, once, and asked behind them")
  mutating func order() throws {
    let id = try hub.serve(abilities: Self.abilities)
    let events = [HostEvent.stateChanged(.poweredOn)]
    hub.handle(.time(Self.noon))
    hub.handle(.delivered(HubSessionKey(id), events))
    hub.handle(.delivered(HubSessionKey(id), events))
    hub.handle(.settle(HubSessionKey(id), 7))
    let session = HubSessionID(rawValue: 1)
    #expect(
      try hub.messages(for: id) == [
        .time(Self.noon), .events(session, HubEvents(events)),
        .events(session, HubEvents(events)), .settle(7),
      ])
    #expect(!hub.takeActions().contains(.settled(7, wake: nil)))
    let wake = Self.noon + .seconds(10)
    try hub.send(.settled(7, wake: wake), from: id)
    #expect(hub.takeActions() == [.settled(7, wake: wake)])
    try hub.send(.hasWork(session), from: id)
    #expect(hub.takeActions() == [.hasWork(HubSessionKey(id))])
    #expect(hub.machine.nextWake == nil)
  }

  @Test("nobody waits for a program of an earlier version, for one that is gone, and at the end")
  mutating func gone() throws {
    let earlier = try hub.serve()
    hub.handle(.time(Self.noon))
    hub.handle(.settle(HubSessionKey(earlier), 1))
    #expect(hub.takeActions() == [.settled(1, wake: nil)])
    #expect(try hub.messages(for: earlier).isEmpty)

    let leaving = try hub.serve(abilities: Self.abilities)
    hub.handle(.settle(HubSessionKey(leaving), 2))
    hub.handle(.disconnected(leaving))
    #expect(hub.takeActions().contains(.settled(2, wake: nil)))
    hub.handle(.settle(HubSessionKey(leaving), 3))
    #expect(hub.takeActions() == [.settled(3, wake: nil)])

    let last = try hub.serve(abilities: Self.abilities)
    hub.handle(.settle(HubSessionKey(last), 4))
    hub.handle(.ending)
    #expect(hub.takeActions().contains(.settled(4, wake: nil)))
  }

  @Test(
    "a program that does not answer holds the time for ten seconds of the wall, and others lose nothing"
  )
  mutating func silent() throws {
    let silent = try hub.serve(abilities: Self.abilities)
    let other = try hub.serve(abilities: Self.abilities)
    hub.handle(.settle(HubSessionKey(silent), 1))
    let due = try #require(hub.machine.nextWake)
    #expect(due == hub.now + .seconds(10))
    hub.now = due
    hub.handle(.wake)
    #expect(hub.takeActions().contains(.settled(1, wake: nil)))
    let refusal = try refusal(hub.messages(for: silent))
    #expect(refusal?.reason == .limitReached && refusal?.text.contains("10.0 s") == true)
    hub.handle(.settle(HubSessionKey(other), 2))
    try hub.send(.settled(2, wake: nil), from: other)
    #expect(hub.takeActions().contains(.settled(2, wake: nil)))
  }

  @Test("an answer with a number that nobody asked, or another program was, ends the connection")
  mutating func unasked() throws {
    let asked = try hub.serve(abilities: Self.abilities)
    let other = try hub.serve(abilities: Self.abilities)
    hub.handle(.settle(HubSessionKey(asked), 1))
    try hub.send(.settled(1, wake: nil), from: other)
    #expect(try refusal(hub.messages(for: other))?.text.contains("the number 1") == true)
    #expect(!hub.takeActions().contains(.settled(1, wake: nil)))
    try hub.send(.settled(1, wake: nil), from: asked)
    try hub.send(.settled(1, wake: nil), from: asked)
    #expect(try refusal(hub.messages(for: asked))?.reason == .invalidMessage)
  }

  @Test("a hub of real time announces none, tells none, and refuses messages about it by name")
  mutating func real() throws {
    let abilities = Self.abilities
    let session = HubSessionID(rawValue: 1)
    for message in [AppMessage.settled(1, wake: nil), .hasWork(session)] {
      var hub = TestHub()
      let id = hub.connect()
      let opening = SessionOpening(id: session, acknowledgesEvents: true)
      try hub.send(
        .greeting(HubGreeting(app: "app", abilities: abilities, openings: [opening])), from: id)
      guard case .welcome(let welcome) = try hub.messages(for: id).first else {
        Issue.record("not welcome")
        return
      }
      #expect(!welcome.abilities.contains(.virtualTime))
      hub.handle(.delivered(HubSessionKey(id), [.stateChanged(.poweredOn)]))
      #expect(try hub.messages(for: id).count == 1)
      try hub.send(message, from: id)
      let text = "The time of this hub is the wall's, which waits for no program."
      #expect(try refusal(hub.messages(for: id)) == HubRefusal(.invalidMessage, text))
    }
  }

  @Test("a timer for a time that has come does not hold the time, and a program with many is left")
  mutating func pastTimers() throws {
    let id = try hub.serve(abilities: Self.abilities)
    let limits = hub.machine.limits
    let soon = Self.noon + .microseconds(1)
    for (number, wake) in [Instant.zero, Self.noon, soon, Self.noon + .seconds(1)].enumerated() {
      hub.handle(.time(Self.noon))
      hub.handle(.settle(HubSessionKey(id), UInt64(number)))
      try hub.send(.settled(UInt64(number), wake: wake), from: id)
      #expect(hub.takeActions().contains(.settled(UInt64(number), wake: max(wake, soon))))
    }
    // Two more than a millisecond ago don't count.
    var (time, number) = (Self.noon + .milliseconds(1), UInt64(10))
    for _ in 0...limits.pastWakeCountMax {
      #expect(try refusal(hub.messages(for: id)) == nil)
      (time, number) = (time + .microseconds(1), number + 1)
      hub.handle(.time(time))
      hub.handle(.settle(HubSessionKey(id), number))
      try hub.send(.settled(number, wake: .zero), from: id)
    }
    let refusal = try refusal(hub.messages(for: id))
    #expect(refusal?.reason == .limitReached)
    #expect(refusal?.text.contains("a virtual time that has passed") == true)
    #expect(hub.takeActions().contains(.settled(number, wake: nil)))
  }

  @Test(
    "a program that always has work at one time is left, and one with as much at two times is not")
  mutating func rounds() throws {
    var limits = HubLimits()
    limits.settlingCountMax = 3
    hub = TestHub(limits, hasVirtualTime: true)
    let id = try hub.serve(abilities: Self.abilities)
    for number in UInt64(1)...7 {
      #expect(try refusal(hub.messages(for: id)) == nil)
      hub.handle(.time(number <= 3 ? Self.noon : Self.noon + .seconds(1)))
      hub.handle(.settle(HubSessionKey(id), number))
      try hub.send(.settled(number, wake: nil), from: id)
    }
    #expect(try refusal(hub.messages(for: id))?.text.contains("3 times") == true)
  }

  @Test("a program that closes a session is asked by another one, since its timers may wait there")
  mutating func closing() throws {
    let id = try hub.serve(sessions: [1, 2, 3], abilities: Self.abilities)
    let keys = (1...3).map { HubSessionKey(id, HubSessionID(rawValue: $0)) }
    try hub.send(.closeSession(keys[1].session), from: id)
    #expect(hub.takeActions() == [.closeSession(keys[1]), .hasWork(keys[0])])
    try hub.send(.closeSession(keys[0].session), from: id)
    #expect(hub.takeActions() == [.closeSession(keys[0]), .hasWork(keys[2])])
    try hub.send(.closeSession(keys[2].session), from: id)
    #expect(hub.takeActions() == [.closeSession(keys[2])])
    let earlier = try hub.serve(sessions: [1, 2])
    try hub.send(.closeSession(HubSessionID(rawValue: 1)), from: earlier)
    #expect(hub.takeActions() == [.closeSession(HubSessionKey(earlier, keys[0].session))])
  }
}
