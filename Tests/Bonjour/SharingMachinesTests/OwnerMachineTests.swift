import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@testable import SharingMachines

@Suite("An owner and its clients")
struct OwnerMachineTests {
  private let configuration = SharedConfiguration(hostName: "here")
  private let anna = OwnerMachine.ClientID(rawValue: 1)
  private let ben = OwnerMachine.ClientID(rawValue: 2)
  private let query = QueryID(rawValue: 1)
  private let registration = RegistrationID(rawValue: 1)

  private func machine(
    userID: UInt32 = 1_000, limits: OwnerMachine.Limits = .init()
  ) -> OwnerMachine {
    OwnerMachine(configuration: configuration, trust: .init(userID: userID), limits: limits)
  }

  private func act(
    _ machine: inout OwnerMachine, _ event: OwnerMachine.Event
  ) -> [OwnerMachine.Action] {
    var actions: [OwnerMachine.Action] = []
    machine.handle(event, into: &actions)
    return actions
  }

  private func greeted(
    _ machine: inout OwnerMachine, _ client: OwnerMachine.ClientID, userID: UInt32 = 1_000
  ) {
    #expect(act(&machine, .arrived(client, userID: userID)) == [])
    #expect(
      act(&machine, .received(.hello(versions: 1...3, configuration), from: client)).first
        == .send(.welcome(version: 1), to: client))
  }

  private func forwarded(_ actions: [OwnerMachine.Action]) -> HostRequest? {
    if case .forward(let request)? = actions.first { request } else { nil }
  }

  @Test("a client is welcomed and told the interfaces, also when they change")
  func welcome() {
    var machine = machine()
    let one = [InterfaceIndex(rawValue: 1): "eth0"]
    #expect(act(&machine, .report(.interfaces(one))) == [.tell(.interfaces(one))])
    #expect(act(&machine, .arrived(anna, userID: 1_000)) == [])
    #expect(
      act(&machine, .received(.hello(versions: 1...1, configuration), from: anna)) == [
        .send(.welcome(version: 1), to: anna), .send(.report(.interfaces(one)), to: anna),
      ])
    #expect(
      act(&machine, .report(.interfaces([:]))) == [
        .tell(.interfaces([:])), .send(.report(.interfaces([:])), to: anna),
      ])
    #expect(act(&machine, .received(.ping, from: anna)) == [.send(.pong, to: anna)])
  }

  @Test("clients with the same numbers get different ones, and each its own answers")
  func numbers() throws {
    var machine = machine()
    greeted(&machine, anna)
    greeted(&machine, ben)
    let ask = HostRequest.ask(query, .browse(try Sample.type()), on: nil)
    guard
      case .ask(let first, _, _, _)? = forwarded(
        act(&machine, .received(.request(ask), from: anna))),
      case .ask(let second, _, _, _)? = forwarded(
        act(&machine, .received(.request(ask), from: ben)))
    else { throw Failure() }
    #expect(act(&machine, .request(ask)) == [.forward(ask)], "the process's own host")
    #expect(Set([first, second, query]).count == 3)
    let event = QueryEvent.serviceAdded(try Sample.name("Lamp"))
    let report = HostReport.found(query, event, on: nil, moreComing: true)
    #expect(
      act(&machine, .report(.found(first, event, on: nil, moreComing: true))) == [
        .send(.report(report), to: anna)
      ])
    #expect(
      act(&machine, .report(.found(second, event, on: nil, moreComing: true))) == [
        .send(.report(report), to: ben)
      ])
    #expect(act(&machine, .report(report)) == [.tell(report)])
    #expect(
      act(&machine, .received(.request(.stopAsking(query)), from: anna)) == [
        .forward(.stopAsking(first))
      ])
    #expect(act(&machine, .report(.found(first, event, on: nil, moreComing: true))) == [])
  }

  @Test("when a client is gone its services are withdrawn and its queries end")
  func gone() throws {
    var machine = machine()
    greeted(&machine, anna)
    let publish = HostRequest.publish(registration, try Sample.service("Lamp"))
    let ask = HostRequest.ask(query, .browse(try Sample.type()), on: nil)
    guard
      case .publish(let number, _)? = forwarded(
        act(&machine, .received(.request(publish), from: anna))),
      case .ask(let question, _, _, _)? = forwarded(
        act(&machine, .received(.request(ask), from: anna)))
    else { throw Failure() }
    #expect(machine.clientRegistrations == [number])
    #expect(
      act(&machine, .left(anna)) == [
        .forward(.withdraw(number)), .forward(.stopAsking(question)),
      ])
    #expect(machine.clientCount == 0 && machine.clientRegistrations == [])
    #expect(act(&machine, .left(anna)) == [])
    #expect(act(&machine, .report(.published(number, "x.local."))) == [])
  }

  @Test("who speaks out of turn, says something twice or nonsense is turned away, and loses all")
  func misunderstood() throws {
    let publish = HostRequest.publish(registration, try Sample.service("Lamp"))
    let ask = HostRequest.ask(query, .browse(try Sample.type()), on: nil)
    let turnedAway: [OwnerMachine.Action] = [
      .send(.turnedAway(.misunderstood), to: anna), .close(anna),
    ]
    var machine = machine()
    _ = act(&machine, .arrived(anna, userID: 1_000))
    #expect(act(&machine, .received(.request(ask), from: anna)) == turnedAway)
    #expect(act(&machine, .received(.request(ask), from: anna)) == [], "it is gone")
    let hello = ClientMessage.hello(versions: 1...1, configuration)
    for second in [hello, .request(ask), .request(publish)] {
      greeted(&machine, anna)
      _ = act(&machine, .received(.request(ask), from: anna))
      _ = act(&machine, .received(.request(publish), from: anna))
      let actions = act(&machine, .received(second, from: anna))
      #expect(Array(actions.prefix(2)) == turnedAway)
      #expect(actions.count == 4, "what it wanted ends")
    }
    greeted(&machine, anna)
    #expect(act(&machine, .misunderstood(anna)) == turnedAway)
    for request: HostRequest in [
      .stopAsking(query), .withdraw(registration), .updateText(registration, TXTRecord()),
    ] {
      greeted(&machine, anna)
      #expect(act(&machine, .received(.request(request), from: anna)) == [], "it may be late")
      _ = act(&machine, .left(anna))
    }
  }

  @Test("another version, name or set of interfaces is turned away")
  func others() {
    var machine = machine()
    for (message, refusal) in [
      (ClientMessage.hello(versions: 2...9, configuration), OwnerMessage.Refusal.otherVersion),
      (.hello(versions: 1...1, .init(hostName: "there")), .otherConfiguration),
      (.hello(versions: 1...1, .init(hostName: "here", interfaceNames: [])), .otherConfiguration),
    ] {
      _ = act(&machine, .arrived(anna, userID: 1_000))
      #expect(
        act(&machine, .received(message, from: anna)) == [
          .send(.turnedAway(refusal), to: anna), .close(anna),
        ])
    }
  }

  @Test("root serves everybody, others themselves and root")
  func trust() {
    let (root, user) = (OwnerMachine.Trust(userID: 0), OwnerMachine.Trust(userID: 1_000))
    #expect(root.serves(0) && root.serves(1_000) && root.serves(65_534))
    #expect(user.serves(0) && user.serves(1_000) && !user.serves(1_001))
    #expect(root.believes(0) && !root.believes(1_000))
    #expect(user.believes(0) && user.believes(1_000) && !user.believes(1_001))
    var machine = machine()
    #expect(
      act(&machine, .arrived(anna, userID: 7)) == [
        .send(.turnedAway(.otherUser), to: anna), .close(anna),
      ])
  }

  @Test("G12: every bound holds, and what is given back may be had again")
  func bounds() throws {
    var limits = OwnerMachine.Limits()
    (limits.clientsMax, limits.clientsPerUserMax) = (3, 2)
    (limits.wishesPerClientMax, limits.wishesPerUserMax, limits.wishesMax) = (2, 3, 4)
    var machine = machine(userID: 0, limits: limits)
    func client(_ number: UInt64) -> OwnerMachine.ClientID { .init(rawValue: number) }
    func isRefused(_ actions: [OwnerMachine.Action], _ refusal: OwnerMessage.Refusal) -> Bool {
      if case .send(.turnedAway(refusal), _)? = actions.first { true } else { false }
    }
    func wish(_ number: UInt64, of id: UInt64) -> [OwnerMachine.Action] {
      let ask = HostRequest.ask(QueryID(rawValue: number), .serviceTypes(), on: nil)
      return act(&machine, .received(.request(ask), from: client(id)))
    }
    greeted(&machine, client(1), userID: 5)
    greeted(&machine, client(2), userID: 5)
    #expect(isRefused(act(&machine, .arrived(client(3), userID: 5)), .tooManyClients))
    greeted(&machine, client(4), userID: 6)
    #expect(isRefused(act(&machine, .arrived(client(5), userID: 7)), .tooManyClients))
    #expect(forwarded(wish(1, of: 1)) != nil && forwarded(wish(2, of: 1)) != nil)
    #expect(forwarded(wish(1, of: 2)) != nil)
    #expect(isRefused(wish(2, of: 2), .tooMuchWanted), "its user has three")
    #expect(machine.clientCount == 2)
    #expect(forwarded(wish(1, of: 4)) != nil && forwarded(wish(2, of: 4)) != nil)
    greeted(&machine, client(6), userID: 5)
    #expect(isRefused(wish(1, of: 6), .tooMuchWanted), "all have four")
    _ = act(&machine, .received(.request(.stopAsking(QueryID(rawValue: 1))), from: client(1)))
    greeted(&machine, client(7), userID: 5)
    #expect(forwarded(wish(1, of: 7)) != nil)
    #expect(isRefused(wish(3, of: 4), .tooMuchWanted), "a client has two")
  }

  @Test("further records of a service count, and are given back with it")
  func furtherRecords() throws {
    var limits = OwnerMachine.Limits()
    limits.wishesPerClientMax = 4
    var machine = machine(limits: limits)
    greeted(&machine, anna)
    let publish = HostRequest.publish(registration, try Sample.service("Lamp"))
    func set(_ number: UInt32, _ data: DNSRecordData?) -> [OwnerMachine.Action] {
      act(
        &machine,
        .received(
          .request(.setFurtherRecord(registration, number, data, ttlSeconds: 9)), from: anna))
    }
    let data = DNSRecordData.a(IPv4Address(1, 2, 3, 4))
    #expect(set(1, data) == [], "there is no such service")
    for _ in 0..<2 {
      _ = act(&machine, .received(.request(publish), from: anna))
      for number: UInt32 in [1, 2, 3, 3] { #expect(forwarded(set(number, data)) != nil) }
      #expect(forwarded(set(2, nil)) != nil && forwarded(set(4, data)) != nil)
      _ = act(&machine, .received(.request(.withdraw(registration)), from: anna))
    }
    _ = act(&machine, .received(.request(publish), from: anna))
    for number: UInt32 in 1...3 { _ = set(number, data) }
    #expect(
      Array(set(4, data).prefix(2)) == [.send(.turnedAway(.tooMuchWanted), to: anna), .close(anna)])
  }

  @Test("what is refused or fails no longer counts, and its number may be used again")
  func refused() throws {
    var machine = machine()
    greeted(&machine, anna)
    let publish = HostRequest.publish(registration, try Sample.service("Lamp"))
    let ask = HostRequest.ask(query, .serviceTypes(), on: nil)
    for _ in 0..<3 {
      guard
        case .publish(let number, _)? = forwarded(
          act(&machine, .received(.request(publish), from: anna))),
        case .ask(let question, _, _, _)? = forwarded(
          act(&machine, .received(.request(ask), from: anna)))
      else { throw Failure() }
      #expect(
        act(&machine, .report(.refused(number, "x.local."))) == [
          .send(.report(.refused(registration, "x.local.")), to: anna)
        ])
      let failure = HostReport.found(
        question, .failed(.nameTooLong), on: nil, moreComing: false)
      #expect(act(&machine, .report(failure)).count == 1)
    }
    #expect(act(&machine, .left(anna)) == [])
  }

  private struct Failure: Error {}
}
