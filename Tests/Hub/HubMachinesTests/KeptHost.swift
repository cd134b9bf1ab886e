import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire

@testable import HubMachines

/// What a program's session has of the radio: in the host, or as a process of the program believes.
struct HeldRadio: Equatable {
  var state: RadioState?
  var scan: ScanOptions?
  var advertising: AdvertisingOptions?
  var wanted: [DeviceAddress: ConnectOptions] = [:]
  var open: Set<DeviceAddress> = []
  var connected: Set<DeviceAddress> = []
  var services: [UInt16: ServiceDefinition] = [:]
  var listeners: Set<UInt16> = []
  var subscriptions: Set<SessionHoldings.Subscription> = []

  init() {}

  /// The belief of a process that got this answer.
  init(_ holdings: SessionHoldings) {
    scan = holdings.scan
    advertising = holdings.advertising
    for link in holdings.links {
      wanted[link.peer] = link.options
      if link.isConnected { connected.insert(link.peer) }
    }
    for service in holdings.services {
      services[service.published.range.start] = service.definition
    }
    listeners = Set(holdings.listeners.map(\.psm))
    subscriptions = Set(holdings.subscriptions)
  }

  /// A process hears of an event.
  mutating func hear(_ event: HostEvent) {
    switch event {
    case .stateChanged(let state): self.state = state
    case .linkOpened(let info): open.insert(info.peer)
    case .linkClosed(let peer, _):
      open.remove(peer)
      subscriptions = subscriptions.filter { $0.peer != peer }
    case .connected(let peer): connected.insert(peer)
    case .disconnected(let peer, let error, let reconnecting):
      connected.remove(peer)
      if error != nil, !reconnecting { wanted[peer] = nil }
    default: break
    }
  }
}

/// A host with sessions whose events wait until they are delivered.
struct KeptHost {
  static let lost = HostError.disconnected(HCIStatus(rawValue: 0x08))

  private(set) var uses: [HubSessionKey: HeldRadio] = [:]
  private(set) var waiting: [HubSessionKey: [HostEvent]] = [:]
  /// How many events of a session are delivered and not acknowledged.
  private(set) var unacknowledged: [HubSessionKey: Int] = [:]
  /// Requests of peers that have no answer.
  private(set) var unanswered: [ServerRequestID: DeviceAddress] = [:]
  private var lastHandle: UInt16 = 0
  private var lastRequest: UInt64 = 0
  private(set) var problems: [String] = []

  mutating func perform(_ actions: [HubMachine.Action]) {
    for action in actions {
      switch action {
      case .openSession(let key, _):
        uses[key] = HeldRadio()
        uses[key]?.state = .poweredOn
        waiting[key] = [.stateChanged(.poweredOn)]
        unacknowledged[key] = 0
      case .send(let key, let request): perform(request, key)
      case .acknowledge(let key, let count):
        unacknowledged[key, default: 0] -= count
        if unacknowledged[key, default: -1] < 0 { problems.append("too much is acknowledged") }
      case .closeSession(let key):
        if uses.removeValue(forKey: key) == nil { problems.append("a session is closed twice") }
        waiting[key] = nil
        unacknowledged[key] = nil
        unanswered = [:]
      case .write, .setReading, .close, .readStatus, .report, .settled, .hasWork: break
      }
    }
  }

