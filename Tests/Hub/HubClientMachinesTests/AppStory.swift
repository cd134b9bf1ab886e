import BluetoothInterface
import BluetoothWire

/// What an app wants, as one of Core Bluetooth does it: it begins when the radio is on, goes on with each event,
/// and begins again with what has failed when the radio is back.
enum AppStory: CaseIterable {
  case connect
  case subscription
  case pairing
  case publication

  /// The least number of messages between the app and its hub until the goal.
  var messageCountMin: Int {
    switch self {
    case .connect: 8
    case .subscription: 9
    case .pairing: 11
    case .publication: 11
    }
  }

  static let definition = ServiceDefinition(
    uuid: 0x180D,
    characteristics: [
      CharacteristicDefinition(uuid: 0x2A37, properties: .notify, permissions: .readable)
    ])

  static let target = SubscriptionTarget(
    valueHandle: 3, configurationHandle: 4, usesIndications: false)
}

/// An app, and what it knows of the radio.
struct StoryApp {
  let story: AppStory
  private(set) var hasReachedGoal = false
  private(set) var problems: [String] = []

  private var lastToken: UInt64 = 0
  /// What the open requests are for.
  private var open: [RequestToken: HostRequest] = [:]
  private var isOn = false
  private var wantsLink = false
  private var links: Set<DeviceAddress> = []
  private var used: Set<DeviceAddress> = []
  private var prompts: Set<DeviceAddress> = []
  private var subscribers: Set<DeviceAddress> = []
  private var service: PublishedService?
  private var isAdvertising = false
  private var hasAgent = false

  init(_ story: AppStory) { self.story = story }

  /// What the app requests before it knows the radio's state.
  mutating func begin() -> [HostRequest] {
    guard story == .pairing, !hasAgent else { return [] }
    hasAgent = true
    return [.setPairingAgent(.displayYesNo)]
  }

  /// The app's requests after an event.
  mutating func take(_ event: HostEvent) -> [HostRequest] {
    switch event {
    case .stateChanged(let state): return take(state)
    case .completed(let token, let result): return take(result, of: token)
    case .linkOpened(let info): links.insert(info.peer)
    case .linkClosed(let peer, _): links.remove(peer)
    case .connected(let peer):
      used.insert(peer)
      return afterConnection(peer)
    case .connectionFailed, .disconnected:
      used.removeAll()
      wantsLink = false
    case .pairingPrompt(let peer, _, let id):
      prompts.insert(peer)
      return [.answerPairing(id, .accept)]
    case .pairingEnded(let peer, _): prompts.remove(peer)
    case .valueUpdated: if story == .subscription { hasReachedGoal = true }
    case .subscribed(let peer, let handle):
      subscribers.insert(peer)
      if handle != service?.characteristics.first?.valueHandle {
        problems.append("a peer subscribed to handle \(handle), which is no characteristic")
      }
      return [request { .updateValue(handle: handle, [1], peers: nil, $0) }]
    case .unsubscribed(let peer, _): subscribers.remove(peer)
    default: problems.append("an unexpected event: \(event)")
    }
    return []
  }

  private mutating func request(_ make: (RequestToken) -> HostRequest) -> HostRequest {
    lastToken += 1
    let request = make(RequestToken(rawValue: lastToken))
    open[RequestToken(rawValue: lastToken)] = request
    return request
  }

  // MARK: The radio

  private mutating func take(_ state: RadioState) -> [HostRequest] {
    isOn = state == .poweredOn
    if state == .poweredOff {
      let left = [
        ("requests", open.count), ("links", links.count), ("used links", used.count),
        ("prompts", prompts.count), ("subscribers", subscribers.count),
      ]
      for (name, count) in left where count > 0 {
        problems.append("the radio is off, and there are \(count) \(name)")
      }
    }
    return isOn ? whenOn() : []
  }

  /// What is missing of what the app wants.
  private mutating func whenOn() -> [HostRequest] {
    guard story == .publication else {
      guard !wantsLink else { return [] }
      wantsLink = true
      return [.connect(MachineRig.peer, ConnectOptions())]
    }
    if service == nil { return [request { .addService(AppStory.definition, $0) }] }
    return isAdvertising ? [] : [request { .startAdvertising(AdvertisingOptions(), $0) }]
  }

  private mutating func afterConnection(_ peer: DeviceAddress) -> [HostRequest] {
    switch story {
    case .connect: [request { .gatt(peer, .discoverServices(nil), $0) }]
    case .subscription: [request { .subscribe(peer, AppStory.target, $0) }]
    case .pairing: [request { .pair(peer, $0) }]
    case .publication: []
    }
  }

  // MARK: Completions

  private mutating func take(
    _ result: Result<HostReply, HostError>, of token: RequestToken
  ) -> [HostRequest] {
    guard let request = open.removeValue(forKey: token) else {
      problems.append("request \(token.rawValue) was completed twice, or never sent")
      return []
    }
    switch (request, result) {
    case (.addService, .success(.published(let published))):
      service = published
      return isOn ? whenOn() : []
    case (.startAdvertising, .success): isAdvertising = true
    case (.gatt, .success(.services)), (.pair, .success), (.updateValue, .success):
      hasReachedGoal = true
    default: break
    }
    return []
  }
}
