import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire
import Testing

@testable import HubMachines

@Suite("What one program may cost the hub and others")
struct LimitTests {
  private static let peer = DeviceAddress(bits: 0xC0FF_EE00_0001, kind: .public)

  private func value(_ byteCount: Int) -> HostEvent {
    .valueUpdated(Self.peer, handle: 3, ArraySlice([UInt8](repeating: 7, count: byteCount)))
  }

  @Test("connections beyond the limits of a process and of a user are refused and cost nothing")
  func connections() throws {
    var limits = HubLimits()
    limits.connectionCountPerProcessMax = 3
    limits.connectionCountPerUserMax = 5
    var hub = TestHub(limits)
    var refused = 0
    for number in 0..<10_000 {
      let id = hub.connect(process: number < 6 ? 1 : Int32(number))
      if try hub.refusal(of: id) == .limitReached { refused += 1 }
    }
    #expect(refused == 9_995)
    #expect(hub.machine.counts.connectionCount == 5)
    // All within one moment: one report, which is the first.
    let reports = hub.takeActions().filter { if case .report = $0 { true } else { false } }
    #expect(reports.count == 1)
  }

  @Test("programs of containers, which all have the process number 0, are not one process")
  func containers() throws {
    var limits = HubLimits()
    limits.connectionCountPerProcessMax = 3
    limits.connectionCountPerUserMax = 5
    var hub = TestHub(limits)
    let ids = try (1...5).map { try hub.serve("container \($0)", process: 0) }
    #expect(hub.machine.counts.connectionCount == ids.count)
    let next = hub.connect(process: 0)
    #expect(try hub.refusal(of: next) == .limitReached)
  }

  private func reports(_ hub: inout TestHub) -> [HubReport] {
    hub.takeActions().compactMap { if case .report(let report) = $0 { report } else { nil } }
  }

  private func connect(_ count: Int, to hub: inout TestHub) throws -> [HubConnectionID] {
    try (0..<count).map { _ in
      let id = hub.connect(process: 0)
      try hub.send(.greeting(HubGreeting(app: "guide", abilities: [])), from: id)
      return id
    }
  }

  @Test("a program that connects again and again is counted, and not reported each time")
  func flood() throws {
    var hub = TestHub()
    for _ in 0..<1_000 {
      for id in try connect(1, to: &hub) { hub.handle(.disconnected(id)) }
    }
    let first = reports(&hub)
    let opened = first.count { if case .opened = $0 { true } else { false } }
    let closed = first.count { if case .closed = $0 { true } else { false } }
    #expect((opened, closed, first.count) == (32, 32, 64))
    hub.now = try #require(hub.machine.nextWake)
    hub.handle(.wake)
    #expect(reports(&hub) == [.unreported(programCount: 968)])
    #expect(hub.machine.nextWake == nil)
  }

  @Test("programs that stay are all reported, some later, while others come and go")
  func staying() throws {
    var hub = TestHub()
    let ids = try connect(100, to: &hub)
    var opened: Set<HubConnectionID> = []
    for _ in 0..<4 {
      for case .opened(let id, _, _) in reports(&hub) { opened.insert(id) }
      hub.now = hub.now + .milliseconds(999)
      for id in try connect(40, to: &hub) { hub.handle(.disconnected(id)) }
      hub.now = hub.now + .milliseconds(1)
      for id in try connect(1, to: &hub) { hub.handle(.disconnected(id)) }
      hub.handle(.wake)
    }
    #expect(opened.isSuperset(of: ids))
    // What was reported is reported to end.
    _ = reports(&hub)
    for id in ids { hub.handle(.disconnected(id)) }
    #expect(reports(&hub) == ids.map { .closed($0, app: "guide", nil) })
  }

  @Test("a program that reads nothing loses its connection at the limit, and another one nothing")
  func stuckReader() throws {
    var limits = HubLimits()
    limits.waitingByteCountMax = 100_000
    var hub = TestHub(limits)
    let stuck = try hub.serve("stuck")
    let reader = try hub.serve("reader", process: 2)
    hub.stuck = [stuck]
    var count = 0
    while hub.machine.counts.connectionCount == 2 {
      count += 1
      try #require(count < 1_000)
      for id in [stuck, reader] { hub.handle(.delivered(HubSessionKey(id), [value(500)])) }
    }
    #expect(try hub.refusal(of: stuck) == .limitReached)
    #expect(hub.takeActions().contains(.closeSession(HubSessionKey(stuck))))
    #expect(count * 500 > 90_000)
    #expect(try hub.events(for: reader).count == count)
  }

  @Test("a program that reads keeps its connection, however much arrives for it in one turn")
  func largeTurn() throws {
    var limits = HubLimits()
    limits.waitingByteCountMax = 10_000
    var hub = TestHub(limits)
    let reader = try hub.serve("reader")
    let stuck = try hub.serve("stuck", process: 2)
    hub.stuck = [stuck]
    let values = (0..<50).map { _ in value(500) }
    for id in [reader, stuck] {
      hub.handle(.delivered(HubSessionKey(id), values))
    }
    #expect(try hub.events(for: reader).count == 50)
    #expect(try hub.refusal(of: reader) == nil)
    #expect(try hub.refusal(of: stuck) == .limitReached)
    #expect(hub.machine.counts.connectionCount == 1)
  }

  @Test("a program's requests are not read while it doesn't read the answers")
  func pause() throws {
    var limits = HubLimits()
    limits.waitingByteCountHigh = 1_000
    limits.waitingByteCountLow = 100
    var hub = TestHub(limits)
    let id = try hub.serve()
    hub.stuck = [id]
    for _ in 0..<2 { hub.handle(.delivered(HubSessionKey(id), [value(600)])) }
    #expect(hub.takeActions().contains(.setReading(id, false)))
    hub.take(id)
    #expect(hub.takeActions().contains(.setReading(id, true)))
  }

