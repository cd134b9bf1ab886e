import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire
import Testing

@testable import HubClientMachines

@Suite("Sessions that a hub has kept")
struct KeptSessionTests {
  private static let one = MachineRig.one
  private static let peer = MachineRig.peer
  private static let span = TimeSpan.seconds(60)
  private static let target = SubscriptionTarget(
    valueHandle: 3, endHandle: 5, usesIndications: true)

  private static func opening(beginsAnew: Bool = false) -> SessionOpening {
    SessionOpening(
      id: one, acknowledgesEvents: true, manager: "central:lock", keptFor: span,
      beginsAnew: beginsAnew)
  }

  private static var holdings: SessionHoldings {
    var holdings = SessionHoldings()
    holdings.scan = ScanOptions()
    holdings.advertising = AdvertisingOptions()
    holdings.links = [
      SessionHoldings.Link(peer: peer, options: ConnectOptions(), isConnected: true)
    ]
    holdings.services = [
      SessionHoldings.Service(
        definition: ServiceDefinition(uuid: 0x180D),
        published: PublishedService(range: HandleRange(9, 9), characteristics: []))
    ]
    holdings.listeners = [SessionHoldings.Listener(psm: 0x80, requiresEncryption: true)]
    holdings.subscriptions = [SessionHoldings.Subscription(peer: peer, target: target)]
    holdings.subscribers = [SessionHoldings.Subscriber(peer: peer, handle: 9)]
    holdings.lastToken = 41
    return holdings
  }

  /// A rig whose session is to be kept, with a hub that has not answered the opening.
  private static func opened(_ abilities: HubAbilities = [.bluetooth, .identity]) -> MachineRig {
    var rig = MachineRig()
    rig.openSession(one, name: "central:lock", keptFor: span)
    rig.connect(abilities)
    return rig
  }

  private static func attachment(
    _ holdings: SessionHoldings? = holdings, keptFor: TimeSpan = span
  ) -> HubMessage {
    .attached(one, SessionAttachment(holdsName: true, keptFor: keptFor, holdings: holdings))
  }

