import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@testable import PortSharing

@Suite("What a host keeps for a hub")
struct SharingClientTests {
  private var client = PortSharingClient()
  private var now = Instant.zero
  private let browse = QueryID(rawValue: 1)
  private let eth0 = InterfaceIndex(rawValue: 2)

  private mutating func handle(_ event: PortSharingClient.Event) -> [PortSharingClient.Action] {
    var actions: [PortSharingClient.Action] = []
    client.handle(event, now: now, into: &actions)
    return actions
  }

  /// Lets time pass until the machine wants to be woken.
  private mutating func wake() -> [PortSharingClient.Action] {
    guard let due = client.nextWake else { return [] }
    now = due
    var actions: [PortSharingClient.Action] = []
    client.wake(now: now, into: &actions)
    return actions
  }

  private mutating func found(
    _ event: QueryEvent, moreComing: Bool = false
  ) -> [PortSharingClient.Action] {
    handle(.report(.found(browse, event, on: eth0, moreComing: moreComing)))
  }

  private func told(
    _ event: QueryEvent, moreComing: Bool = false
  ) -> PortSharingClient.Action {
    .notify(.found(browse, event, on: eth0, moreComing: moreComing))
  }

  /// Makes the client browse with an owner, which reports these names.
  private mutating func browsing(_ names: [String]) throws {
    _ = handle(.began(.another))
    _ = handle(.request(.startQuery(browse, .browse(try Sample.type()), on: nil)))
    for name in names {
      let event = QueryEvent.serviceAdded(try Sample.name(name))
      #expect(found(event) == [told(event)])
    }
  }

  @Test("requests made before the search has ended are sent to the owner found, in order")
  mutating func replay() throws {
    let ask = DiscoveryRequest.startQuery(browse, .browse(try Sample.type()), on: eth0)
    let publish = DiscoveryRequest.registerService(
      RegistrationID(rawValue: 1), try Sample.service("Lamp"))
    #expect(handle(.request(ask)) == [])
    #expect(handle(.request(publish)) == [])
    #expect(handle(.began(.another)) == [.forward(publish), .forward(ask)])
    #expect(client.nextWake == nil, "nothing was told yet that could have ended")
    #expect(handle(.ended) == [])
    #expect(handle(.request(.stopQuery(browse))) == [])
    #expect(handle(.began(.thisProcess)) == [.forward(publish)])
  }

  @Test("a process that may leave the machines to a hub keeps requests and results for it")
  mutating func kept() throws {
    try browsing(["Lamp"])
    let publish = DiscoveryRequest.registerService(
      RegistrationID(rawValue: 1), try Sample.service("Chair"))
    _ = handle(.request(publish))
    _ = handle(.ended)
    client.keepForAnother()
    let ask = DiscoveryRequest.startQuery(browse, .browse(try Sample.type()), on: nil)
    #expect(handle(.began(.thisProcess)) == [.forward(publish), .forward(ask)])
    let lamp = QueryEvent.serviceAdded(try Sample.name("Lamp"))
    #expect(found(lamp) == [], "it is confirmed")
    _ = handle(.report(.registered(RegistrationID(rawValue: 1), try Sample.name("Chair").name)))
    #expect(wake() == [])
    let late = DiscoveryRequest.registerService(
      RegistrationID(rawValue: 2), try Sample.service("Table"))
    #expect(handle(.request(late)) == [.forward(late)])
    #expect(!client.isTransparent && client.violations().isEmpty)

    #expect(handle(.ended) == [])
    #expect(handle(.began(.another)) == [.forward(publish), .forward(late), .forward(ask)])
    #expect(wake() == [told(.serviceRemoved(try Sample.name("Lamp")))], "the hub finds no lamp")
  }

  @Test("once this process runs the machines, nothing is kept for another owner")
  mutating func transparent() throws {
    #expect(!client.isTransparent, "there may be another owner")
    let id = RegistrationID(rawValue: 1)
    _ = handle(.request(.registerService(id, try Sample.service("Lamp"))))
    _ = handle(.request(.startQuery(browse, .browse(try Sample.type()), on: nil)))
    _ = handle(.began(.thisProcess))
    #expect(!client.isTransparent, "the name that the service gets is compared with its last")
    _ = handle(.report(.registered(id, try Sample.name("Lamp").name)))
    #expect(client.isTransparent)
    _ = handle(.request(.registerService(id, try Sample.service("Desk"))))
    _ = handle(.request(.startQuery(browse, .browse(try Sample.type()), on: nil)))
    #expect(client.isTransparent)
  }

  @Test("a process that took over compares results until they have settled")
  mutating func transparentWhenSettled() throws {
    try browsing(["A"])
    #expect(!client.isTransparent)
    _ = handle(.ended)
    _ = handle(.began(.thisProcess))
    #expect(!client.isTransparent)
    #expect(wake() == [told(.serviceRemoved(try Sample.name("A")))])
    #expect(client.isTransparent)
  }

