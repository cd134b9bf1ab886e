import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire
import Testing

@testable import HubMachines

@Suite("What the host has for all programs")
struct PoolTests {
  /// A request that takes one of something.
  enum Kind: CaseIterable {
    case links, attributes, listeners, commands

    func request(_ number: Int) -> HostRequest {
      let peer = DeviceAddress(bits: UInt64(number), kind: .public)
      let service = ServiceDefinition(uuid: BluetoothUUID(0x180F as UInt16), characteristics: [])
      return switch self {
      case .links: .connect(peer, ConnectOptions())
      case .attributes: .addService(service, RequestToken(rawValue: UInt64(number)))
      case .listeners:
        .publishChannel(
          psm: nil, requiresEncryption: false, RequestToken(rawValue: UInt64(number)))
      case .commands: .readRSSI(peer, RequestToken(rawValue: UInt64(number)))
      }
    }
  }

  private static var limits: HubLimits {
    var limits = HubLimits()
    limits.linkPool = 8
    limits.attributePool = 8
    limits.listenerPool = 8
    limits.commandPool = 8
    return limits
  }

  private func sentCount(_ hub: inout TestHub) -> Int {
    hub.takeActions().count { if case .send = $0 { true } else { false } }
  }

  @Test(
    "the programs of a user get half of what others leave, so that another user's find room",
    arguments: Kind.allCases)
  func shares(kind: Kind) throws {
    var hub = TestHub(Self.limits)
    let own = try (1...2).map { try hub.serve("app \($0)", process: $0) }
    let root = try hub.serve("root", user: 0, process: 9)
    for number in 1...3 { for id in own { try hub.send(kind.request(number), from: id) } }
    #expect(sentCount(&hub) == 4)
    #expect(hub.machine.counts.limitedRequestCount == 2)
    for number in 1...4 { try hub.send(kind.request(number), from: root) }
    #expect(sentCount(&hub) == 2)
    for id in own { hub.handle(.disconnected(id)) }
    for number in 5...8 { try hub.send(kind.request(number), from: root) }
    #expect(sentCount(&hub) == 2)
  }

  @Test("a link that a program wants already can be requested again when no others are free")
  func sameLink() throws {
    var hub = TestHub(Self.limits)
    let id = try hub.serve()
    for number in 1...5 { try hub.send(Kind.links.request(number), from: id) }
    #expect(sentCount(&hub) == 4)
    try hub.send(Kind.links.request(2), from: id)
    #expect(sentCount(&hub) == 1)
  }

  @Test("changes of links beyond a program's limit fail, until others are completed")
  func commandLimit() throws {
    var limits = HubLimits()
    limits.commandCountMax = 2
    var hub = TestHub(limits)
    let id = try hub.serve()
    for number in 1...3 { try hub.send(Kind.commands.request(number), from: id) }
    #expect(sentCount(&hub) == 2)
    guard case .completed(let token, .failure(.limitReached)) = try hub.events(for: id).first
    else {
      Issue.record("not refused")
      return
    }
    #expect(token == RequestToken(rawValue: 3))
    hub.handle(
      .delivered(
        HubSessionKey(id), [.completed(RequestToken(rawValue: 1), .failure(.notConnected))]))
    try hub.send(Kind.commands.request(4), from: id)
    #expect(sentCount(&hub) == 1)
  }

  @Test("services with too many attributes are refused, until others are removed")
  func attributeLimit() throws {
    var limits = HubLimits()
    limits.attributeCountMax = 10
    var hub = TestHub(limits)
    let id = try hub.serve()
    // Declaration and value; the configuration.
    let measurement = CharacteristicDefinition(
      uuid: BluetoothUUID(0x2A37 as UInt16), properties: .notify, permissions: [])
    func add(_ count: Int) throws {
      let service = ServiceDefinition(
        uuid: BluetoothUUID(0x180D as UInt16),
        characteristics: Array(repeating: measurement, count: count))
      try hub.send(.addService(service, RequestToken(rawValue: 1)), from: id)
    }
    try add(4)
    #expect(sentCount(&hub) == 0)
    try add(2)
    #expect(sentCount(&hub) == 1)
    let published = PublishedService(range: HandleRange(10, 16), characteristics: [])
    let reply = HostReply.published(published)
    hub.handle(
      .delivered(HubSessionKey(id), [.completed(RequestToken(rawValue: 1), .success(reply))]))
    try add(1)
    #expect(sentCount(&hub) == 0)
    try hub.send(.removeService(10), from: id)
    try add(3)
    #expect(sentCount(&hub) == 2)
  }
}