  @Test("a session begins with what the hub has kept, and requests none of it again")
  func restoration() {
    var rig = Self.opened()
    #expect(rig.takeOpenings() == [Self.opening()])
    rig.hub(Self.attachment())
    rig.hub(.linkOpened(.sample), .stateChanged(.poweredOn))
    #expect(rig.attachments.map(\.1.holdings) == [Self.holdings])
    #expect(rig.attachments.map(\.eventCount) == [1])
    #expect(
      rig.takeEvents() == [
        .stateChanged(.unknown), .linkOpened(.sample), .stateChanged(.poweredOn),
      ])
    #expect(rig.takeRequests().isEmpty)
    // New requests have numbers that no request of the earlier process has.
    rig.request(.readRSSI(Self.peer, 1))
    #expect(rig.takeRequests() == [.readRSSI(Self.peer, 42)])
    rig.hub(
      .serverRequest(
        ServerRequest(
          id: ServerRequestID(rawValue: 1), peer: Self.peer, kind: .read(handle: 9, offset: 0),
          needsResponse: true)))
    #expect(rig.takeEvents().count == 1 && rig.failures.isEmpty)
  }

  @Test("the client hears the end of what was kept when the hub is gone, and gets it from the next")
  func nextHub() {
    var rig = Self.opened()
    rig.hub(Self.attachment())
    rig.hub(.linkOpened(.sample), .stateChanged(.poweredOn))
    _ = rig.takeEvents()
    rig.handle(.closed(.ended))
    let error = HubFailure.ended.hostError
    #expect(
      rig.takeEvents() == [
        .unsubscribed(Self.peer, handle: 9), .disconnected(Self.peer, error, reconnecting: false),
        .linkClosed(Self.peer, error), .stateChanged(.poweredOff),
      ])
    rig.sleep(.seconds(1))
    rig.connect([.bluetooth, .identity])
    let sent = rig.takeSent()
    // It gives up what this hub may have kept: it requests all of it again, but the link that has ended.
    guard case .greeting(let greeting) = sent.first else {
      Issue.record("there is no greeting")
      return
    }
    #expect(greeting.openings == [Self.opening(beginsAnew: true)])
    let requests = sent.compactMap {
      if case .request(_, .known(let request)) = $0 { request } else { nil as HostRequest? }
    }
    #expect(
      requests == [
        .addService(ServiceDefinition(uuid: 0x180D), 42),
        .publishChannel(psm: 0x80, requiresEncryption: true, 43), .startScan(ScanOptions()),
      ])
    rig.hub(Self.attachment(nil))
    #expect(rig.attachments.count == 2 && rig.failures == [.ended])
    rig.hub(Self.attachment(nil))
    #expect(rig.failures.last == .unexpected("an answer to no opening"))
  }

  @Test("what the client requests before the answer changes what was kept, in its order")
  func early() {
    var rig = MachineRig()
    rig.openSession(Self.one, name: "central:lock", keptFor: Self.span)
    rig.request(.stopScan)
    rig.request(.disconnect(Self.peer))
    rig.connect([.bluetooth, .identity])
    rig.request(.stopAdvertising)
    rig.request(.removeAllServices)
    rig.request(.addService(ServiceDefinition(uuid: 0x180F), 5))
    rig.request(.connect(DeviceAddress(bits: 1, kind: .public), ConnectOptions()))
    rig.request(.readRSSI(Self.peer, 6))
    #expect(rig.takeRequests().isEmpty)
    #expect(rig.takeEvents().last == .completed(6, .failure(.radioNotReady)))
    rig.hub(Self.attachment())
    #expect(
      rig.takeRequests() == [
        .stopScan, .disconnect(Self.peer), .stopAdvertising, .removeAllServices,
        .connect(DeviceAddress(bits: 1, kind: .public), ConnectOptions()),
        .addService(ServiceDefinition(uuid: 0x180F), 42),
      ])
    let wants = rig.machine.sessions[Self.one]?.wants
    #expect(wants?.scan == nil && wants?.advertising == nil)
    #expect(wants?.links.count == 1 && wants?.services.services.isEmpty == true)
    // The listener is kept.
    #expect(wants?.channels == [0x80: true])
    rig.hub(.disconnected(Self.peer, nil, reconnecting: false))
    #expect(rig.takeEvents() == [.disconnected(Self.peer, nil, reconnecting: false)])
  }

  @Test("a client that ends more than is noted gets nothing of what was kept, and the log has it")
  func manyEarly() {
    var rig = MachineRig()
    rig.openSession(Self.one, name: "central:lock", keptFor: Self.span)
    let others = (1...UInt64(HubClientLimits.earlyEndsMax)).map {
      DeviceAddress(bits: $0, kind: .public)
    }
    for other in others { rig.request(.disconnect(other)) }
    // The one that has no room is that of the kept link.
    rig.request(.disconnect(Self.peer))
    rig.request(.connect(others[0], ConnectOptions()))
    rig.connect([.bluetooth, .identity])
    rig.hub(Self.attachment())
    #expect(
      rig.takeRequests() == [
        .stopScan, .stopAdvertising, .setPairingAgent(nil), .disconnect(Self.peer),
        .unpublishChannel(psm: 0x80), .removeAllServices, .connect(others[0], ConnectOptions()),
      ])
    let wants = rig.machine.sessions[Self.one]?.wants
    #expect(wants?.scan == nil && wants?.advertising == nil && wants?.channels.isEmpty == true)
    #expect(wants?.links.count == 1 && wants?.services.services.isEmpty == true)
    #expect(rig.attachments.map(\.1.holdings) == [nil])
    let losses = rig.actions.compactMap { if case .lost(let loss) = $0 { loss } else { nil } }
    #expect(losses.count == 1 && losses.first?.contains("all that it had kept is ended") == true)
  }

  @Test("the maximum number of noted ends ends nothing else that the hub has kept")
  func noted() {
    var rig = MachineRig()
    rig.openSession(Self.one, name: "central:lock", keptFor: Self.span)
    for number in 1...UInt64(HubClientLimits.earlyEndsMax) {
      rig.request(.disconnect(DeviceAddress(bits: number, kind: .public)))
    }
    rig.connect([.bluetooth, .identity])
    rig.hub(Self.attachment())
    #expect(rig.attachments.map(\.1.holdings) == [Self.holdings])
    #expect(rig.machine.sessions[Self.one]?.wants.scan != nil)
  }

  @Test("a hub that keeps nothing, and one that doesn't know names, are used at once")
  func nothingKept() {
    var rig = Self.opened()
    rig.request(.startScan(ScanOptions()))
    rig.hub(Self.attachment(nil, keptFor: .zero))
    #expect(rig.takeRequests() == [.startScan(ScanOptions())])
    var other = MachineRig()
    other.openSession(Self.one, name: "central:lock", keptFor: Self.span)
    other.request(.startScan(ScanOptions()))
    other.connect()
    #expect(
      other.actions.contains(
        .lost("The hub is of an earlier version, and keeps nothing of central:lock.")))
    #expect(other.takeRequests() == [.startScan(ScanOptions())])
    other.hub(.stateChanged(.poweredOn))
    #expect(other.failures.isEmpty)
    // The client has heard of a radio: what another hub has kept comes too late.
    other.restartHub()
    #expect(other.takeOpenings() == [Self.opening(beginsAnew: true)])
  }

  @Test("a hub that is lost before its answer is asked again by the next connection")
  func lostBeforeAnswer() {
    var rig = Self.opened()
    rig.request(.addService(ServiceDefinition(uuid: 0x180F), 5))
    rig.handle(.closed(.ended))
    #expect(rig.takeEvents().contains(.completed(5, .failure(HubFailure.ended.hostError))))
    rig.sleep(.seconds(1))
    rig.connect([.bluetooth, .identity])
    #expect(rig.takeOpenings() == [Self.opening()])
    rig.hub(Self.attachment())
    #expect(rig.attachments.count == 1 && rig.failures == [.ended])
  }

  @Test("a session without a name asks for nothing, and one that is opened later is asked, too")
  func openings() {
    var rig = Self.opened()
    rig.hub(Self.attachment(nil))
    rig.openSession(MachineRig.two, keptFor: Self.span)
    let third = HubSessionID(rawValue: 3)
    rig.openSession(third, name: "peripheral:lock", keptFor: Self.span)
    #expect(rig.takeOpenings().map(\.keptFor) == [Self.span, .zero, Self.span])
    rig.request(.startScan(ScanOptions()), of: third)
    #expect(rig.takeRequests(of: third).isEmpty)
    rig.hub(
      .attached(third, SessionAttachment(holdsName: true, keptFor: Self.span, holdings: nil)))
    #expect(rig.takeRequests(of: third) == [.startScan(ScanOptions())])
  }

  @Test("an answer that no hub gives ends the connection")
  func hostileAnswers() {
    var (service, twice, token) = (Self.holdings, Self.holdings, Self.holdings)
    service.services[0].published.range = HandleRange(0, 9)
    twice.services.append(twice.services[0])
    token.lastToken = HubProtocol.keptTokenMax + 1
    var messages: [HubMessage] = [service, twice, token].map { Self.attachment($0) }
    messages.append(Self.attachment(keptFor: Self.span + .nanoseconds(1)))
    messages.append(Self.attachment(keptFor: .nanoseconds(-1)))
    messages.append(
      .attached(
        Self.one, SessionAttachment(holdsName: false, keptFor: .zero, holdings: Self.holdings)))
    messages.append(.events(Self.one, HubEvents([.stateChanged(.poweredOn)])))
    for message in messages {
      var rig = Self.opened()
      rig.hub(message)
      #expect(rig.failures.count == 1, "\(message)")
      // The client hears of a radio that is gone, and the next hub is tried.
      #expect(rig.takeEvents().last == .stateChanged(.poweredOff))
      rig.sleep(.seconds(6))
      #expect(rig.actions.contains(.close) && rig.actions.last == .open)
    }
  }
}
