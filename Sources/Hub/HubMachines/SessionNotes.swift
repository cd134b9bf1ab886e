import BluetoothInterface
import BluetoothWire
import HubWire

/// What a session wants and holds, with all options, as far as its program has heard of it: a new process of the
/// program gets that if the session is kept. Sessions that end with their programs have no notes.
struct SessionNotes: Sendable {
  /// A request with a token whose success changes what the session holds.
  private enum Pending: Sendable {
    /// Counts changes of the advertising up to this one.
    case advertising(AdvertisingOptions, changeCount: UInt64)
    case service(ServiceDefinition)
    case listener(requiresEncryption: Bool)
    case subscription(DeviceAddress, SubscriptionTarget)
    case unsubscription(DeviceAddress, SubscriptionTarget)
    case discovery(DeviceAddress, GATTOperation)
    case attendance

    var isDiscovery: Bool { if case .discovery = self { true } else { false } }
  }

  private struct Source: Hashable, Sendable {
    var peer: DeviceAddress
    var handle: UInt16
  }

  /// Requests of peers that are noted until they are answered. Others expire in the host.
  static let requestCountMax = 1_024

  private var scan: ScanOptions?
  private var advertising: AdvertisingOptions?
  private var advertisingChangeCount: UInt64 = 0
  private var links: [DeviceAddress: ConnectOptions] = [:]
  private var connectedLinks: Set<DeviceAddress> = []
  private var agent: SMPIOCapability?
  private var attendsAllPairings = false
  private var services: [SessionHoldings.Service] = []
  private var listeners: [UInt16: Bool] = [:]
  private var subscriptions: [Source: SubscriptionTarget] = [:]
  private var subscribers: Set<Source> = []
  private var attributes = DiscoveredAttributes()
  /// The names of the peers of requested links.
  private var names: [DeviceAddress: String] = [:]
  private var pending: [RequestToken: [Pending]] = [:]
  private(set) var lastToken: UInt64 = 0

  private var state: RadioState?
  private var openLinks: [DeviceAddress: LinkInfo] = [:]
  private var channels: Set<ChannelID> = []
  /// Requests of peers that the program has not answered.
  private var requests: [ServerRequestID: DeviceAddress] = [:]
  private var prompts: [PairingPromptID: DeviceAddress] = [:]

  /// Whether there is nothing to keep.
  var isEmpty: Bool {
    scan == nil && advertising == nil && links.isEmpty && services.isEmpty && listeners.isEmpty
      && subscriptions.isEmpty && pending.values.joined().allSatisfy(\.isDiscovery)
  }

  /// What the session holds.
  var holdings: SessionHoldings {
    var holdings = SessionHoldings()
    holdings.scan = scan
    holdings.advertising = advertising
    holdings.links = links.sorted { $0.key.bits < $1.key.bits }.map {
      SessionHoldings.Link(
        peer: $0.key, options: $0.value, isConnected: connectedLinks.contains($0.key),
        name: names[$0.key])
    }
    holdings.agent = agent
    holdings.attendsAllPairings = attendsAllPairings
    holdings.services = services
    holdings.listeners = listeners.sorted { $0.key < $1.key }.map {
      SessionHoldings.Listener(psm: $0.key, requiresEncryption: $0.value)
    }
    holdings.subscriptions = subscriptions.sorted { Self.isOrdered($0.key, $1.key) }.map {
      SessionHoldings.Subscription(peer: $0.key.peer, target: $0.value)
    }
    holdings.subscribers = subscribers.sorted(by: Self.isOrdered).map {
      SessionHoldings.Subscriber(peer: $0.peer, handle: $0.handle)
    }
    holdings.lastToken = lastToken
    holdings.attributes = attributes.peers
    return holdings
  }

  /// The events with which a session begins: the open links, then the radio's state.
  var firstEvents: [HostEvent] {
    openLinks.values.sorted { $0.peer.bits < $1.peer.bits }.map { .linkOpened($0) }
      + (state.map { [.stateChanged($0)] } ?? [])
  }

