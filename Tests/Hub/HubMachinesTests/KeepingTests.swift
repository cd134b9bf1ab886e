import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire
import Testing

@testable import HubMachines

@Suite("Sessions that are kept")
struct KeepingTests {
  private static let one = HubSessionID(rawValue: 1)
  private static let peer = DeviceAddress(bits: 0xC012_3456_789A, kind: .random)
  private static let lost = HostError.disconnected(HCIStatus(rawValue: 0x08))
  private static let target = SubscriptionTarget(
    valueHandle: 3, endHandle: 5, usesIndications: false)
  private static let service = ServiceDefinition(uuid: BluetoothUUID(0x180F as UInt16))
  private static let published = PublishedService(range: HandleRange(9, 9), characteristics: [])

  private var hub = TestHub()

  private static func opening(keptFor span: TimeSpan = .seconds(60)) -> SessionOpening {
    SessionOpening(id: one, acknowledgesEvents: true, manager: "central:lock", keptFor: span)
  }

  /// A program with a session that is to be kept.
  private mutating func start(
    _ opening: SessionOpening = opening(), abilities: HubAbilities = [.bluetooth, .identity],
    user: UInt32 = TestHub.user
  ) throws -> HubConnectionID {
    let id = hub.connect(user: user)
    try hub.send(
      .greeting(HubGreeting(app: "lock", abilities: abilities, openings: [opening])), from: id)
    return id
  }

  /// The hub's answer to the opening.
  private mutating func answer(to id: HubConnectionID) throws -> SessionAttachment? {
    for case .attached(Self.one, let attachment) in try hub.messages(for: id) { return attachment }
    return nil
  }

  /// The answer to the opening, and the events behind it.
  private mutating func restoration(
    of id: HubConnectionID
  ) throws -> (holdings: SessionHoldings?, events: [HostEvent]) {
    let messages = try hub.messages(for: id)
    guard
      let place = messages.firstIndex(where: { if case .attached = $0 { true } else { false } }),
      case .attached(_, let attachment) = messages[place]
    else { return (nil, []) }
    let events = messages[place...].flatMap { message -> [HostEvent] in
      if case .events(_, let events) = message { events.events } else { [] }
    }
    return (attachment.holdings, events)
  }

  @Test("a kept session whose keeping ends is closed, and an open one isn't")
  mutating func endOfKeeping() throws {
    let id = try central()
    let key = HubSessionKey(id)
    #expect(hub.machine.sessions(of: id)[Self.one]?.hostKey == key)
    #expect(hub.machine.holdings(of: key)?.links.map(\.peer) == [Self.peer])
    hub.handle(.keepingEnded(key))
    #expect(hub.machine.sessions(of: id)[Self.one]?.hostKey == key)
    hub.handle(.disconnected(id))
    #expect(hub.machine.isKept(key))
    #expect(hub.machine.holdings(of: key)?.scan != nil)
    _ = hub.takeActions()
    hub.handle(.keepingEnded(key))
    #expect(hub.takeActions() == [.closeSession(key)])
    #expect(!hub.machine.isKept(key))
    #expect(hub.machine.holdings(of: key) == nil)
  }

  /// A program that scans, is connected and has subscribed, and has acknowledged all but the last two events.
  private mutating func central() throws -> HubConnectionID {
    let id = try start()
    let key = HubSessionKey(id)
    try hub.send(.startScan(ScanOptions()), from: id)
    try hub.send(.connect(Self.peer, ConnectOptions()), from: id)
    try hub.send(.subscribe(Self.peer, Self.target, RequestToken(rawValue: 7)), from: id)
    hub.handle(
      .delivered(
        key,
        [
          .stateChanged(.poweredOn), .linkOpened(LinkInfo(peer: Self.peer, role: .central)),
          .connected(Self.peer), .completed(RequestToken(rawValue: 7), .success(.done)),
          .valueUpdated(Self.peer, handle: 3, [1]),
        ]))
    try hub.send(.eventsHandled(Self.one, count: 3), from: id)
    _ = hub.takeActions()
    return id
  }

