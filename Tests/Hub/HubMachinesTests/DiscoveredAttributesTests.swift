import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire
import Testing

@testable import HubMachines

@Suite("What a session has discovered")
struct DiscoveredAttributesTests {
  private static let peer = DeviceAddress(bits: 0xC012_3456_789A, kind: .random)
  private static let other = DeviceAddress(bits: 0xC012_3456_789B, kind: .random)

  private var attributes = DiscoveredAttributes()

  private static func service(
    _ uuid: UInt16, _ start: UInt16, _ end: UInt16
  ) -> RemoteService {
    RemoteService(uuid: BluetoothUUID(uuid), range: HandleRange(start, end), isPrimary: true)
  }

  private static func characteristic(
    _ uuid: UInt16, _ value: UInt16, _ end: UInt16
  ) -> RemoteCharacteristic {
    RemoteCharacteristic(
      uuid: BluetoothUUID(uuid), declarationHandle: value - 1, valueHandle: value, endHandle: end,
      properties: .notify)
  }

  /// Two services; the first one with two characteristics, of which the first one has a descriptor.
  private mutating func discover(_ peer: DeviceAddress = peer) {
    attributes.discovered(
      .services([Self.service(0x180D, 10, 19), Self.service(0x180F, 20, 29)]),
      by: .discoverServices(nil), of: peer)
    attributes.discovered(
      .characteristics([Self.characteristic(0x2A37, 12, 14), Self.characteristic(0x2A38, 16, 19)]),
      by: .discoverCharacteristics(in: HandleRange(10, 19), nil), of: peer)
    attributes.discovered(
      .descriptors([RemoteDescriptor(uuid: 0x2902, handle: 13)]),
      by: .discoverDescriptors(in: HandleRange(13, 14)), of: peer)
  }