  /// The requests that end what a program alone could go on with: channels, answers to peers, and prompts.
  mutating func takeEnds() -> [HostRequest] {
    defer {
      channels = []
      requests = [:]
      prompts = [:]
    }
    return requests.keys.sorted { $0.rawValue < $1.rawValue }.map(HostRequest.refusing)
      + prompts.keys.sorted { $0.rawValue < $1.rawValue }.map { .answerPairing($0, .reject) }
      + channels.sorted { $0.rawValue < $1.rawValue }.map { .closeChannel($0) }
  }

  private static func isOrdered(_ a: Source, _ b: Source) -> Bool {
    (a.peer.bits, a.handle) < (b.peer.bits, b.handle)
  }

  // MARK: Requests

  /// A request is sent to the host.
  mutating func sent(_ request: HostRequest) {
    if let token = request.token { sent(request, token) }
    switch request {
    case .startScan(let options): scan = options
    case .stopScan: scan = nil
    case .stopAdvertising:
      advertising = nil
      advertisingChangeCount += 1
    case .connect(let peer, let options):
      links[peer] = options
      names[peer] = openLinks[peer]?.name ?? names[peer]
    case .disconnect(let peer): removeLink(peer)
    case .setPairingAgent(let capability): agent = capability
    case .removeService(let handle):
      let removed = services.first { $0.published.range.start == handle }?.published.range
      services.removeAll { $0.published.range.start == handle }
      if let removed { subscribers = subscribers.filter { !removed.contains($0.handle) } }
    case .removeAllServices:
      services = []
      subscribers = []
    case .unpublishChannel(let psm): listeners[psm] = nil
    case .unsubscribe(let peer, let target, _):
      // The program wants it no more, also if the request fails.
      subscriptions[Source(peer: peer, handle: target.valueHandle)] = nil
    case .respond(let id, _): requests[id] = nil
    case .answerPairing(let id, _): prompts[id] = nil
    case .closeChannel(let id): channels.remove(id)
    default: break
    }
  }

  private mutating func sent(_ request: HostRequest, _ token: RequestToken) {
    lastToken = max(lastToken, token.rawValue)
    switch request {
    case .startAdvertising(let options, _):
      advertisingChangeCount += 1
      expect(.advertising(options, changeCount: advertisingChangeCount), token)
    case .addService(let definition, _): expect(.service(definition), token)
    case .publishChannel(_, let requiresEncryption, _):
      expect(.listener(requiresEncryption: requiresEncryption), token)
    case .subscribe(let peer, let target, _): expect(.subscription(peer, target), token)
    case .unsubscribe(let peer, let target, _): expect(.unsubscription(peer, target), token)
    case .attendAllPairings: expect(.attendance, token)
    case .gatt(let peer, let operation, _) where operation.isDiscovery:
      expect(.discovery(peer, operation), token)
    default: break
    }
  }

  private mutating func expect(_ request: Pending, _ token: RequestToken) {
    pending[token, default: []].append(request)
  }

  // MARK: Events

  /// A request is completed. Returns the request that takes back what this has changed, for a process that was not
  /// told of it: nil if nothing has.
  ///
  /// - Parameter isWithdrawn: Whether the program has taken back what the request published.
  mutating func completed(
    _ token: RequestToken, _ result: Result<HostReply, HostError>, isWithdrawn: Bool
  ) -> HostRequest? {
    // Of several requests of one token, the first that fits is taken.
    guard let index = pending[token]?.firstIndex(where: { Self.fits(result, $0) }),
      let request = pending[token]?.remove(at: index)
    else { return nil }
    if pending[token]?.isEmpty == true { pending[token] = nil }
    guard !isWithdrawn, case .success(let reply) = result else { return nil }
    switch (request, reply) {
    case (.advertising(let options, let count), _) where count == advertisingChangeCount:
      let earlier = advertising
      advertising = options
      return earlier.map { .startAdvertising($0, token) } ?? .stopAdvertising
    case (.service(let definition), .published(let published)):
      services.removeAll { $0.published.range.start == published.range.start }
      services.append(SessionHoldings.Service(definition: definition, published: published))
      return .removeService(published.range.start)
    case (.listener(let requiresEncryption), .psm(let psm)):
      listeners[psm] = requiresEncryption
      return .unpublishChannel(psm: psm)
    case (.subscription(let peer, let target), _): return subscribed(peer, target, token)
    case (.unsubscription(let peer, let target), _):
      subscriptions[Source(peer: peer, handle: target.valueHandle)] = nil
    case (.attendance, _): attendsAllPairings = true
    case (.discovery(let peer, let operation), _):
      if connectedLinks.contains(peer) { attributes.discovered(reply, by: operation, of: peer) }
    default: break
    }
    return nil
  }