  private mutating func perform(_ request: HostRequest, _ key: HubSessionKey) {
    guard uses[key] != nil else { return problems.append("a request for no session") }
    switch request {
    case .startScan(let options): uses[key]?.scan = options
    case .stopScan: uses[key]?.scan = nil
    case .startAdvertising(let options, let token):
      uses[key]?.advertising = options
      complete(token, .success(.done), key)
    case .stopAdvertising: uses[key]?.advertising = nil
    case .connect(let peer, let options):
      uses[key]?.wanted[peer] = options
    case .disconnect(let peer):
      uses[key]?.wanted[peer] = nil
      close(peer, nil, key)
    case .addService(let definition, let token):
      lastHandle += 1
      let range = HandleRange(lastHandle, lastHandle)
      uses[key]?.services[lastHandle] = definition
      let published = PublishedService(range: range, characteristics: [])
      complete(token, .success(.published(published)), key)
    case .removeService(let handle): uses[key]?.services[handle] = nil
    case .removeAllServices: uses[key]?.services = [:]
    case .publishChannel(let psm?, _, let token):
      uses[key]?.listeners.insert(psm)
      complete(token, .success(.psm(psm)), key)
    case .unpublishChannel(let psm): uses[key]?.listeners.remove(psm)
    case .subscribe(let peer, let target, let token):
      guard uses[key]?.connected.contains(peer) == true else {
        return complete(token, .failure(.notConnected), key)
      }
      uses[key]?.subscriptions.insert(SessionHoldings.Subscription(peer: peer, target: target))
      complete(token, .success(.done), key)
    case .unsubscribe(let peer, let target, let token):
      uses[key]?.subscriptions.remove(SessionHoldings.Subscription(peer: peer, target: target))
      complete(token, .success(.done), key)
    case .respond(let id, _): unanswered[id] = nil
    default: if let token = request.token { complete(token, .success(.done), key) }
    }
  }

  private mutating func complete(
    _ token: RequestToken, _ result: Result<HostReply, HostError>, _ key: HubSessionKey
  ) {
    waiting[key, default: []].append(.completed(token, result))
  }

  private mutating func close(_ peer: DeviceAddress, _ error: HostError?, _ key: HubSessionKey) {
    guard uses[key]?.connected.remove(peer) != nil else { return }
    let reconnects = error != nil && uses[key]?.wanted[peer]?.reconnectsAutomatically == true
    if !reconnects, error != nil { uses[key]?.wanted[peer] = nil }
    uses[key]?.open.remove(peer)
    unanswered = unanswered.filter { $0.value != peer }
    let subscriptions = uses[key]?.subscriptions ?? []
    uses[key]?.subscriptions = subscriptions.filter { $0.peer != peer }
    waiting[key, default: []] += [
      .disconnected(peer, error, reconnecting: reconnects), .linkClosed(peer, error ?? Self.lost),
    ]
  }

  /// A wanted link comes, one is lost, or a value, a report or a request of a peer arrives.
  mutating func happen(_ key: HubSessionKey, _ random: inout SeededGenerator) {
    guard let use = uses[key] else { return }
    let peer = DeviceAddress(bits: UInt64.random(in: 1...3, using: &random), kind: .public)
    switch Int.random(in: 0..<6, using: &random) {
    case 0, 1:
      guard use.wanted[peer] != nil, !use.connected.contains(peer) else { return }
      uses[key]?.open.insert(peer)
      uses[key]?.connected.insert(peer)
      waiting[key, default: []] += [
        .linkOpened(LinkInfo(peer: peer, role: .central)), .connected(peer),
      ]
    case 2: close(peer, Self.lost, key)
    case 3: waiting[key, default: []].append(.valueUpdated(peer, handle: 3, [1, 2]))
    case 4:
      lastRequest += 1
      let id = ServerRequestID(rawValue: lastRequest)
      unanswered[id] = peer
      waiting[key, default: []].append(
        .serverRequest(
          ServerRequest(
            id: id, peer: peer, kind: .read(handle: 1, offset: 0), needsResponse: true)))
    default:
      waiting[key, default: []].append(
        .discovered(
          AdvertisingReport(
            address: peer, isConnectable: true, isScannable: true, isLegacy: true, rssi: -40,
            data: [1], heardAt: .zero)))
    }
  }

  /// Takes some of the events that wait, for delivery.
  mutating func take(_ key: HubSessionKey, atMost count: Int) -> [HostEvent] {
    let taken = Array((waiting[key] ?? []).prefix(count))
    waiting[key]?.removeFirst(taken.count)
    unacknowledged[key, default: 0] += taken.count
    return taken
  }
}
