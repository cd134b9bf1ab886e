import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@testable import PortSharing

@Suite("An owner and its clients")
struct OwnerMachineTests {
  private var now = Instant.zero
  private let configuration = SharedConfiguration(hostName: "here")
  private let anna = OwnerMachine.ConnectionID(rawValue: 1)
  private let ben = OwnerMachine.ConnectionID(rawValue: 2)
  private let query = QueryID(rawValue: 1)
  private let registration = RegistrationID(rawValue: 1)

  private func machine(limits: OwnerMachine.Limits = .init()) -> OwnerMachine {
    OwnerMachine(configuration: configuration, limits: limits)
  }

  private func act(
    _ machine: inout OwnerMachine, _ event: OwnerMachine.Event
  ) -> [OwnerMachine.Action] {
    var actions: [OwnerMachine.Action] = []
    machine.handle(event, now: now, into: &actions)
    return actions
  }

  private mutating func wake(_ machine: inout OwnerMachine) -> [OwnerMachine.Action] {
    now = machine.nextWake ?? now
    var actions: [OwnerMachine.Action] = []
    machine.wake(now: now, into: &actions)
    return actions
  }

  private func greeted(
    _ machine: inout OwnerMachine, _ client: OwnerMachine.ConnectionID, userID: UInt32 = 1_000
  ) {
    #expect(act(&machine, .connected(client, userID: userID)) == [])
    #expect(
      act(&machine, .received(.hello(versions: 1...9, configuration), from: client)).first
        == .send(.welcome(version: 3), to: client))
  }

  private func forwarded(_ actions: [OwnerMachine.Action]) -> DiscoveryRequest? {
    if case .forward(let request)? = actions.first { request } else { nil }
  }

  @Test("a client gets a welcome and the interfaces, also when they change")
  func welcome() {
    var machine = machine()
    let one = [InterfaceIndex(rawValue: 1): "eth0"]
    #expect(act(&machine, .report(.interfaces(one))) == [])
    #expect(act(&machine, .connected(anna, userID: 1_000)) == [])
    #expect(
      act(&machine, .received(.hello(versions: 1...1, configuration), from: anna)) == [
        .send(.welcome(version: 1), to: anna), .send(.report(.interfaces(one)), to: anna),
      ])
    #expect(
      act(&machine, .report(.interfaces([:]))) == [
        .send(.report(.interfaces([:])), to: anna)
      ])
    #expect(act(&machine, .received(.ping, from: anna)) == [.send(.pong, to: anna)])
  }

  @Test(
    "what clients have is counted by its kind, and so are requests beyond a quota, and refusals")
  func counts() throws {
    var machine = machine()
    #expect(act(&machine, .connected(anna, userID: 1_000, requestCountMax: 4)) == [])
    _ = act(&machine, .received(.hello(versions: 1...3, configuration), from: anna))
    let type = try Sample.type()
    let browser = DiscoveryRequest.startQuery(query, .browse(type), on: nil)
    let other = DiscoveryRequest.startQuery(QueryID(rawValue: 2), .serviceTypes(), on: nil)
    let service = DiscoveryRequest.registerService(registration, try Sample.service("Lamp"))
    for request in [browser, other, service] {
      _ = act(&machine, .received(.request(request), from: anna))
    }
    var statuses = machine.clientStatuses
    #expect(statuses.map(\.id) == [anna])
    #expect(statuses.first?.status.serviceCount == 1 && statuses.first?.status.recordCount == 0)
    #expect(statuses.first?.status.browserCount == 1 && statuses.first?.status.queryCount == 1)
    #expect(machine.refusals.requestCount == 0 && machine.refusals.connectionCounts.isEmpty)
    _ = act(&machine, .received(.request(.stopQuery(query)), from: anna))
    statuses = machine.clientStatuses
    #expect(statuses.first?.status.browserCount == 0 && statuses.first?.status.queryCount == 1)
    // The fifth request is one too many.
    for number in 3...5 as ClosedRange<UInt64> {
      let more = DiscoveryRequest.startQuery(QueryID(rawValue: number), .browse(type), on: nil)
      _ = act(&machine, .received(.request(more), from: anna))
    }
    #expect(machine.clientStatuses.isEmpty)
    #expect(machine.refusals.requestCount == 1)
    #expect(machine.refusals.connectionCounts == [.rejected(.tooManyRequests): 1])
    #expect(act(&machine, .connected(ben, userID: 1_000)) == [])
    _ = act(&machine, .invalidMessage(ben))
    #expect(machine.refusals.connectionCounts[.rejected(.invalidMessage)] == 1)
  }

  @Test("clients with the same numbers get different ones, and each its own answers")
  func numbers() throws {
    var machine = machine()
    greeted(&machine, anna)
    greeted(&machine, ben)
    let ask = DiscoveryRequest.startQuery(query, .browse(try Sample.type()), on: nil)
    guard
      case .startQuery(let first, _, _, _)? = forwarded(
        act(&machine, .received(.request(ask), from: anna))),
      case .startQuery(let second, _, _, _)? = forwarded(
        act(&machine, .received(.request(ask), from: ben)))
    else { throw Failure() }
    #expect(Set([first, second, query]).count == 3)
    let event = QueryEvent.serviceAdded(try Sample.name("Lamp"))
    let report = DiscoveryReport.found(query, event, on: nil, moreComing: true)
    #expect(
      act(&machine, .report(.found(first, event, on: nil, moreComing: true))) == [
        .send(.report(report), to: anna)
      ])
    #expect(
      act(&machine, .report(.found(second, event, on: nil, moreComing: true))) == [
        .send(.report(report), to: ben)
      ])
    #expect(act(&machine, .report(report)) == [], "the number is a client's")
    #expect(
      act(&machine, .received(.request(.stopQuery(query)), from: anna)) == [
        .forward(.stopQuery(first))
      ])
    #expect(act(&machine, .report(.found(first, event, on: nil, moreComing: true))) == [])
  }

  @Test("a client that supports it learns that results are from the cache")
  func fromCache() throws {
    var machine = machine()
    greeted(&machine, anna)
    _ = act(&machine, .connected(ben, userID: 1_000))
    _ = act(&machine, .received(.hello(versions: 1...1, configuration), from: ben))
    let ask = DiscoveryRequest.startQuery(query, .browse(try Sample.type()), on: nil)
    for (client, isTold) in [(anna, true), (ben, false)] {
      guard
        case .startQuery(let number, _, _, _)? = forwarded(
          act(&machine, .received(.request(ask), from: client)))
      else { throw Failure() }
      #expect(
        act(&machine, .report(.answersFromCache(number)))
          == (isTold ? [.send(.report(.answersFromCache(query)), to: client)] : []))
    }
  }

  @Test("when a client is gone its services are unregistered and its queries end")
  func gone() throws {
    var machine = machine()
    greeted(&machine, anna)
    let publish = DiscoveryRequest.registerService(registration, try Sample.service("Lamp"))
    let ask = DiscoveryRequest.startQuery(query, .browse(try Sample.type()), on: nil)
    guard
      case .registerService(let number, _)? = forwarded(
        act(&machine, .received(.request(publish), from: anna))),
      case .startQuery(let question, _, _, _)? = forwarded(
        act(&machine, .received(.request(ask), from: anna)))
    else { throw Failure() }
    #expect(machine.clientRegistrations == [number])
    #expect(
      act(&machine, .disconnected(anna)) == [
        .forward(.unregister(number)), .forward(.stopQuery(question)),
      ])
    #expect(machine.clientCount == 0 && machine.clientRegistrations == [])
    #expect(act(&machine, .disconnected(anna)) == [])
    #expect(act(&machine, .report(.registered(number, "x.local."))) == [])
  }

  @Test(
    "a client that sends messages out of order, twice or invalid is disconnected, and loses all")
  func invalidMessage() throws {
    let publish = DiscoveryRequest.registerService(registration, try Sample.service("Lamp"))
    let ask = DiscoveryRequest.startQuery(query, .browse(try Sample.type()), on: nil)
    let rejected: [OwnerMachine.Action] = [
      .send(.rejected(.invalidMessage), to: anna), .close(anna),
    ]
    var machine = machine()
    _ = act(&machine, .connected(anna, userID: 1_000))
    #expect(act(&machine, .received(.request(ask), from: anna)) == rejected)
    #expect(act(&machine, .received(.request(ask), from: anna)) == [], "it is gone")
    let hello = ClientMessage.hello(versions: 1...1, configuration)
    for second in [hello, .request(ask), .request(publish)] {
      greeted(&machine, anna)
      _ = act(&machine, .received(.request(ask), from: anna))
      _ = act(&machine, .received(.request(publish), from: anna))
      let actions = act(&machine, .received(second, from: anna))
      #expect(Array(actions.prefix(2)) == rejected)
      #expect(actions.count == 4, "what it wanted ends")
    }
    greeted(&machine, anna)
    #expect(act(&machine, .invalidMessage(anna)) == rejected)
    for request: DiscoveryRequest in [
      .stopQuery(query), .unregister(registration), .updateText(registration, TXTRecord()),
    ] {
      greeted(&machine, anna)
      #expect(act(&machine, .received(.request(request), from: anna)) == [], "it may be late")
      _ = act(&machine, .disconnected(anna))
    }
  }

  @Test("what a client that has left continues elsewhere is not withdrawn, other clients' is kept")
  func leaving() throws {
    var machine = machine()
    greeted(&machine, anna)
    greeted(&machine, ben)
    let publish = ClientMessage.request(.registerService(registration, try Sample.service("Lamp")))
    let browse = ClientMessage.request(.startQuery(query, .browse(try Sample.type()), on: nil))
    var numbers: [RegistrationID] = []
    for client in [anna, ben] {
      let registered = forwarded(act(&machine, .received(publish, from: client)))
      numbers.append(try #require(registered?.registration))
    }
    guard
      case .startQuery(let asked, _, _, _)? = forwarded(
        act(&machine, .received(browse, from: anna)))
    else {
      Issue.record("not forwarded")
      return
    }
    #expect(
      act(&machine, .received(.leaving, from: anna)) == [
        .handOver(numbers[0]), .forward(.stopQuery(asked)), .close(anna),
      ])
    #expect(act(&machine, .received(.leaving, from: anna)) == [], "it was closed")
    #expect(act(&machine, .disconnected(ben)) == [.forward(.unregister(numbers[1]))])
    let cara = OwnerMachine.ConnectionID(rawValue: 3)
    _ = act(&machine, .connected(cara, userID: 1_000))
    #expect(
      act(&machine, .received(.leaving, from: cara)) == [
        .send(.rejected(.invalidMessage), to: cara), .close(cara),
      ], "it was never there")
  }

  @Test("an owner notices that it did not run for so long that clients have left it")
  mutating func stopped() {
    var machine = machine()
    var results: [Bool] = []
    machine.noteRunning(now: now)
    results.append(machine.wasStopped(now: now))
    now = now + .seconds(100)
    results.append(machine.wasStopped(now: now))
    #expect(results == [false, false], "it has no clients")
    greeted(&machine, anna)
    // A client is silent for that long between its pings.
    machine.noteRunning(now: now)
    now = now + OwnerSearch.Limits.silence + .milliseconds(250)
    results = [machine.wasStopped(now: now)]
    machine.noteRunning(now: now)
    // After that long a client leaves that had just pinged the owner.
    now = now + OwnerSearch.Limits.responseTimeout
    results.append(machine.wasStopped(now: now))
    machine.noteRunning(now: now)
    results.append(machine.wasStopped(now: now))
    #expect(results == [false, true, false], "once")
  }

  @Test("another version, name or set of interfaces is turned away")
  func others() {
    var machine = machine()
    for (message, reason) in [
      (
        ClientMessage.hello(versions: 4...9, configuration),
        OwnerMessage.RejectionReason.otherVersion
      ),
      (.hello(versions: 1...1, .init(hostName: "there")), .otherConfiguration),
      (.hello(versions: 1...1, .init(hostName: "here", interfaceNames: [])), .otherConfiguration),
    ] {
      _ = act(&machine, .connected(anna, userID: 1_000))
      #expect(
        act(&machine, .received(message, from: anna)) == [
          .send(.rejected(reason), to: anna), .close(anna),
        ])
    }
  }

  @Test("a host trusts the hub of root and of its own user")
  func trust() {
    let (root, user) = (OwnerMachine.Trust(userID: 0), OwnerMachine.Trust(userID: 1_000))
    #expect(root.trusts(0) && !root.trusts(1_000))
    #expect(user.trusts(0) && user.trusts(1_000) && !user.trusts(1_001))
    let unknown = OwnerMachine.Trust(userID: OwnerMachine.Trust.overflowUserID)
    #expect(unknown.trusts(0) && !unknown.trusts(unknown.userID), "it may be anybody's")
  }

  @Test("G12: every bound holds, and released resources may be used again")
  func bounds() throws {
    var limits = OwnerMachine.Limits()
    (limits.clientsMax, limits.clientsPerUserMax) = (3, 2)
    let byteCount = limits.inAll.byteCount
    limits.perClient = .init(requestCount: 2, byteCount: byteCount)
    limits.perUser = .init(requestCount: 3, byteCount: byteCount)
    limits.inAll = .init(requestCount: 4, byteCount: byteCount)
    var machine = machine(limits: limits)
    func client(_ number: UInt64) -> OwnerMachine.ConnectionID { .init(rawValue: number) }
    func isRefused(_ actions: [OwnerMachine.Action], _ reason: OwnerMessage.RejectionReason) -> Bool
    {
      if case .send(.rejected(reason), _)? = actions.first { true } else { false }
    }
    func wish(_ number: UInt64, of id: UInt64) -> [OwnerMachine.Action] {
      let ask = DiscoveryRequest.startQuery(QueryID(rawValue: number), .serviceTypes(), on: nil)
      return act(&machine, .received(.request(ask), from: client(id)))
    }
    greeted(&machine, client(1), userID: 5)
    greeted(&machine, client(2), userID: 5)
    #expect(isRefused(act(&machine, .connected(client(3), userID: 5)), .tooManyClients))
    greeted(&machine, client(4), userID: 6)
    #expect(isRefused(act(&machine, .connected(client(5), userID: 7)), .tooManyClients))
    #expect(forwarded(wish(1, of: 1)) != nil && forwarded(wish(2, of: 1)) != nil)
    #expect(forwarded(wish(1, of: 2)) != nil)
    #expect(isRefused(wish(2, of: 2), .tooManyRequests), "its user has three")
    #expect(machine.clientCount == 2)
    #expect(forwarded(wish(1, of: 4)) != nil && forwarded(wish(2, of: 4)) != nil)
    greeted(&machine, client(6), userID: 5)
    #expect(isRefused(wish(1, of: 6), .tooManyRequests), "all have four")
    _ = act(&machine, .received(.request(.stopQuery(QueryID(rawValue: 1))), from: client(1)))
    greeted(&machine, client(7), userID: 5)
    #expect(forwarded(wish(1, of: 7)) != nil)
    #expect(isRefused(wish(3, of: 4), .tooManyRequests), "a client has two")
  }

  @Test("G12: a client has no more requests than its quota, which raises no limit")
  func quota() throws {
    var limits = OwnerMachine.Limits()
    limits.perClient.requestCount = 3
    for (quota, max) in [(Int?.some(1), 1), (.some(9), 3), (nil, 3), (.some(0), 0)] {
      var machine = machine(limits: limits)
      _ = act(&machine, .connected(anna, userID: 1_000, requestCountMax: quota))
      let hello = ClientMessage.hello(versions: PortSharingProtocol.versions, configuration)
      _ = act(&machine, .received(hello, from: anna))
      let results = (1...UInt64(max + 1)).map { number in
        let ask = DiscoveryRequest.startQuery(QueryID(rawValue: number), .serviceTypes(), on: nil)
        return act(&machine, .received(.request(ask), from: anna))
      }
      #expect(results.dropLast().allSatisfy { forwarded($0) != nil })
      #expect(
        results.last.map { Array($0.prefix(2)) } == [
          .send(.rejected(.tooManyRequests), to: anna), .close(anna),
        ])
    }
  }

  @Test("added records of a service count, and are released with it")
  func addedRecords() throws {
    var limits = OwnerMachine.Limits()
    limits.perClient.requestCount = 4
    var machine = machine(limits: limits)
    greeted(&machine, anna)
    let publish = DiscoveryRequest.registerService(registration, try Sample.service("Lamp"))
    func set(_ number: UInt32, _ data: DNSRecordData?) -> [OwnerMachine.Action] {
      act(
        &machine,
        .received(
          .request(.setRecord(registration, number, data, ttlSeconds: 9)), from: anna))
    }
    let data = DNSRecordData.a(Inet4Address(1, 2, 3, 4))
    #expect(set(1, data) == [], "there is no such service")
    for _ in 0..<2 {
      _ = act(&machine, .received(.request(publish), from: anna))
      for number: UInt32 in [1, 2, 3, 3] { #expect(forwarded(set(number, data)) != nil) }
      #expect(forwarded(set(2, nil)) != nil && forwarded(set(4, data)) != nil)
      _ = act(&machine, .received(.request(.unregister(registration)), from: anna))
    }
    _ = act(&machine, .received(.request(publish), from: anna))
    for number: UInt32 in 1...3 { _ = set(number, data) }
    #expect(
      Array(set(4, data).prefix(2)) == [.send(.rejected(.tooManyRequests), to: anna), .close(anna)])
  }

  @Test("G12: publications count in bytes, each subtype and change, too")
  func bytes() throws {
    var limits = OwnerMachine.Limits()
    limits.perClient = .init(requestCount: 3, byteCount: 60)
    let tooMuch: [OwnerMachine.Action] = [
      .send(.rejected(.tooManyRequests), to: anna), .close(anna),
    ]
    func text(_ count: Int) throws -> TXTRecord {
      try TXTRecord(strings: [[UInt8](repeating: 97, count: count - 1)])
    }
    func service(_ subtypes: [DNSLabel] = [], textByteCount: Int) throws -> DiscoveryRequest {
      .registerService(
        registration,
        try ServiceRegistration(
          Sample.name("Lamp"), subtypes: subtypes, port: 80, text: text(textByteCount)))
    }
    let data = DNSRecordData.opaque(DNSType(rawValue: 99), [UInt8](repeating: 1, count: 11))
    let record = DNSRecord(name: "x.local.", ttlSeconds: 9, data: data)
    for excess: [DiscoveryRequest] in try [
      [service(["a", "b", "c"], textByteCount: 9)], [service(textByteCount: 61)],
      [service(textByteCount: 50), .updateText(registration, text(61))],
      [
        service(textByteCount: 50),
        .setRecord(registration, 1, .opaque(DNSType(rawValue: 99), [1]), ttlSeconds: 9),
        .setRecord(registration, 1, data, ttlSeconds: 9),
      ],
      [
        service(textByteCount: 50),
        .registerRecord(RegistrationID(rawValue: 2), RecordRegistration(record, .shared)),
      ],
      [
        .registerRecord(registration, RecordRegistration(record, .shared)),
        .updateRecord(
          registration, .opaque(DNSType(rawValue: 99), [UInt8](repeating: 1, count: 61)),
          ttlSeconds: 9),
      ],
    ] {
      var machine = machine(limits: limits)
      greeted(&machine, anna)
      for request in excess.dropLast() {
        #expect(forwarded(act(&machine, .received(.request(request), from: anna))) != nil)
      }
      let last = ClientMessage.request(try #require(excess.last))
      #expect(Array(act(&machine, .received(last, from: anna)).prefix(2)) == tooMuch)
    }
    var machine = machine(limits: limits)
    greeted(&machine, anna)
    for _ in 0..<3 {
      for request in try [
        service(["a"], textByteCount: 40), .updateText(registration, text(49)),
        .setRecord(registration, 1, data, ttlSeconds: 9),
        .updateText(registration, text(20)), .unregister(registration),
      ] {
        #expect(forwarded(act(&machine, .received(.request(request), from: anna))) != nil)
      }
    }
  }

  @Test("G12: with too many incomplete messages the client with the most may come back")
  func begun() {
    var limits = OwnerMachine.Limits()
    (limits.incompleteByteCountPerUserMax, limits.incompleteByteCountMax) = (100, 150)
    var machine = machine(limits: limits)
    let carl = OwnerMachine.ConnectionID(rawValue: 3)
    func begin(_ client: OwnerMachine.ConnectionID, _ byteCount: Int) -> [OwnerMachine.Action] {
      act(&machine, .incomplete(client, byteCount: byteCount))
    }
    _ = act(&machine, .connected(anna, userID: 1))
    _ = act(&machine, .connected(ben, userID: 1))
    _ = act(&machine, .connected(carl, userID: 2))
    #expect(begin(anna, 60) == [] && begin(ben, 40) == [])
    #expect(begin(anna, 0) == [] && begin(anna, 60) == [], "a message that ended no longer counts")
    #expect(begin(ben, 41) == [.close(anna)], "its user has 101 bytes")
    #expect(begin(anna, 1_000) == [], "it is gone")
    _ = act(&machine, .connected(anna, userID: 1))
    #expect(begin(anna, 39) == [] && begin(carl, 70) == [])
    #expect(begin(carl, 71) == [.close(ben)], "all have 151 bytes, and ben's user has most")
    _ = act(&machine, .disconnected(carl))
    #expect(begin(anna, 0) == [])
    #expect(begin(anna, 100) == [], "who is gone has nothing")
  }

  @Test(
    "G12: the clients of the user with the largest backlog are closed, no more than needed")
  func congested() throws {
    var machine = machine()
    let (carl, dora) = (
      OwnerMachine.ConnectionID(rawValue: 3), OwnerMachine.ConnectionID(rawValue: 4)
    )
    greeted(&machine, anna, userID: 1)
    for client in [ben, carl, dora] { greeted(&machine, client, userID: 2) }
    let publish = DiscoveryRequest.registerService(registration, try Sample.service("Lamp"))
    let number = act(&machine, .received(.request(publish), from: ben))
    let backlogs = [anna: 50, ben: 40, carl: 30, dora: 0]
    #expect(act(&machine, .congested(backlogs, excess: 0)) == [])
    guard case .registerService(let id, _)? = forwarded(number) else { throw Failure() }
    #expect(
      act(&machine, .congested(backlogs, excess: 41)) == [
        .close(ben), .forward(.unregister(id)), .close(anna),
      ])
    #expect(act(&machine, .congested(backlogs, excess: 1_000)) == [.close(carl)])
    #expect(machine.clientCount == 1)
  }

  @Test("G12: a client without a greeting in time is closed without a message, and others are not")
  mutating func silent() {
    var machine = machine()
    let limits = OwnerMachine.Limits()
    greeted(&machine, anna)
    _ = act(&machine, .connected(ben, userID: 1_000))
    now = now + .milliseconds(500)
    let carl = OwnerMachine.ConnectionID(rawValue: 3)
    _ = act(&machine, .connected(carl, userID: 1_000))
    _ = act(&machine, .received(.ping, from: carl))
    #expect(wake(&machine) == [.close(ben)])
    #expect(now == Instant.zero + limits.greetingTime)
    #expect(wake(&machine) == [.close(carl)])
    #expect(now == Instant.zero + limits.greetingTime + limits.greetingSpacing)
    #expect(machine.clientCount == 1 && machine.nextWake == nil)
    #expect(act(&machine, .received(.ping, from: carl)) == [], "it is gone")
  }

  @Test("G12: one client, and one user, may reconfirm a limited number of records in a while")
  mutating func reconfirmations() {
    var limits = OwnerMachine.Limits()
    (limits.reconfirmationsPerClientMax, limits.reconfirmationsPerUserMax) = (2, 3)
    var machine = machine(limits: limits)
    let carl = OwnerMachine.ConnectionID(rawValue: 3)
    greeted(&machine, anna)
    greeted(&machine, ben)
    greeted(&machine, carl, userID: 7)
    let reconfirm = ClientMessage.request(.reconfirm(Sample.record, on: nil))
    for _ in 0..<2 {
      let passed = [anna, anna, anna, ben, ben, carl].map {
        act(&machine, .received(reconfirm, from: $0)).count
      }
      #expect(passed == [1, 1, 0, 1, 0, 1])
      now = now + limits.reconfirmationSpan
    }
  }

  @Test("a limit of few descriptors leaves some connections for other users")
  func descriptors() {
    let limits = OwnerMachine.Limits(connectionsMax: 100)
    #expect(limits.clientsMax == 100 && limits.clientsPerUserMax == 60)
    let many = OwnerMachine.Limits(connectionsMax: .max)
    #expect(many.clientsMax == 10_000 && many.clientsPerUserMax == 6_000)
  }

  @Test("a request that is refused or fails no longer counts, and its number may be used again")
  func refused() throws {
    var machine = machine()
    greeted(&machine, anna)
    let publish = DiscoveryRequest.registerService(registration, try Sample.service("Lamp"))
    let ask = DiscoveryRequest.startQuery(query, .serviceTypes(), on: nil)
    for _ in 0..<3 {
      guard
        case .registerService(let number, _)? = forwarded(
          act(&machine, .received(.request(publish), from: anna))),
        case .startQuery(let question, _, _, _)? = forwarded(
          act(&machine, .received(.request(ask), from: anna)))
      else { throw Failure() }
      #expect(
        act(&machine, .report(.refused(number, "x.local."))) == [
          .send(.report(.refused(registration, "x.local.")), to: anna)
        ])
      let failure = DiscoveryReport.found(
        question, .failed(.nameTooLong), on: nil, moreComing: false)
      #expect(act(&machine, .report(failure)).count == 1)
    }
    #expect(act(&machine, .disconnected(anna)) == [])
  }

  private struct Failure: Error {}
}
