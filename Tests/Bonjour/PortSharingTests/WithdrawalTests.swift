import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@testable import PortSharing

/// Everything between an owner and a client but the sockets.
@Suite("What a killed owner published")
struct WithdrawalTests {
  private var owner = OwnerMachine(
    configuration: SharedConfiguration(hostName: "here"), trust: .init(userID: 1_000))
  private var client = PortSharingClient()
  private let lamp = RegistrationID(rawValue: 1)
  private let chair = RegistrationID(rawValue: 2)

  private mutating func act(_ event: OwnerMachine.Event) -> [OwnerMachine.Action] {
    var actions: [OwnerMachine.Action] = []
    owner.handle(event, now: .zero, into: &actions)
    return actions
  }

  @discardableResult
  private mutating func handle(_ event: PortSharingClient.Event) -> [PortSharingClient.Action] {
    var actions: [PortSharingClient.Action] = []
    client.handle(event, now: .zero, into: &actions)
    return actions
  }

  private static func connection(_ number: Int) -> OwnerMachine.ConnectionID {
    OwnerMachine.ConnectionID(rawValue: UInt64(number))
  }

  @discardableResult
  private mutating func greet(
    _ number: Int, versions: ClosedRange<UInt16> = PortSharingProtocol.versions,
    userID: UInt32 = 1_000
  ) -> [DiscoveryRequest] {
    let id = Self.connection(number)
    _ = act(.connected(id, userID: userID))
    let hello = ClientMessage.hello(
      versions: versions, SharedConfiguration(hostName: "here"))
    return told(act(.received(hello, from: id)), number)
  }

  /// The requests that inform a client of the owner's registrations.
  private func told(_ actions: [OwnerMachine.Action], _ number: Int) -> [DiscoveryRequest] {
    actions.compactMap { action in
      if case .send(.published(let request), Self.connection(number)) = action {
        request
      } else {
        nil
      }
    }
  }

  /// Passes events to the owner, and what it tells its first client to that.
  private mutating func pass(_ events: OwnerMachine.Event...) {
    for event in events {
      for request in told(act(event), 1) { handle(.published(request)) }
    }
  }

  /// The requests that withdraw registrations when the client takes over.
  private mutating func withdrawn() -> [DiscoveryRequest] {
    handle(.ended)
    handle(.began(.thisProcess))
    return handle(.tookOver).flatMap { action in
      if case .withdraw(let requests) = action { requests } else { [DiscoveryRequest]() }
    }
  }

  @Test("the client that takes over withdraws the owner's last records, under their final names")
  mutating func asItWas() throws {
    let text = try Sample.text("attic")
    let data = DNSRecordData.a(Inet4Address(1, 2, 3, 4))
    handle(.began(.another))
    pass(.request(.registerService(lamp, try Sample.service("Lamp"))))
    let early = greet(1)
    #expect(early == [], "it has no name yet")
    pass(
      .report(.registered(lamp, try Sample.name("Lamp (2)").name)),
      .request(.updateText(lamp, text)),
      .request(.setRecord(lamp, 7, data, ttlSeconds: 9)),
      .request(.registerService(chair, try Sample.service("Chair"))),
      .report(.registered(chair, try Sample.name("Chair").name)),
      .request(.unregister(chair)))
    var expected = try Sample.service("Lamp (2)")
    expected.text = text
    let last: [DiscoveryRequest] = [
      .registerService(lamp, expected), .setRecord(lamp, 7, data, ttlSeconds: 9),
    ]
    let late = greet(2)
    #expect(late == last, "one that comes later is told all of it")
    #expect(withdrawn() == last)
    #expect(withdrawn() == [], "once")
  }

  @Test("an owner that another took over from leaves nothing")
  mutating func nothingLeft() throws {
    handle(.began(.another))
    greet(1)
    pass(
      .request(.registerService(lamp, try Sample.service("Lamp"))),
      .report(.registered(lamp, try Sample.name("Lamp").name)))
    handle(.ended)
    handle(.began(.another))
    #expect(withdrawn() == [])
  }

