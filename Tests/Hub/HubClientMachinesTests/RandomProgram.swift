import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire

@testable import HubClientMachines

/// Random clients and a random hub, which dies, falls silent and sends nonsense, in virtual time.
///
/// The program checks that each request with a token is completed once, that links and channels are closed
/// before the radio is off, and that the hub gets no more acknowledgements than it has sent events.
struct RandomProgram {
  private struct Client {
    var openTokens: Set<UInt64> = []
    var lastToken: UInt64 = 0
    var links: Set<DeviceAddress> = []
    var used: Set<DeviceAddress> = []
    var channels: Set<ChannelID> = []
    var state: RadioState?
    var unhandled = 0
  }

  /// What the hub knows of a session in a connection.
  private struct Served {
    var requests: [HostRequest] = []
    var unacknowledged = 0
    var links: Set<DeviceAddress> = []
    var used: Set<DeviceAddress> = []
    var lastChannel: UInt64 = 0
    var nextHandle: UInt16 = 1
  }

  private var rig = MachineRig()
  private var random: SeededGenerator
  private var clients: [HubSessionID: Client] = [:]
  private var served: [HubSessionID: Served] = [:]
  private var lastSession: UInt64 = 0
  private var isGreeted = false
  /// The openings of the greeting that the hub has not answered.
  private var openings: [SessionOpening] = []
  private(set) var problems: [String] = []
  private(set) var keptCount = 0
  private(set) var completionCount = 0
  private(set) var connectionCount = 0
  private(set) var lossCount = 0

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  mutating func run(steps: Int) {
    for _ in 0..<steps where problems.isEmpty {
      step()
      observe()
    }
    guard problems.isEmpty else { return }
    // At the end, the hub is gone: nothing may be open.
    rig.handle(.closed(.ended))
    rig.sleep(.milliseconds(10))
    observe()
    for (id, client) in clients where !client.openTokens.isEmpty || !client.links.isEmpty {
      let isTrying = rig.machine.isOpen
      if !isTrying { problems.append("session \(id.rawValue) has open requests or links") }
    }
  }

  private mutating func below(_ limit: Int) -> Int { Int(random.next(upperBound: UInt64(limit))) }

  private mutating func peer() -> DeviceAddress {
    DeviceAddress(bits: UInt64(1 + below(3)), kind: .public)
  }

  private mutating func step() {
    switch below(20) {
    case 0: openSession()
    case 1:
      if below(4) == 0, let id = anySession() {
        rig.handle(.sessionClosed(id))
        clients[id] = nil
        served[id] = nil
      }
    case 2...7: request()
    case 8...14: serve()
    case 15: acknowledge()
    case 16: rig.sleep(.milliseconds(Int64(below(3_000))))
    case 17: connect()
    case 18: if below(5) == 0 { end() }
    default: if below(20) == 0 { sendNonsense() }
    }
  }

  private mutating func anySession() -> HubSessionID? {
    let ids = clients.keys.sorted { $0.rawValue < $1.rawValue }
    return ids.isEmpty ? nil : ids[below(ids.count)]
  }

  private mutating func openSession() {
    guard clients.count < 4 else { return }
    lastSession += 1
    let id = HubSessionID(rawValue: lastSession)
    clients[id] = Client()
    let name = lastSession % 2 == 0 ? "" : "central:\(lastSession)"
    // A third of those with a name is to be kept.
    let keptFor = TimeSpan.seconds(name.isEmpty || below(3) > 0 ? 0 : 30)
    rig.openSession(id, name: name, acknowledgesEvents: below(2) == 0, keptFor: keptFor)
  }

  // MARK: Clients

  private mutating func request() {
    guard let id = anySession() else { return }
    clients[id]?.lastToken += 1
    let number = clients[id]?.lastToken ?? 0
    let request = makeRequest(RequestToken(rawValue: number))
    if request.token != nil { clients[id]?.openTokens.insert(number) }
    rig.request(request, of: id)
  }

  private mutating func makeRequest(_ token: RequestToken) -> HostRequest {
    let channel = ChannelID(rawValue: UInt64(below(4)))
    switch below(16) {
    case 0: return .startScan(ScanOptions())
    case 1: return .stopScan
    case 2: return .startAdvertising(AdvertisingOptions(), token)
    case 3: return .stopAdvertising
    case 4, 5:
      var options = ConnectOptions()
      options.reconnectsAutomatically = below(2) == 0
      return .connect(peer(), options)
    case 6: return .disconnect(peer())
    case 7: return .readRSSI(peer(), token)
    case 8: return .addService(ServiceDefinition(uuid: 0x180D), token)
    case 9: return .removeService(UInt16(below(20)))
    case 10: return below(4) == 0 ? .removeAllServices : .barrier(token)
    case 11: return .updateValue(handle: UInt16(below(20)), [1], peers: nil, token)
    case 12: return .publishChannel(psm: nil, requiresEncryption: false, token)
    case 13: return .sendOnChannel(channel, [1], token)
    case 14: return .closeChannel(channel)
    default: return .gatt(peer(), .read(3), token)
    }
  }