  @Test("services, characteristics and descriptors are noted as far as they were discovered")
  mutating func discovery() {
    discover()
    #expect(
      attributes.peers == [
        PeerAttributes(
          peer: Self.peer,
          services: [
            PeerAttributes.Service(
              service: Self.service(0x180D, 10, 19), isListed: true,
              characteristics: [
                PeerAttributes.Characteristic(
                  characteristic: Self.characteristic(0x2A37, 12, 14),
                  descriptors: [RemoteDescriptor(uuid: 0x2902, handle: 13)]),
                PeerAttributes.Characteristic(
                  characteristic: Self.characteristic(0x2A38, 16, 19)),
              ]),
            PeerAttributes.Service(service: Self.service(0x180F, 20, 29), isListed: true),
          ])
      ])
    #expect(attributes.count == 5)
  }

  @Test("discovering some services adds them, and discovering all removes those that are gone")
  mutating func filters() {
    discover()
    attributes.discovered(
      .services([Self.service(0x1812, 40, 49)]), by: .discoverServices([0x1812]), of: Self.peer)
    #expect(attributes.peers.first?.services.map(\.service.range.start) == [10, 20, 40])
    attributes.discovered(
      .services([Self.service(0x180D, 10, 19)]), by: .discoverServices(nil), of: Self.peer)
    #expect(attributes.peers.first?.services.map(\.service.range.start) == [10])
    // Its characteristics stay.
    #expect(attributes.peers.first?.services.first?.characteristics?.count == 2)
    attributes.discovered(
      .characteristics([Self.characteristic(0x2A38, 16, 19)]),
      by: .discoverCharacteristics(in: HandleRange(10, 19), [0x2A38]), of: Self.peer)
    #expect(attributes.peers.first?.services.first?.characteristics?.count == 2)
    attributes.discovered(
      .characteristics([Self.characteristic(0x2A38, 16, 19)]),
      by: .discoverCharacteristics(in: HandleRange(10, 19), nil), of: Self.peer)
    #expect(attributes.peers.first?.services.first?.characteristics?.count == 1)
    #expect(attributes.count == 2)
  }

  @Test("a service that is only included isn't listed until a discovery of services finds it")
  mutating func includedServices() {
    discover()
    let included = Self.service(0x1812, 40, 49)
    attributes.discovered(
      .services([included]), by: .discoverIncludedServices(in: HandleRange(10, 19)), of: Self.peer)
    #expect(attributes.peers.first?.services.first?.includedServices == [40])
    #expect(attributes.peers.first?.services.last?.isListed == false)
    attributes.discovered(
      .services([included]), by: .discoverServices([0x1812]), of: Self.peer)
    #expect(attributes.peers.first?.services.last?.isListed == true)
  }

  @Test("services that changed are forgotten, and so is all of a peer whose link ended")
  mutating func changes() {
    discover()
    discover(Self.other)
    attributes.changed(HandleRange(19, 19), of: Self.peer)
    #expect(attributes.peers.first?.services.map(\.service.range.start) == [20])
    attributes.remove(Self.peer)
    #expect(attributes.peers.map(\.peer) == [Self.other])
    attributes.remove(Self.other)
    #expect(attributes.peers.isEmpty && attributes.count == 0)
  }

  @Test("a peer with more attributes than there is room for has none, until its link has ended")
  mutating func bound() {
    discover(Self.other)
    let many = (1...UInt16(DiscoveredAttributes.countMax)).map { Self.service(0x180D, $0, $0) }
    attributes.discovered(.services(many), by: .discoverServices(nil), of: Self.peer)
    discover()
    #expect(attributes.peers.map(\.peer) == [Self.other])
    attributes.remove(Self.peer)
    discover()
    #expect(attributes.peers.map(\.peer) == [Self.peer, Self.other])
    #expect(attributes.count == 10)
  }

  @Test("attributes of services that were never discovered are not noted")
  mutating func unknownServices() {
    attributes.discovered(
      .characteristics([Self.characteristic(0x2A37, 12, 14)]),
      by: .discoverCharacteristics(in: HandleRange(10, 19), nil), of: Self.peer)
    attributes.discovered(
      .services([Self.service(0x1812, 40, 49)]),
      by: .discoverIncludedServices(in: HandleRange(10, 19)), of: Self.peer)
    attributes.discovered(
      .descriptors([]), by: .discoverDescriptors(in: HandleRange(13, 14)), of: Self.peer)
    #expect(attributes.peers.isEmpty && attributes.count == 0)
  }

  @Test(
    "the next process gets the attributes that were discovered over a link, and the peer's name")
  func nextProcess() throws {
    var hub = TestHub()
    let opening = SessionOpening(
      id: HubSessionID(rawValue: 1), acknowledgesEvents: true, manager: "central:lock",
      keptFor: .seconds(60))
    let greeting = HubGreeting(
      app: "lock", abilities: [.bluetooth, .identity], openings: [opening])
    let first = hub.connect()
    try hub.send(.greeting(greeting), from: first)
    var alerting = ConnectOptions()
    alerting.alerts = [.connection, .notification]
    try hub.send(.connect(Self.peer, alerting), from: first)
    try hub.send(.connect(Self.other, ConnectOptions()), from: first)
    let token = RequestToken(rawValue: 7)
    try hub.send(.gatt(Self.peer, .discoverServices(nil), token), from: first)
    var link = LinkInfo(peer: Self.peer, role: .central)
    link.name = "Lock"
    var lost = LinkInfo(peer: Self.other, role: .central)
    lost.name = "Strap"
    hub.handle(
      .delivered(
        HubSessionKey(first),
        [
          .stateChanged(.poweredOn), .linkOpened(link), .connected(Self.peer),
          .linkOpened(lost), .linkClosed(Self.other, .cancelled),
          .completed(token, .success(.services([Self.service(0x180D, 10, 19)]))),
        ]))
    hub.handle(.disconnected(first))
    _ = hub.takeActions()
    let second = hub.connect()
    try hub.send(.greeting(greeting), from: second)
    var holdings: SessionHoldings?
    for case .attached(_, let attachment) in try hub.messages(for: second) {
      holdings = attachment.holdings
    }
    #expect(holdings?.links.map(\.name) == ["Lock", "Strap"])
    #expect(holdings?.links.map(\.options) == [alerting, ConnectOptions()])
    #expect(
      holdings?.attributes == [
        PeerAttributes(
          peer: Self.peer,
          services: [
            PeerAttributes.Service(service: Self.service(0x180D, 10, 19), isListed: true)
          ])
      ])
  }
}