  @Test("registrations of clients are not shared, and a host without an owner ignores shared ones")
  mutating func clientsOwn() throws {
    greet(1)
    let ben = Self.connection(2)
    greet(2)
    let publish = DiscoveryRequest.registerService(lamp, try Sample.service("Lamp"))
    guard
      case .forward(.registerService(let number, _))? = act(
        .received(.request(publish), from: ben)
      ).first
    else {
      Issue.record("not forwarded")
      return
    }
    let actions = act(.report(.registered(number, try Sample.name("Lamp").name)))
    #expect(told(actions, 1) == [] && told(actions, 2) == [])
    handle(.published(publish))
    #expect(withdrawn() == [])
  }

  @Test("a client of the first version gets only messages that it knows")
  mutating func oldClient() throws {
    _ = act(.request(.registerService(lamp, try Sample.service("Lamp"))))
    _ = act(.report(.registered(lamp, try Sample.name("Lamp").name)))
    #expect(greet(1, versions: 1...1) == [])
    #expect(greet(2).count == 1)
    let actions = act(.request(.unregister(lamp)))
    #expect(told(actions, 1) == [] && told(actions, 2) == [.unregister(lamp)])
  }

  @Test("some clients learn the owner's registrations, and others when few of them are left")
  mutating func bounded() throws {
    _ = act(.request(.registerService(lamp, try Sample.service("Lamp"))))
    _ = act(.report(.registered(lamp, try Sample.name("Lamp").name)))
    var informed: [Int] = []
    for number in 1...100 where !greet(number).isEmpty { informed.append(number) }
    #expect(informed == Array(1...OwnerPublications.Limits.informedPerUserMax))
    for number in 1...99 {
      let actions = act(.disconnected(Self.connection(number)))
      informed.removeAll { $0 == number }
      informed += (1...100).filter { !told(actions, $0).isEmpty }
      #expect(Set(informed).count == informed.count)
      #expect(informed.count >= min(OwnerPublications.Limits.informedMin, 100 - number))
    }
    #expect(informed == [100])
  }

  @Test("one user's programs don't keep another's from learning those of root's owner")
  mutating func bothUsers() throws {
    owner = OwnerMachine(
      configuration: SharedConfiguration(hostName: "here"), trust: .init(userID: 0))
    _ = act(.request(.registerService(lamp, try Sample.service("Lamp"))))
    _ = act(.report(.registered(lamp, try Sample.name("Lamp").name)))
    let bens = (1...50).filter { !greet($0, userID: 1_001).isEmpty }
    let annas = (51...60).filter { !greet($0, userID: 1_002).isEmpty }
    #expect(bens == Array(1...12))
    #expect(annas == Array(51...54), "sixteen in all")
    // Places that become free are not only the first user's.
    for number in 51...60 { _ = act(.disconnected(Self.connection(number))) }
    for number in 1...5 { _ = act(.disconnected(Self.connection(number))) }
    #expect(!greet(61, userID: 1_002).isEmpty)
  }

  @Test("the registrations are shared up to a bound, and removed if they grow too large")
  mutating func toldBound() throws {
    let max = OwnerPublications.Limits.told
    for number in 1...UInt64(max.requestCount + 9) {
      let id = RegistrationID(rawValue: number)
      _ = act(.request(.registerService(id, try Sample.service("Lamp \(number)"))))
      _ = act(.report(.registered(id, try Sample.name("Lamp \(number)").name)))
    }
    #expect(greet(1).count == max.requestCount)
    let last = RegistrationID(rawValue: UInt64(max.requestCount + 9))
    #expect(told(act(.request(.unregister(last))), 1) == [], "it was never told")
    let data = DNSRecordData.a(Inet4Address(1, 2, 3, 4))
    let grown = act(.request(.setRecord(lamp, 7, data, ttlSeconds: 9)))
    #expect(told(grown, 1) == [.unregister(lamp)])
    #expect(told(act(.request(.unregister(lamp))), 1) == [])
  }

  @Test("records of an owner that publishes without end are kept in part")
  mutating func endless() throws {
    let max = OwnerMachine.Limits().perClient
    handle(.began(.another))
    for number in 0...UInt64(max.requestCount) {
      handle(
        .published(
          .registerService(
            RegistrationID(rawValue: number), try Sample.service("Lamp \(number)"))))
    }
    #expect(withdrawn().count == max.requestCount)
  }
}