  @Test("the program with the most waiting bytes ends if those of its user have too many")
  func userLimit() throws {
    var limits = HubLimits()
    limits.waitingByteCountPerUserMax = 100_000
    var hub = TestHub(limits)
    let ids = try (1...3).map { try hub.serve("app \($0)", process: $0) }
    hub.stuck = Set(ids)
    for round in 0..<200 {
      for (index, id) in ids.enumerated() where round % 3 <= index {
        hub.handle(.delivered(HubSessionKey(id), [value(500)]))
      }
      if hub.machine.counts.connectionCount < 3 { break }
    }
    #expect(try hub.refusal(of: ids[2]) == .limitReached)
    #expect(hub.machine.counts.connectionCount == 2)
  }

  @Test(
    "bytes of a message that never ends are bounded before the greeting, and for each user after it"
  )
  func incomplete() throws {
    var limits = HubLimits()
    limits.incompleteByteCountPerUserMax = 500_000
    var hub = TestHub(limits)
    let stranger = hub.connect()
    hub.handle(.received(stranger, [0, 0, 3, 0]))
    #expect(try hub.refusal(of: stranger) == .invalidMessage)
    let ids = try (1...2).map { try hub.serve("app \($0)", process: $0) }
    for id in ids { hub.handle(.received(id, [0, 0, 32, 0])) }
    hub.handle(.received(ids[0], [UInt8](repeating: 0, count: 300_000)))
    #expect(hub.machine.counts.connectionCount == 2)
    hub.handle(.received(ids[1], [UInt8](repeating: 0, count: 250_000)))
    #expect(try hub.refusal(of: ids[0]) == .limitReached)
    #expect(hub.machine.counts.connectionCount == 1)
  }

  @Test("a program that causes answers of the hub and handles none of them loses its connection")
  func ownAnswers() throws {
    var limits = HubLimits()
    limits.ownCompletionCountMax = 50
    var hub = TestHub(limits)
    let id = try hub.serve()
    for _ in 0..<50 { hub.handle(.received(id, [4, 0, 0, 0, 0x91, 1, 0xFE, 7])) }
    #expect(hub.machine.counts.connectionCount == 1)
    hub.handle(.received(id, [4, 0, 0, 0, 0x91, 1, 0xFE, 7]))
    #expect(try hub.refusal(of: id) == .limitReached)
  }

  @Test("answers of the hub that are not handled are bounded for all sessions, and for each user")
  func ownAnswersOfMany() throws {
    var limits = HubLimits()
    limits.ownCompletionCountMax = 50
    limits.ownCompletionCountPerUserMax = 70
    var hub = TestHub(limits)
    func cause(_ count: Int, _ id: HubConnectionID, session: UInt8 = 1) {
      for _ in 0..<count { hub.handle(.received(id, [4, 0, 0, 0, 0x91, session, 0xFE, 7])) }
    }
    let many = try hub.serve("many", sessions: [1, 2, 3])
    for session in 1...2 as ClosedRange<UInt8> { cause(25, many, session: session) }
    // Handled ones and those of a closed session don't count.
    try hub.send(.eventsHandled(HubSessionID(rawValue: 1), count: 10), from: many)
    try hub.send(.closeSession(HubSessionID(rawValue: 2)), from: many)
    cause(35, many, session: 3)
    #expect(try hub.refusal(of: many) == nil)
    let other = try hub.serve("other", process: 2)
    cause(20, other)
    #expect(hub.machine.counts.connectionCount == 2)
    cause(1, other)
    #expect(try hub.refusal(of: many) == .limitReached)
    hub.handle(.disconnected(other))
    let both = try hub.serve("both", sessions: [1, 2])
    for session in 1...2 as ClosedRange<UInt8> { cause(25, both, session: session) }
    #expect(hub.machine.counts.connectionCount == 1)
    cause(1, both, session: 2)
    #expect(try hub.refusal(of: both) == .limitReached)
  }

  @Test("sessions beyond the limit, and a second one of the same number, end the connection")
  func sessions() throws {
    var limits = HubLimits()
    limits.sessionCountMax = 2
    var hub = TestHub(limits)
    let many = try hub.serve("many", sessions: [1, 2])
    try hub.send(
      .openSession(SessionOpening(id: HubSessionID(rawValue: 3), acknowledgesEvents: true)),
      from: many)
    #expect(try hub.refusal(of: many) == .limitReached)
    let twice = try hub.serve("twice")
    try hub.send(
      .openSession(SessionOpening(id: HubSessionID(rawValue: 1), acknowledgesEvents: true)),
      from: twice)
    #expect(try hub.refusal(of: twice) == .invalidMessage)
  }

  @Test(
    "bytes that are no message end the connection, and the others go on",
    arguments: [
      [0, 0, 0, 0], [255, 255, 255, 255], [1, 0, 0, 0, 0xFF], [2, 0, 0, 0, 0x91, 1],
    ] as [[UInt8]])
  func garbage(bytes: [UInt8]) throws {
    var hub = TestHub()
    let hostile = try hub.serve("hostile")
    let other = try hub.serve("other", process: 2)
    hub.handle(.received(hostile, bytes))
    let reason = try hub.refusal(of: hostile)
    #expect(reason == .invalidMessage || reason == .notUnderstood)
    try hub.send(.ping(1), from: other)
    #expect(try hub.messages(for: other) == [.pong(1)])
  }
}
