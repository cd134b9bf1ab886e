import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire
import Testing

@testable import HubMachines

@Suite("Questions for the state of the hub")
struct StatusTests {
  private static let peer = DeviceAddress(bits: 0xC0FF_EE00_0001, kind: .public)
  private static let token = RequestToken(rawValue: 7)

  /// The host's part, without sessions and links.
  static let host = HubHostStatus(
    version: "1.2.3", processID: 42, uptime: .seconds(60),
    radio: HubStatus.Radio(name: "hci0", state: .poweredOn, isSimulated: false))

  private var hub = TestHub()

  /// Asks, and returns the answer to this question.
  private mutating func ask(
    _ id: HubConnectionID, _ host: HubHostStatus = StatusTests.host
  ) throws -> HubStatus {
    _ = hub.takeActions()
    try hub.send(.status(5), from: id)
    #expect(hub.takeActions().contains(.readStatus))
    #expect(try hub.messages(for: id) == [])
    hub.handle(.statusRead(host))
    guard case .status(5, let status) = try hub.messages(for: id).last else {
      Issue.record("no answer")
      return HubStatus(version: "", processID: 0, uptime: .zero, radio: host.radio)
    }
    return status
  }

  @Test("a program that asks is not listed, and gets the hub's version, uptime and radio")
  mutating func alone() throws {
    let status = try ask(try hub.serve())
    #expect(status.programs.isEmpty && status.links.isEmpty && status.counts == .init())
    #expect(status.version == "1.2.3" && status.processID == 42 && status.uptime == .seconds(60))
    #expect(status.radio == Self.host.radio)
  }

  @Test(
    "a program is listed with its name, process, user and age, and one without a greeting is not")
  mutating func programs() throws {
    let guide = try hub.serve("guide", sessions: [1, 2], process: 7)
    hub.now = .zero + .seconds(30)
    _ = hub.connect(process: 8)
    let asker = try hub.serve("status", sessions: [], process: 9)
    let status = try ask(asker)
    var expected = HubStatus.Program(
      connection: guide.rawValue, app: "guide", processID: 7, userID: TestHub.user,
      age: .seconds(30))
    expected.sessionCount = 2
    #expect(status.programs == [expected])
    #expect(status.counts.connectionCount == 2)
  }

  @Test("what a program holds and waits for is counted, until it is over")
  mutating func holdings() throws {
    let guide = try hub.serve("guide")
    let asker = try hub.serve("status", sessions: [], process: 9)
    let service = ServiceDefinition(uuid: BluetoothUUID(0x180F as UInt16), characteristics: [])
    try hub.send(.connect(Self.peer, ConnectOptions()), from: guide)
    try hub.send(.addService(service, Self.token), from: guide)
    let published = PublishedService(range: HandleRange(1, 2), characteristics: [])
    hub.handle(
      .delivered(
        HubSessionKey(guide),
        [
          .completed(Self.token, .success(.published(published))),
          .valuesDropped(Self.peer, handle: 3, count: 4),
          .writesDropped(Self.peer, handle: 3, count: 2),
          .requestsExpired(Self.peer, handle: 3, count: 1),
        ]))
    try hub.send(.barrier(Self.token), from: guide)
    var program = try #require(try ask(asker).programs.first)
    #expect(program.linkCount == 1 && program.serviceCount == 1 && program.requestCount == 1)
    #expect(program.unhandledEventCount == 4 && program.droppedCount == 7)
    try hub.send(.disconnect(Self.peer), from: guide)
    try hub.send(.removeAllServices, from: guide)
    try hub.send(.eventsHandled(HubSessionID(rawValue: 1), count: 4), from: guide)
    hub.handle(.delivered(HubSessionKey(guide), [.completed(Self.token, .success(.done))]))
    program = try #require(try ask(asker).programs.first)
    #expect(program.linkCount == 0 && program.serviceCount == 0 && program.requestCount == 0)
    #expect(program.unhandledEventCount == 1)
  }

  @Test("bytes that wait for a program are counted, and a program whose requests wait is held back")
  mutating func waiting() throws {
    var limits = HubLimits()
    limits.waitingByteCountHigh = 1_000
    limits.waitingByteCountLow = 100
    hub = TestHub(limits)
    let slow = try hub.serve("slow")
    let asker = try hub.serve("status", sessions: [], process: 9)
    hub.stuck = [slow]
    let value = HostEvent.valueUpdated(
      Self.peer, handle: 3, ArraySlice([UInt8](repeating: 1, count: 2_000)))
    hub.handle(.delivered(HubSessionKey(slow), [value]))
    var program = try #require(try ask(asker).programs.first)
    #expect(program.waitingByteCount > 2_000 && program.isHeldBack)
    hub.take(slow)
    program = try #require(try ask(asker).programs.first)
    #expect(program.waitingByteCount == 0 && !program.isHeldBack)
  }

