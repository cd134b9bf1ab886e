import BluetoothInterface
import Essentials
import HubWire
import Testing

@testable import HubMachines

@Suite("Kept sessions that are to be forgotten")
struct ForgettingTests {
  private var hub = TestHub()

  /// Has an app of a user end with a session that is kept. Returns the host's session.
  private mutating func keep(
    _ app: String, user: UInt32 = TestHub.user, manager: String = "central:lock"
  ) throws -> HubSessionKey {
    let id = hub.connect(user: user)
    let opening = SessionOpening(
      id: HubSessionID(rawValue: 1), acknowledgesEvents: true, manager: manager,
      keptFor: .seconds(60))
    try hub.send(
      .greeting(HubGreeting(app: app, abilities: [.bluetooth, .identity], openings: [opening])),
      from: id)
    try hub.send(.startScan(ScanOptions()), from: id)
    hub.handle(.disconnected(id))
    #expect(hub.machine.isKept(HubSessionKey(id)))
    _ = hub.takeActions()
    return HubSessionKey(id)
  }

  /// The hub's answer to a program of a user, and the sessions with the host that it closes.
  private mutating func forget(
    _ filter: KeptSessionFilter, user: UInt32 = TestHub.user
  ) throws -> (answer: HubMessage?, closed: [HubSessionKey]) {
    let id = try hub.serve("forget", user: user)
    try hub.send(.forget(5, filter), from: id)
    let answer = try hub.messages(for: id).last
    let closed = hub.takeActions().compactMap {
      if case .closeSession(let key) = $0 { key } else { nil }
    }
    hub.handle(.disconnected(id))
    return (answer, closed)
  }

  @Test("the sessions of an app are closed, those of others and of programs that run go on")
  mutating func app() throws {
    let first = try keep("lock")
    let second = try keep("lock", manager: "peripheral:lock")
    let other = try keep("lamp")
    let running = try hub.serve("lock")
    let result = try forget(KeptSessionFilter(app: "lock"))
    #expect(result.answer == .forgotten(5, count: 2) && result.closed == [first, second])
    #expect(hub.machine.isKept(other))
    #expect(hub.machine.sessions(of: running).count == 1)
    let again = try forget(KeptSessionFilter(app: "lock"))
    #expect(again.answer == .forgotten(5, count: 0) && again.closed.isEmpty)
  }

  @Test("root and the hub's user may have all sessions forgotten, and others their own only")
  mutating func users() throws {
    hub = TestHub(rules: HubRules([HubRules.Rule(.allow)]))
    let own = try keep("lock")
    let foreign = try keep("lock", user: 1_001)
    let refused = try forget(KeptSessionFilter(userID: TestHub.user), user: 1_001)
    #expect(refused.answer == .forgotten(5, count: nil) && refused.closed.isEmpty)
    let ownOnly = try forget(KeptSessionFilter(), user: 1_001)
    #expect(ownOnly.answer == .forgotten(5, count: 1) && ownOnly.closed == [foreign])
    let second = try keep("lock", user: 1_001)
    let named = try forget(KeptSessionFilter(userID: 1_001), user: 0)
    #expect(named.answer == .forgotten(5, count: 1) && named.closed == [second])
    #expect(try forget(KeptSessionFilter(), user: 0).closed == [own])
  }

  @Test("the name that the state of the hub shows is enough, also where it is cut")
  mutating func longName() throws {
    let name = String(repeating: "é", count: 100)
    let kept = try keep(name)
    let shown = String(repeating: "é", count: HubStatus.nameByteCountMax / 2)
    #expect(try forget(KeptSessionFilter(app: String(shown.dropLast()))).closed.isEmpty)
    #expect(try forget(KeptSessionFilter(app: shown)).closed == [kept])
  }

  @Test("what was forgotten makes room for other sessions of the user, and is reported")
  mutating func room() throws {
    let kept = try keep("lock")
    #expect(hub.machine.counts.sessionCount == 1)
    let id = try hub.serve("forget")
    try hub.send(.forget(1, KeptSessionFilter(app: "lock")), from: id)
    #expect(
      hub.takeActions().filter { if case .write = $0 { false } else { true } } == [
        .closeSession(kept),
        .report(
          .forgotten(sessionCount: 1, by: HubPeer(userID: TestHub.user, processID: 1))),
      ])
    #expect(hub.machine.counts.sessionCount == 1)
    #expect(hub.machine.nextWake == nil)
  }

  private mutating func reports() -> [HubReport] {
    hub.takeActions().compactMap { if case .report(let report) = $0 { report } else { nil } }
  }

  @Test("what was forgotten soon after a report is reported a second after it, for each user")
  mutating func lateReport() throws {
    hub = TestHub(rules: HubRules([HubRules.Rule(.allow)]))
    for app in ["lock", "lamp", "door"] { _ = try keep(app) }
    _ = try keep("bell", user: 1_001)
    let own = try hub.serve("forget")
    let other = try hub.serve("forget", user: 1_001, process: 2)
    let peers = [HubPeer(userID: TestHub.user, processID: 1), HubPeer(userID: 1_001, processID: 2)]
    // The reports of programs that came are not those of this test.
    hub.now = hub.now + .seconds(10)
    hub.handle(.wake)
    _ = hub.takeActions()
    try hub.send(.forget(1, KeptSessionFilter(app: "lock")), from: own)
    #expect(reports() == [.forgotten(sessionCount: 1, by: peers[0])])
    let due = hub.now + .seconds(1)
    hub.now = hub.now + .milliseconds(400)
    try hub.send(.forget(2, KeptSessionFilter()), from: other)
    try hub.send(.forget(2, KeptSessionFilter(app: "lamp")), from: own)
    try hub.send(.forget(3, KeptSessionFilter(app: "door")), from: own)
    #expect(reports().isEmpty)
    #expect(hub.machine.nextWake == due)
    hub.now = due
    hub.handle(.wake)
    #expect(
      reports() == [
        .forgotten(sessionCount: 2, by: peers[0]), .forgotten(sessionCount: 1, by: peers[1]),
      ])
    #expect(hub.machine.nextWake == nil)
  }

  @Test("a user's program that has sessions forgotten too often is refused, and others' are not")
  mutating func budget() throws {
    var limits = HubLimits()
    limits.forgettingCountPerUserMax = 3
    hub = TestHub(limits, rules: HubRules([HubRules.Rule(.allow)]))
    let kept = try keep("lock")
    let flooding = try hub.serve("forget", user: 1_001)
    for number in 1...3 as ClosedRange<UInt64> {
      try hub.send(.forget(number, KeptSessionFilter()), from: flooding)
    }
    #expect(try hub.messages(for: flooding).count == 3)
    try hub.send(.forget(4, KeptSessionFilter()), from: flooding)
    #expect(try hub.refusal(of: flooding) == .limitReached)
    // Another connection has no budget of its own.
    let again = try hub.serve("forget", user: 1_001)
    try hub.send(.forget(1, KeptSessionFilter()), from: again)
    #expect(try hub.refusal(of: again) == .limitReached)
    #expect(hub.machine.isKept(kept))
    #expect(try forget(KeptSessionFilter()).closed == [kept])
    hub.now = hub.now + .seconds(1)
    #expect(
      try forget(KeptSessionFilter(), user: 1_001).answer == .forgotten(5, count: 0))
  }

  @Test("the first message can't be a request to forget sessions")
  mutating func order() throws {
    let id = hub.connect()
    try hub.send(.forget(1, KeptSessionFilter()), from: id)
    #expect(try hub.refusal(of: id) == .invalidMessage)
  }
}