  @Test("a killed program's scan, link and subscription go on, and its next process gets them")
  mutating func restoration() throws {
    let first = try central()
    let key = HubSessionKey(first)
    hub.handle(.disconnected(first))
    // What the process had not acknowledged is, and nothing else happens.
    let actions = hub.takeActions()
    #expect(actions.contains(.acknowledge(key, count: 2)))
    #expect(!actions.contains(.closeSession(key)))
    #expect(hub.machine.counts.sessionCount == 1 && hub.machine.counts.connectionCount == 0)
    hub.handle(.delivered(key, [.valueUpdated(Self.peer, handle: 3, [2])]))
    #expect(hub.takeActions() == [.acknowledge(key, count: 1)])

    let second = try start()
    #expect(hub.takeActions().openedSessions.isEmpty)
    var holdings = SessionHoldings()
    holdings.scan = ScanOptions()
    holdings.links = [
      SessionHoldings.Link(peer: Self.peer, options: ConnectOptions(), isConnected: true)
    ]
    holdings.subscriptions = [SessionHoldings.Subscription(peer: Self.peer, target: Self.target)]
    holdings.lastToken = 7
    holdings.unhandledCount = 2
    let restored = try restoration(of: second)
    #expect(restored.holdings == holdings)
    #expect(
      restored.events == [
        .linkOpened(LinkInfo(peer: Self.peer, role: .central)), .stateChanged(.poweredOn),
        .valueUpdated(Self.peer, handle: 3, [2]),
      ])
    // The host's session is the same, and counts only what it has delivered since.
    hub.handle(.delivered(key, [.valueUpdated(Self.peer, handle: 3, [3])]))
    #expect(try hub.events(for: second) == [.valueUpdated(Self.peer, handle: 3, [3])])
    try hub.send(.eventsHandled(Self.one, count: 4), from: second)
    try hub.send(.stopScan, from: second)
    #expect(hub.takeActions().suffix(2) == [.acknowledge(key, count: 1), .send(key, .stopScan)])
    try hub.send(.closeSession(Self.one), from: second)
    #expect(hub.takeActions() == [.closeSession(key)])
    #expect(hub.machine.movedSessions.isEmpty && hub.machine.keptSessions.isEmpty)
  }

  @Test("an advertisement that no process knows of is replaced by the earlier one, once")
  mutating func advertisementTakenBack() throws {
    let token = RequestToken(rawValue: 7)
    var (known, unknown) = (AdvertisingOptions(), AdvertisingOptions())
    known.data = [1]
    unknown.data = [2]
    let first = try start()
    let key = HubSessionKey(first)
    try hub.send(.startAdvertising(known, token), from: first)
    hub.handle(.delivered(key, [.completed(token, .success(.done))]))
    try hub.send(.startAdvertising(unknown, token), from: first)
    hub.handle(.disconnected(first))
    let second = try start()
    #expect(try restoration(of: second).holdings?.advertising == known)
    _ = hub.takeActions()
    hub.handle(.delivered(key, [.completed(token, .success(.done))]))
    #expect(hub.takeActions().contains(.send(key, .startAdvertising(known, token))))
    hub.handle(.delivered(key, [.completed(token, .success(.done))]))
    #expect(hub.takeActions() == [.acknowledge(key, count: 1)])
    #expect(try hub.events(for: second).isEmpty)
  }

  @Test("a kept session ends when its time is over, as if its program had ended then")
  mutating func expiry() throws {
    let first = try central()
    hub.handle(.disconnected(first))
    #expect(hub.machine.nextWake == hub.now + .seconds(60))
    hub.now = hub.now + .milliseconds(59_999)
    hub.handle(.wake)
    #expect(!hub.takeActions().contains(.closeSession(HubSessionKey(first))))
    hub.now = hub.now + .milliseconds(1)
    hub.handle(.wake)
    #expect(hub.takeActions() == [.closeSession(HubSessionKey(first))])
    #expect(hub.machine.nextWake == nil && hub.machine.users.isEmpty)
    #expect(try answer(to: start()) == SessionAttachment(holdsName: true, keptFor: .seconds(60)))
  }

  @Test("requests of peers to a kept service are refused at once, and prompts are rejected")
  mutating func requests() throws {
    let id = try start()
    let key = HubSessionKey(id)
    try hub.send(.addService(Self.service, RequestToken(rawValue: 1)), from: id)
    let read = ServerRequest(
      id: ServerRequestID(rawValue: 5), peer: Self.peer, kind: .read(handle: 9, offset: 0),
      needsResponse: true)
    var (command, later) = (read, read)
    command.needsResponse = false
    later.id = ServerRequestID(rawValue: 6)
    hub.handle(
      .delivered(
        key,
        [
          .completed(RequestToken(rawValue: 1), .success(.published(Self.published))),
          .serverRequest(read),
          .pairingPrompt(Self.peer, .consent, PairingPromptID(rawValue: 1)),
        ]))
    _ = hub.takeActions()
    hub.handle(.disconnected(id))
    let ends: [HubMachine.Action] = [
      .send(key, .respond(read.id, .failure(.unlikelyError))),
      .send(key, .answerPairing(PairingPromptID(rawValue: 1), .reject)),
    ]
    let actions = hub.takeActions()
    #expect(ends.allSatisfy(actions.contains))
    hub.handle(
      .delivered(
        key,
        [
          .serverRequest(later), .serverRequest(command),
          .pairingPrompt(Self.peer, .consent, PairingPromptID(rawValue: 2)),
        ]))
    #expect(
      hub.takeActions() == [
        .send(key, .respond(later.id, .failure(.unlikelyError))),
        .send(key, .answerPairing(PairingPromptID(rawValue: 2), .reject)),
        .acknowledge(key, count: 3),
      ])
    let restored = try restoration(of: start())
    #expect(
      restored.holdings?.services == [
        SessionHoldings.Service(definition: Self.service, published: Self.published)
      ])
    #expect(restored.holdings?.droppedCount == 2 && restored.events.isEmpty)
  }

  @Test(
    "what a reset program had published is withdrawn, and not restored", arguments: [false, true])
  mutating func reset(isRunning: Bool) throws {
    let id = try start()
    let key = HubSessionKey(id)
    try hub.send(.addService(Self.service, RequestToken(rawValue: 1)), from: id)
    try hub.send(.startAdvertising(AdvertisingOptions(), RequestToken(rawValue: 2)), from: id)
    try hub.send(.connect(Self.peer, ConnectOptions()), from: id)
    hub.handle(
      .delivered(
        key,
        [
          .completed(RequestToken(rawValue: 1), .success(.published(Self.published))),
          .completed(RequestToken(rawValue: 2), .success(.done)),
        ]))
    if !isRunning { hub.handle(.disconnected(id)) }
    _ = hub.takeActions()
    hub.handle(.delivered(key, [.stateChanged(.resetting), .stateChanged(.poweredOn)]))
    let actions = hub.takeActions()
    #expect(actions.contains(.send(key, .stopAdvertising)))
    #expect(actions.contains(.send(key, .removeAllServices)))
    // A process that ends before it has handled the event.
    if isRunning { hub.handle(.disconnected(id)) }
    let restored = try restoration(of: start())
    #expect(restored.holdings?.services == [] && restored.holdings?.links.count == 1)
    #expect(restored.holdings?.advertising == nil)
    #expect(restored.events.last == .stateChanged(.poweredOn))
  }

  @Test("completions for the ended process are swallowed, also once the next one is there")
  mutating func completions() throws {
    let first = try start()
    let key = HubSessionKey(first)
    try hub.send(.startScan(ScanOptions()), from: first)
    for token: UInt64 in 1...3 {
      try hub.send(.addService(Self.service, RequestToken(rawValue: token)), from: first)
    }
    try hub.send(.openChannel(Self.peer, psm: 0x80, RequestToken(rawValue: 4)), from: first)
    hub.handle(.disconnected(first))
    func published(_ token: UInt64) -> HostEvent {
      let handle = UInt16(token)
      return .completed(
        RequestToken(rawValue: token),
        .success(
          .published(PublishedService(range: HandleRange(handle, handle), characteristics: []))))
    }
    hub.handle(.delivered(key, [published(1)]))
    let second = try start()
    let restored = try restoration(of: second)
    #expect(restored.holdings?.services.map(\.published.range.start) == [1])
    #expect(restored.holdings?.lastToken == 4)
    try hub.send(.addService(Self.service, RequestToken(rawValue: 5)), from: second)
    _ = hub.takeActions()
    let channel = ChannelInfo(
      id: ChannelID(rawValue: 8), peer: Self.peer, psm: 0x80, peerMTU: 64)
    hub.handle(
      .delivered(
        key,
        [
          published(2), .completed(RequestToken(rawValue: 4), .success(.channel(channel))),
          published(5), published(3),
        ]))
    #expect(try hub.events(for: second) == [published(5)])
    let actions = hub.takeActions()
    #expect(actions.contains(.send(key, .closeChannel(channel.id))))
    #expect(actions.contains(.acknowledge(key, count: 3)))
    // Those that no process has heard of are removed again.
    #expect(actions.contains(.send(key, .removeService(2))))
    #expect(actions.contains(.send(key, .removeService(3))))
    #expect(hub.machine.users[TestHub.user]?.sessions.serviceCount == 2)
  }

  @Test("a kept session has its last events, and one report of a peer; the others are counted")
  mutating func bounds() throws {
    var limits = HubLimits()
    limits.keptEventCountMax = 3
    limits.keptReportCountMax = 1
    hub = TestHub(limits)
    let first = try central()
    hub.handle(.disconnected(first))
    let key = HubSessionKey(first)
    func report(_ bits: UInt64, rssi: Int8) -> HostEvent {
      .discovered(
        AdvertisingReport(
          address: DeviceAddress(bits: bits, kind: .public), isConnectable: true, isScannable: true,
          isLegacy: true, rssi: rssi, data: [1, 2], heardAt: .zero))
    }
    hub.handle(
      .delivered(
        key,
        [
          .disconnected(Self.peer, Self.lost, reconnecting: false),
          .linkClosed(Self.peer, Self.lost), report(1, rssi: -50), report(1, rssi: -40),
          report(2, rssi: -30), .stateChanged(.poweredOff), .stateChanged(.poweredOn),
        ]))
    let restored = try restoration(of: start())
    // The end of the link had no room: the holdings are without it and the subscription.
    #expect(restored.holdings?.links == [] && restored.holdings?.subscriptions == [])
    #expect(restored.holdings?.droppedCount == 3)
    #expect(
      restored.events == [
        .stateChanged(.poweredOn), report(1, rssi: -40), .stateChanged(.poweredOff),
        .stateChanged(.poweredOn),
      ])
  }

  @Test("nothing is kept for an opening that begins anew, asks for nothing, or can't take it")
  mutating func givenUp() throws {
    var anew = Self.opening()
    anew.beginsAnew = true
    let cases: [(SessionOpening, HubAbilities)] = [
      (anew, [.bluetooth, .identity]), (Self.opening(keptFor: .zero), [.bluetooth, .identity]),
      (Self.opening(), .bluetooth),
    ]
    for (opening, abilities) in cases {
      hub = TestHub()
      let first = try central()
      hub.handle(.disconnected(first))
      _ = hub.takeActions()
      let second = try start(opening, abilities: abilities)
      let actions = hub.takeActions()
      #expect(actions.contains(.closeSession(HubSessionKey(first))))
      #expect(actions.openedSessions == [HubSessionKey(second)])
      #expect(try answer(to: second)?.holdings == nil)
      #expect(hub.machine.counts.sessionCount == 1)
    }
  }

  @Test("only a program that ends by itself is kept, and not if another process has the name")
  mutating func notKept() throws {
    let hostile = try central()
    hub.handle(.received(hostile, [0, 0, 0, 0]))
    #expect(hub.takeActions().contains(.closeSession(HubSessionKey(hostile))))
    let closed = try central()
    try hub.send(.closeSession(Self.one), from: closed)
    #expect(hub.takeActions() == [.closeSession(HubSessionKey(closed))])
    let first = try central()
    let second = try start()
    #expect(try answer(to: second) == SessionAttachment(holdsName: false, keptFor: .zero))
    hub.handle(.disconnected(first))
    #expect(hub.takeActions().contains(.closeSession(HubSessionKey(first))))
    hub.handle(.disconnected(second))
    #expect(hub.takeActions().contains(.closeSession(HubSessionKey(second))))
    // A session that wants nothing isn't kept either.
    let idle = try start()
    hub.handle(.disconnected(idle))
    #expect(hub.takeActions().contains(.closeSession(HubSessionKey(idle))))
    #expect(hub.machine.keptSessions.isEmpty && hub.machine.counts.sessionCount == 0)
  }

  @Test("other users and other apps don't get what is kept, and a hub that ends keeps nothing")
  mutating func identities() throws {
    let first = try central()
    hub.handle(.disconnected(first))
    #expect(try answer(to: start(user: 0))?.holdings == nil)
    #expect(hub.machine.keptSessions.count == 1)
    _ = hub.takeActions()
    hub.handle(.ending)
    #expect(hub.takeActions().contains(.closeSession(HubSessionKey(first))))
    #expect(hub.machine.keptSessions.isEmpty && hub.machine.users.isEmpty)
  }

  @Test("the rules bound the time, and a user has a number of kept sessions")
  mutating func limits() throws {
    var quotas = HubQuotas()
    quotas.keptSeconds = 5
    var limits = HubLimits()
    limits.keptSessionCountPerUserMax = 1
    hub = TestHub(limits, rules: HubRules([HubRules.Rule(.allow, quotas: quotas)]))
    let id = try start()
    #expect(try answer(to: id)?.keptFor == .seconds(5))
    var other = Self.opening()
    other.id = HubSessionID(rawValue: 2)
    other.manager = "central:other"
    try hub.send(.openSession(other), from: id)
    for session in [Self.one, other.id] {
      try hub.send(.request(session, .known(.startScan(ScanOptions()))), from: id)
    }
    _ = hub.takeActions()
    hub.handle(.disconnected(id))
    let actions = hub.takeActions()
    #expect(actions.contains(.closeSession(HubSessionKey(id, other.id))))
    #expect(!actions.contains(.closeSession(HubSessionKey(id))))
    #expect(hub.machine.counts.sessionCount == 1)
    #expect(hub.machine.users[TestHub.user]?.sessions.scanCount == 1)
    quotas.keptSeconds = 0
    hub = TestHub(rules: HubRules([HubRules.Rule(.allow, quotas: quotas)]))
    #expect(try answer(to: start())?.keptFor == .zero)
  }

  @Test("the state of the hub lists kept sessions with the rest of their time")
  mutating func status() throws {
    let first = try central()
    hub.handle(.disconnected(first))
    hub.now = hub.now + .seconds(20)
    let asker = try hub.serve()
    try hub.send(.status(1), from: asker)
    var host = StatusTests.host
    host.links = [
      HubHostStatus.Link(
        HubStatus.Link(peer: "C0:12:34:56:78:9A", stage: "open"), users: [HubSessionKey(first)])
    ]
    hub.handle(.statusRead(host))
    guard case .status(1, let status) = try hub.messages(for: asker).last else {
      Issue.record("there is no answer")
      return
    }
    let program = try #require(status.programs.first)
    #expect(program.app == "lock" && program.keptFor == .seconds(40))
    #expect(program.age == .seconds(20) && program.linkCount == 1)
    #expect(status.links.map(\.users) == [[first.rawValue]])
  }
}