  private mutating func acknowledge() {
    guard let id = anySession(), let count = clients[id]?.unhandled, count > 0 else { return }
    let handled = 1 + below(count)
    clients[id]?.unhandled -= handled
    rig.handle(.eventsHandled(id, count: handled))
  }

  // MARK: The hub

  private mutating func connect() {
    guard case .opening = rig.machine.phase else { return }
    served = [:]
    isGreeted = false
    rig.handle(.opened)
    guard below(8) > 0 else { return }  // silent
    openings = []
    observe()
    isGreeted = true
    connectionCount += 1
    let abilities: HubAbilities = below(4) > 0 ? [.bluetooth, .identity] : .bluetooth
    rig.hub(.welcome(HubWelcome(version: 1, abilities: abilities, isSimulated: true)))
    guard abilities.contains(.identity) else { return }
    for opening in openings where clients[opening.id] != nil { attach(opening) }
    openings = []
  }

  /// Answers an opening with what may have been kept of an earlier process.
  private mutating func attach(_ opening: SessionOpening) {
    guard isGreeted, rig.machine.isConnected, !opening.manager.isEmpty else { return }
    var attachment = SessionAttachment(
      holdsName: below(4) > 0, keptFor: below(2) == 0 ? .zero : opening.keptFor)
    if opening.keptFor > .zero, !opening.beginsAnew, attachment.holdsName, below(3) > 0 {
      attachment.holdings = holdings()
      keptCount += 1
      for link in attachment.holdings?.links ?? [] where link.isConnected {
        served[opening.id]?.used.insert(link.peer)
        clients[opening.id]?.used.insert(link.peer)
      }
      for service in attachment.holdings?.services ?? [] {
        served[opening.id]?.nextHandle = service.published.range.end + 1
      }
    }
    rig.hub(.attached(opening.id, attachment))
  }

  private mutating func holdings() -> SessionHoldings {
    var holdings = SessionHoldings()
    if below(2) == 0 { holdings.scan = ScanOptions() }
    if below(2) == 0 { holdings.advertising = AdvertisingOptions() }
    for bits in 1...3 where below(2) == 0 {
      holdings.links.append(
        SessionHoldings.Link(
          peer: DeviceAddress(bits: UInt64(bits), kind: .public), options: ConnectOptions(),
          isConnected: below(2) == 0))
    }
    for handle in 1...4 where below(2) == 0 {
      let range = HandleRange(UInt16(handle), UInt16(handle))
      holdings.services.append(
        SessionHoldings.Service(
          definition: ServiceDefinition(uuid: 0x180D),
          published: PublishedService(range: range, characteristics: [])))
    }
    holdings.lastToken = UInt64(below(100))
    return holdings
  }

  private mutating func end() {
    isGreeted = false
    rig.handle(.closed(.ended))
  }