  @Test("requests to an owner with too many clients all fail, and may be made again")
  mutating func refused() throws {
    let id = RegistrationID(rawValue: 1)
    let register = DiscoveryRequest.registerService(id, try Sample.service("Lamp"))
    try browsing(["A"])
    _ = handle(.request(register))
    #expect(handle(.ended) == [])
    #expect(
      handle(.refused) == [
        .notify(.found(browse, .failed(.tooManyClients), on: nil, moreComing: false)), .fail(id),
      ])
    #expect(handle(.began(.another)) == [])
    #expect(handle(.request(register)) == [.forward(register)])
  }

  @Test("after a handover only new results are reported, and removals once the owner had time")
  mutating func reconciles() throws {
    try browsing(["A", "B", "C"])
    let (a, b, d) = (try Sample.name("A"), try Sample.name("B"), try Sample.name("D"))
    #expect(handle(.ended) == [])
    #expect(handle(.began(.another)).count == 1)
    #expect(found(.serviceAdded(a)) == [])
    #expect(found(.serviceAdded(d)) == [told(.serviceAdded(d))])
    #expect(found(.serviceRemoved(b)) == [told(.serviceRemoved(b))])
    #expect(client.nextWake == now + PortSharingClient.Limits.settlingTime)
    #expect(wake() == [told(.serviceRemoved(try Sample.name("C")))])
    #expect(client.nextWake == nil)
    #expect(found(.serviceRemoved(b)) == [], "it was told already")
    #expect(found(.serviceRemoved(a)) == [told(.serviceRemoved(a))])
  }

  @Test("an owner that ends before it has settled makes nothing vanish", arguments: [1, 5])
  mutating func severalHandovers(count: Int) throws {
    try browsing(["A", "B"])
    for _ in 0..<count {
      #expect(handle(.ended) == [])
      now = now + .seconds(9)
      #expect(client.nextWake == nil)
      #expect(handle(.began(.another)).count == 1)
      #expect(found(.serviceAdded(try Sample.name("A"))) == [])
      now = now + .seconds(9)
    }
    #expect(wake() == [told(.serviceRemoved(try Sample.name("B")))])
  }

  @Test("more is coming only if more is reported")
  mutating func moreComing() throws {
    try browsing(["A", "B"])
    _ = handle(.ended)
    _ = handle(.began(.another))
    let (c, d) = (try Sample.name("C"), try Sample.name("D"))
    #expect(found(.serviceAdded(c), moreComing: true) == [])
    #expect(
      found(.serviceAdded(try Sample.name("A")), moreComing: false) == [told(.serviceAdded(c))])
    #expect(found(.serviceAdded(d), moreComing: true) == [])
    #expect(handle(.ended) == [told(.serviceAdded(d))], "the owner ended in mid-sentence")
    _ = handle(.began(.another))
    let gone = try ["A", "B", "C", "D"].map { QueryEvent.serviceRemoved(try Sample.name($0)) }
    #expect(wake() == gone.map { told($0, moreComing: $0 != gone.last) })
  }

  @Test("an unchanged resolution is not reported again, a changed one is")
  mutating func resolutions() throws {
    let name = try Sample.name("Lamp")
    let resolution = ServiceResolution(name: name, host: "a.local.", port: 80, text: TXTRecord())
    var moved = resolution
    moved.port = 81
    _ = handle(.began(.another))
    _ = handle(.request(.startQuery(browse, .resolve(name), on: nil)))
    #expect(found(.resolved(resolution)) == [told(.resolved(resolution))])
    for (now, isNotified) in [(resolution, false), (moved, true), (resolution, true)] {
      _ = handle(.ended)
      _ = handle(.began(.another))
      #expect(found(.resolved(now)) == (isNotified ? [told(.resolved(now))] : []))
      #expect(found(.resolved(moved)) == [told(.resolved(moved))], "only the first is compared")
      _ = found(.resolved(now))
    }
  }

  @Test("addresses and records are the same with any time to live, and an absence is a result")
  mutating func facts() throws {
    _ = handle(.began(.another))
    _ = handle(
      .request(.startQuery(browse, .addresses("a.local.", versions: [.v4, .v6]), on: nil)))
    let address = InetAddress.v4(Inet4Address(10, 0, 0, 1))
    for event in [QueryEvent.addressAdded(address, ttlSeconds: 120), .addressAbsent(.v6)] {
      #expect(found(event) == [told(event)])
    }
    _ = handle(.ended)
    _ = handle(.began(.another))
    #expect(found(.addressAdded(address, ttlSeconds: 75)) == [])
    #expect(found(.addressAbsent(.v6)) == [])
    #expect(wake() == [])
    _ = handle(.ended)
    _ = handle(.began(.another))
    #expect(wake() == [told(.addressRemoved(address))], "that it has none of the other is no loss")
  }

  @Test("a service keeps the name it got, and its text, and only differences are reported")
  mutating func registrations() throws {
    let id = RegistrationID(rawValue: 4)
    let (second, third) = (try Sample.name("Lamp (2)"), try Sample.name("Lamp (3)"))
    var service = try Sample.service("Lamp")
    _ = handle(.began(.another))
    #expect(
      handle(.request(.registerService(id, service))) == [.forward(.registerService(id, service))])
    #expect(
      handle(.report(.registered(id, second.name))) == [.notify(.registered(id, second.name))])
    let text = try Sample.text("attic")
    #expect(handle(.request(.updateText(id, text))) == [.forward(.updateText(id, text))])
    _ = handle(.ended)
    service.name = second
    service.text = text
    #expect(handle(.began(.another)) == [.forward(.registerService(id, service))])
    #expect(handle(.report(.registered(id, second.name))) == [])
    _ = handle(.ended)
    #expect(handle(.began(.thisProcess)) == [.forward(.registerService(id, service))])
    #expect(handle(.report(.registered(id, third.name))) == [.notify(.registered(id, third.name))])
    #expect(
      handle(.report(.registered(id, second.name))) == [.notify(.registered(id, second.name))])
  }

  @Test("added records and changed data go along to the next owner")
  mutating func changes() throws {
    let (lamp, alone) = (RegistrationID(rawValue: 1), RegistrationID(rawValue: 2))
    let service = try Sample.service("Lamp")
    var record = RecordRegistration(Sample.record, .unique)
    let data = DNSRecordData.a(Inet4Address(10, 0, 0, 9))
    for request: DiscoveryRequest in [
      .registerService(lamp, service), .setRecord(lamp, 1, data, ttlSeconds: 5),
      .setRecord(lamp, 2, data, ttlSeconds: 6),
      .setRecord(lamp, 1, nil, ttlSeconds: 0),
      .registerRecord(alone, record), .updateRecord(alone, data, ttlSeconds: 7),
      .updateRecord(alone, .ptr("x.local."), ttlSeconds: 7), .reconfirm(Sample.record, on: nil),
    ] {
      _ = handle(.request(request))
    }
    record.record.data = data
    record.record.ttlSeconds = 7
    #expect(
      handle(.began(.another)) == [
        .forward(.registerService(lamp, service)),
        .forward(.setRecord(lamp, 2, data, ttlSeconds: 6)),
        .forward(.registerRecord(alone, record)),
      ])
  }

  @Test("a query that ends by itself ends when it would have, with any owner")
  mutating func timeout() throws {
    let request = QueryRequest.browse(try Sample.type())
    func ask(_ seconds: Int64) -> DiscoveryRequest {
      .startQuery(
        browse, request, on: nil,
        options: QueryOptions(reachesBeyondLink: true, timeout: .seconds(seconds)))
    }
    _ = handle(.request(ask(60)))
    now = now + .seconds(10)
    #expect(handle(.began(.another)) == [.forward(ask(50))])
    _ = handle(.ended)
    now = now + .seconds(100)
    #expect(handle(.began(.another)) == [.forward(ask(0))])
    #expect(found(.failed(.timedOut)) == [told(.failed(.timedOut))])
    _ = handle(.ended)
    #expect(handle(.began(.another)) == [])
  }

  @Test("a request that has ended is not repeated")
  mutating func ended() throws {
    let id = RegistrationID(rawValue: 1)
    try browsing([])
    let failure = QueryEvent.failed(.nameTooLong)
    #expect(found(failure) == [told(failure)])
    _ = handle(.request(.registerService(id, try Sample.service("Lamp"))))
    #expect(handle(.report(.refused(id, "x.local."))) == [.notify(.refused(id, "x.local."))])
    #expect(handle(.ended) == [])
    #expect(handle(.began(.another)) == [])
    #expect(found(.serviceAdded(try Sample.name("A"))) == [], "there is no such query")
    #expect(handle(.report(.registered(id, "x.local."))) == [])
  }

  @Test("the owner's own process passes everything on, and keeps nothing")
  mutating func thisProcess() throws {
    _ = handle(.began(.thisProcess))
    _ = handle(.request(.startQuery(browse, .browse(try Sample.type()), on: nil)))
    let event = QueryEvent.serviceAdded(try Sample.name("A"))
    for moreComing in [true, true, false] {
      #expect(found(event, moreComing: moreComing) == [told(event, moreComing: moreComing)])
    }
    #expect(client.nextWake == nil && !client.publishes)
  }

  @Test("an owner that reports without end is left")
  mutating func endless() throws {
    client = PortSharingClient(resultsMax: 1_000)
    try browsing([])
    var number: UInt32 = 0
    var actions: [PortSharingClient.Action] = []
    while !actions.contains(.disconnect), number < 2_000 {
      number += 1
      let record = DNSRecord(
        name: "x.local.", ttlSeconds: 1, data: .a(Inet4Address(rawValue: number)))
      actions = found(.recordAdded(record))
    }
    #expect(number == 1_001)
  }
}