  /// The hub has taken a change of the advertising back. The completion of that changes nothing: two advertisements
  /// would replace each other without end.
  mutating func advertisingGoesOn(with options: AdvertisingOptions) {
    advertising = options
    advertisingChangeCount += 1
  }

  private mutating func subscribed(
    _ peer: DeviceAddress, _ target: SubscriptionTarget, _ token: RequestToken
  ) -> HostRequest? {
    let source = Source(peer: peer, handle: target.valueHandle)
    // A process that subscribes, too, has asked for it.
    let isWanted =
      subscriptions[source] != nil
      || pending.values.joined().contains {
        if case .subscription(peer, let other) = $0 {
          other.valueHandle == source.handle
        } else {
          false
        }
      }
    subscriptions[source] = target
    return isWanted ? nil : .unsubscribe(peer, target, token)
  }

  private static func fits(_ result: Result<HostReply, HostError>, _ request: Pending) -> Bool {
    switch (result, request) {
    case (.success(.published), .service), (.success(.psm), .listener): true
    case (.success(.published), _), (.success(.psm), _): false
    case (.success, .service), (.success, .listener): false
    default: true
    }
  }

  /// An event that completes no request is delivered to the program, or folded into what it gets later.
  mutating func delivered(_ event: HostEvent) {
    switch event {
    case .completed(_, .success(.channel(let info))): channels.insert(info.id)
    case .stateChanged(let state): self.state = state
    case .linkOpened(let info), .linkUpdated(let info):
      openLinks[info.peer] = info
      if let name = info.name, links[info.peer] != nil { names[info.peer] = name }
    case .linkClosed(let peer, _): linkClosed(peer)
    case .connected(let peer): connectedLinks.insert(peer)
    case .connectionFailed(let peer, _): removeLink(peer)
    case .disconnected(let peer, let error, let reconnecting):
      connectedLinks.remove(peer)
      attributes.remove(peer)
      // Without an error the program gave the link up, and may have requested another one since.
      if error != nil, !reconnecting { removeLink(peer) }
    case .pairingPrompt(let peer, _, let id): prompts[id] = peer
    case .pairingEnded(let peer, _): prompts = prompts.filter { $0.value != peer }
    case .serverRequest(let request):
      if request.needsResponse, requests.count < Self.requestCountMax {
        requests[request.id] = request.peer
      }
    case .subscribed(let peer, let handle):
      subscribers.insert(Source(peer: peer, handle: handle))
    case .unsubscribed(let peer, let handle):
      subscribers.remove(Source(peer: peer, handle: handle))
    case .channelOpened(let info): channels.insert(info.id)
    case .channelClosed(let id, _): channels.remove(id)
    case .servicesChanged(let peer, let range): attributes.changed(range, of: peer)
    case .completed, .discovered, .bondNotKept, .valueUpdated, .valuesDropped,
      .acknowledgementRequested, .writesDropped, .requestsExpired, .channelReceived:
      break
    }
  }

  private mutating func removeLink(_ peer: DeviceAddress) {
    links[peer] = nil
    names[peer] = nil
  }

  private mutating func linkClosed(_ peer: DeviceAddress) {
    openLinks[peer] = nil
    attributes.remove(peer)
    subscriptions = subscriptions.filter { $0.key.peer != peer }
    requests = requests.filter { $0.value != peer }
  }
}

extension HostRequest {
  /// Answers a peer's request to an attribute whose program isn't there, at once: peers wait for 30 s.
  static func refusing(_ id: ServerRequestID) -> HostRequest {
    .respond(id, .failure(.unlikelyError))
  }
}