  private mutating func sendNonsense() {
    guard isGreeted else { return }
    isGreeted = false
    let bytes = (0..<below(40)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    rig.handle(.received(bytes + [0, 0, 0, 0]))
    rig.handle(.closed(.ended))
  }

  private mutating func serve() {
    guard isGreeted, rig.machine.isConnected else { return }
    let ids = served.keys.sorted { $0.rawValue < $1.rawValue }
    guard !ids.isEmpty else { return }
    let id = ids[below(ids.count)]
    guard var session = served[id] else { return }
    var events: [HostEvent] = []
    for _ in 0...below(3) {
      if !session.requests.isEmpty, below(3) > 0 {
        answer(session.requests.removeFirst(), &session, &events)
      } else {
        events.append(event(&session))
      }
    }
    session.unacknowledged += events.count { $0.isAcknowledged }
    served[id] = session
    rig.hub(.events(id, HubEvents(events)))
  }

  private mutating func event(_ session: inout Served) -> HostEvent {
    let peer = peer()
    switch below(7) {
    case 0:
      guard session.links.insert(peer).inserted else { break }
      return .linkOpened(LinkInfo(peer: peer, role: .central))
    case 1:
      guard session.links.contains(peer), !session.used.contains(peer) else { break }
      session.links.remove(peer)
      return .linkClosed(peer, .disconnected(HCIStatus(rawValue: 0x13)))
    case 2:
      guard session.links.contains(peer), session.used.insert(peer).inserted else { break }
      return .connected(peer)
    case 3:
      guard session.used.remove(peer) != nil else { break }
      return .disconnected(peer, .disconnected(HCIStatus(rawValue: 0x13)), reconnecting: false)
    case 4:
      session.lastChannel += 1
      let id = ChannelID(rawValue: session.lastChannel)
      return .channelOpened(ChannelInfo(id: id, peer: peer, psm: 0x80, peerMTU: 64))
    case 5: return .stateChanged(.poweredOn)
    default: return .valueUpdated(peer, handle: 3, [1, 2])
    }
    return .acknowledgementRequested
  }

  private mutating func answer(
    _ request: HostRequest, _ session: inout Served, _ events: inout [HostEvent]
  ) {
    switch request {
    case .disconnect(let peer):
      if session.used.remove(peer) != nil {
        events.append(.disconnected(peer, nil, reconnecting: false))
      }
    case .addService(_, let token) where below(4) == 0,
      .publishChannel(_, _, let token) where below(4) == 0:
      events.append(.completed(token, .failure(.limitReached("things"))))
    case .connect(let peer, _) where below(4) == 0 && !session.used.contains(peer):
      events.append(.connectionFailed(peer, .limitReached("links")))
    case .addService(_, let token):
      let start = session.nextHandle + UInt16(below(2))
      session.nextHandle = start + 1
      let published = PublishedService(range: HandleRange(start, start), characteristics: [])
      events.append(.completed(token, .success(.published(published))))
    case .publishChannel(let psm, _, let token):
      events.append(.completed(token, .success(.psm(psm ?? UInt16(0x80 + below(8))))))
    default:
      guard let token = request.token else { return }
      let result: Result<HostReply, HostError> =
        below(4) == 0
        ? .failure(below(2) == 0 ? .notConnected : .limitReached("things")) : .success(.done)
      events.append(.completed(token, result))
    }
  }

  private var hasIdentity: Bool {
    if case .connected(let connection) = rig.machine.phase {
      connection.abilities.contains(.identity)
    } else {
      false
    }
  }

  // MARK: Checks

  private mutating func observe() {
    problems += rig.machine.violations()
    for message in rig.takeSent() { observe(message) }
    for id in rig.events.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      for event in rig.takeEvents(of: id) { observe(event, id) }
    }
    if !rig.machine.isOpen { isGreeted = false }
  }

  private mutating func observe(_ message: AppMessage) {
    switch message {
    case .greeting(let greeting):
      for opening in greeting.openings { served[opening.id] = Served() }
      openings = greeting.openings
    case .openSession(let opening):
      served[opening.id] = Served()
      if isGreeted, hasIdentity { attach(opening) }
    case .request(let id, .known(let request)): served[id]?.requests.append(request)
    case .request: problems.append("a request of a later version was sent")
    case .eventsHandled(let id, let count):
      served[id]?.unacknowledged -= count
      if let left = served[id]?.unacknowledged, left < 0 {
        problems.append("more events were acknowledged than session \(id.rawValue) got")
      }
    case .closeSession(let id): served[id] = nil
    case .status: problems.append("a session asked for the hub's state")
    case .forget: problems.append("a session asked the hub to forget kept ones")
    case .settled, .hasWork: problems.append("a hub of real time was told of virtual time")
    case .ping(let number): if isGreeted, below(6) > 0 { rig.hub(.pong(number)) }
    }
  }

  private mutating func observe(_ event: HostEvent, _ id: HubSessionID) {
    guard var client = clients[id] else { return problems.append("an event of a closed session") }
    if event.isAcknowledged { client.unhandled += 1 }
    switch event {
    case .completed(let token, _):
      completionCount += 1
      if client.openTokens.remove(token.rawValue) == nil {
        problems.append("request \(token.rawValue) was completed twice, or never sent")
      }
    case .stateChanged(let state):
      if client.state == state { problems.append("the state \(state) was reported twice") }
      client.state = state
      if state == .poweredOff {
        lossCount += 1
        if !client.links.isEmpty || !client.used.isEmpty || !client.channels.isEmpty {
          problems.append("the radio is off, and links or channels are open")
        }
      }
    case .linkOpened(let info): client.links.insert(info.peer)
    case .linkClosed(let peer, _): client.links.remove(peer)
    case .connected(let peer): client.used.insert(peer)
    case .disconnected(let peer, _, _): client.used.remove(peer)
    case .channelOpened(let info):
      if !client.channels.insert(info.id).inserted {
        problems.append("an identifier of a channel was used twice")
      }
    case .channelClosed(let id, _): client.channels.remove(id)
    default: break
    }
    clients[id] = client
  }
}