  @Test("what the host does for sessions is summed for their programs, and links have their users")
  mutating func hostPart() throws {
    let guide = try hub.serve("guide", sessions: [1, 2])
    let other = try hub.serve("other", process: 2)
    let asker = try hub.serve("status", sessions: [], process: 9)
    var host = Self.host
    let second = HubSessionKey(guide, HubSessionID(rawValue: 2))
    host.sessions[HubSessionKey(guide)] = .init()
    host.sessions[HubSessionKey(guide)]?.isScanning = true
    host.sessions[HubSessionKey(guide)]?.subscriptionCount = 2
    host.sessions[second] = host.sessions[HubSessionKey(guide)]
    host.sessions[second]?.isAdvertising = true
    host.sessions[second]?.isLate = true
    host.sessions[second]?.channelCount = 3
    let link = HubStatus.Link(peer: "C0:FF:EE:00:00:01", role: .central, stage: "open")
    let gone = HubSessionKey(HubConnectionID(rawValue: 999))
    host.links = [
      .init(link, users: [HubSessionKey(other), second, HubSessionKey(guide), gone]),
      .init(link, users: []),
    ]
    let status = try ask(asker, host)
    #expect(status.programs.map(\.app) == ["guide", "other"])
    #expect(status.programs.map(\.scanCount) == [2, 0])
    #expect(status.programs.map(\.advertisementCount) == [1, 0])
    #expect(status.programs.map(\.subscriptionCount) == [4, 0])
    #expect(status.programs.map(\.lateCount) == [1, 0])
    #expect(status.programs.map(\.channelCount) == [3, 0])
    #expect(status.links.map(\.users) == [[guide.rawValue, other.rawValue], []])
    #expect(status.links.map(\.userCount) == [2, 0])
  }

  @Test("another user sees own programs and links in full, and of others only how many there are")
  mutating func privacy() throws {
    let guide = try hub.serve("guide")
    let own = try hub.serve("own", process: 2)
    let asker = try hub.serve("status", sessions: [], process: 9)
    var host = Self.host
    let link = HubStatus.Link(peer: "C0:FF:EE:00:00:01", role: .central, stage: "open")
    host.links = [
      .init(link, users: [HubSessionKey(guide), HubSessionKey(own)]),
      .init(link, users: [HubSessionKey(guide)]), .init(link, users: []),
    ]
    // A copy in which two of the programs belong to another user, whom rules might allow.
    var machine = hub.machine
    for (id, app) in [(own, "own"), (asker, "status")] {
      let peer = HubPeer(userID: TestHub.user + 1, processID: 2)
      machine.connections[id] = ConnectionState(peer, HubLimits(), deadline: .zero)
      machine.connections[id]?.phase = .served(app: app)
    }
    let status = try #require(machine.status(host, for: asker, now: hub.now))
    #expect(status.programs.map(\.app) == ["own"] && status.counts.otherProgramCount == 1)
    #expect(status.links.map(\.users) == [[own.rawValue]] && status.links[0].userCount == 1)
    #expect(status.counts.otherLinkCount == 2)
    let all = try #require(machine.status(host, for: guide, now: hub.now))
    #expect(all.programs.map(\.app) == ["own", "status"] && all.links.count == 3)
  }

  @Test("a question replaces an earlier one of its program that is not answered")
  mutating func repeated() throws {
    let id = try hub.serve()
    for number in 1...1_000 as ClosedRange<UInt64> { try hub.send(.status(number), from: id) }
    #expect(hub.takeActions().filter { $0 == .readStatus }.count == 1)
    hub.handle(.statusRead(Self.host))
    guard case .status(1_000, _)? = try hub.messages(for: id).first else {
      Issue.record("no answer")
      return
    }
    hub.handle(.statusRead(Self.host))
    #expect(try hub.messages(for: id).isEmpty)
  }

  @Test("a reading of the host answers one program, in the order of their questions")
  mutating func crowd() throws {
    var ids: [HubConnectionID] = []
    for number in 1...20 as ClosedRange<Int32> {
      ids.append(try hub.serve("app", sessions: [], process: number))
    }
    for id in ids.reversed() { try hub.send(.status(1), from: id) }
    hub.handle(.disconnected(ids[19]))
    for expected in ids.dropLast().reversed() {
      #expect(hub.takeActions().filter { $0 == .readStatus }.count == 1)
      hub.handle(.statusRead(Self.host))
      for id in ids { #expect(try hub.messages(for: id).isEmpty == (id != expected)) }
    }
    #expect(!hub.takeActions().contains(.readStatus))
  }

  @Test("another user's question is answered before the crowd of questions of one user")
  mutating func crowdOfOneUser() throws {
    let crowd = try (1...20 as ClosedRange<Int32>).map {
      try hub.serve("app", sessions: [], process: $0)
    }
    for id in crowd { try hub.send(.status(1), from: id) }
    let root = try hub.serve("status", sessions: [], user: 0, process: 21)
    try hub.send(.status(1), from: root)
    for _ in 0..<2 { hub.handle(.statusRead(Self.host)) }
    #expect(try !hub.messages(for: crowd[0]).isEmpty && !hub.messages(for: root).isEmpty)
    hub.handle(.statusRead(Self.host))
    #expect(try !hub.messages(for: crowd[1]).isEmpty)
  }

  @Test("the state of the largest crowd of a user fits in a message")
  mutating func largeCrowd() throws {
    // Without the rig, which checks all connections after each step.
    var writer = HubFrameWriter()
    let name = String(repeating: "n", count: HubProtocol.textByteCountMax)
    try writer.append(AppMessage.greeting(HubGreeting(app: name, abilities: [])))
    for number in 1...2_047 as ClosedRange<Int32> {
      let id = HubConnectionID(rawValue: UInt64(number) + 1_000)
      var actions: [HubMachine.Action] = []
      let peer = HubPeer(userID: TestHub.user, processID: number)
      hub.machine.handle(.connected(id, peer), now: hub.now, into: &actions)
      hub.machine.handle(.received(id, writer.bytes), now: hub.now, into: &actions)
    }
    let status = try ask(try hub.serve("status", sessions: [], process: 4_000))
    #expect(status.programs.count == 2_047 && status.counts.otherProgramCount == 0)
  }

  @Test("the first message can't be a question for the state")
  mutating func early() throws {
    let id = hub.connect()
    try hub.send(.status(1), from: id)
    #expect(try hub.refusal(of: id) == .invalidMessage)
  }
}
