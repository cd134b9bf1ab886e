import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials

/// The requests and events of one client of a host; finds violations of the host's contract.
struct ClientLedger {
  /// A client's interest in a link, as the contract of `HostRequest` has it.
  enum LinkRequest: Equatable {
    case pending
    case connected
    case cancelling(again: Bool)
  }

  /// One end of a channel: what goes in and out is `Pattern.stream` from its beginning.
  struct Channel {
    var peer: DeviceAddress
    var sentCount = 0
    var receivedCount = 0
    var isSending = false
    /// Bytes that were received and not yet consumed.
    var unconsumedCount = 0
  }

  /// A characteristic's place on one link.
  struct Place: Hashable {
    var peer: DeviceAddress
    var handle: UInt16
  }

  let id: ClientID
  private(set) var violations: [String] = []
  private(set) var state: RadioState?
  private(set) var outstanding: [RequestToken: HostRequest] = [:]
  private(set) var links: [DeviceAddress: LinkInfo] = [:]
  private(set) var linkRequests: [DeviceAddress: LinkRequest] = [:]
  private(set) var channels: [ChannelID: Channel] = [:]
  /// The discovered attributes of links that are open now.
  private(set) var characteristics: [DeviceAddress: [RemoteCharacteristic]] = [:]
  private(set) var services: [DeviceAddress: [RemoteService]] = [:]
  private(set) var published: [PublishedService] = []
  /// Tokens whose requests succeeded.
  private(set) var successCount = 0
  private var reconnects: [DeviceAddress: Bool] = [:]
  private var mayHear: Set<Place> = []
  private var lastHeard: [Place: UInt32] = [:]
  private var isScanning = false
  private var sends: [RequestToken: ChannelID] = [:]
  private var invalidConnects: [DeviceAddress: Int] = [:]

  init(id: ClientID) { self.id = id }

  private mutating func complain(_ text: String) {
    violations.append("client \(id.rawValue): \(text)")
  }

  // MARK: Requests

  mutating func asks(_ request: HostRequest) {
    if let token = request.token { outstanding[token] = request }
    switch request {
    case .startScan: isScanning = true
    case .stopScan: isScanning = false
    case .connect(let peer, let options):
      guard options.parameters.latency <= 499 else {
        invalidConnects[peer, default: 0] += 1
        return
      }
      reconnects[peer] = options.reconnectsAutomatically
      switch linkRequests[peer] {
      case nil: linkRequests[peer] = .pending
      case .cancelling: linkRequests[peer] = .cancelling(again: true)
      case .pending, .connected: break
      }
    case .disconnect(let peer):
      if linkRequests[peer] != nil { linkRequests[peer] = .cancelling(again: false) }
      mayHear = mayHear.filter { $0.peer != peer }
    case .subscribe(let peer, let target, _):
      mayHear.insert(Place(peer: peer, handle: target.valueHandle))
    case .unsubscribe(let peer, let target, _):
      mayHear.remove(Place(peer: peer, handle: target.valueHandle))
    case .sendOnChannel(let id, let bytes, let token):
      channels[id]?.sentCount += bytes.count
      channels[id]?.isSending = true
      sends[token] = id
    case .consumedFromChannel(let id, let byteCount): channels[id]?.unconsumedCount -= byteCount
    default: break
    }
  }

  // MARK: Events

  mutating func hears(_ event: HostEvent) {
    switch event {
    case .stateChanged(let new): stateChanged(new)
    case .completed(let token, let result): completed(token, result)
    case .discovered: if !isScanning { complain("discovered without a scan") }
    case .linkOpened(let link):
      if links.updateValue(link, forKey: link.peer) != nil { complain("link opened twice") }
    case .linkUpdated(let link):
      if links.updateValue(link, forKey: link.peer) == nil { complain("update of no link") }
    case .linkClosed(let peer, _): linkClosed(peer)
    case .connected, .connectionFailed, .disconnected: linkRequestChanged(event)
    case .valueUpdated(let peer, let handle, let value):
      valueUpdated(Place(peer: peer, handle: handle), value)
    case .acknowledgementRequested: complain("an acknowledgement that was not offered")
    case .valuesDropped, .writesDropped: complain("values dropped that the client had room for")
    case .requestsExpired: break
    case .servicesChanged(let peer, _):
      characteristics[peer] = nil
      services[peer] = nil
    case .serverRequest(let request):
      if links[request.peer] == nil { complain("a request over no link") }
    case .subscribed(let peer, _):
      if links[peer] == nil { complain("subscribed over no link") }
    case .unsubscribed, .pairingEnded, .bondNotKept: break
    case .pairingPrompt: complain("a prompt for a client that is no agent")
    case .channelOpened(let info): opened(info)
    case .channelReceived(let id, let bytes): received(id, bytes)
    case .channelClosed(let id, _):
      if channels.removeValue(forKey: id) == nil { complain("the end of no channel") }
    }
  }

  private mutating func stateChanged(_ new: RadioState) {
    if state == new { complain("state \(new) told twice") }
    state = new
    if new != .poweredOn, !links.isEmpty { complain("links are open while \(new)") }
  }

  private mutating func linkClosed(_ peer: DeviceAddress) {
    if links.removeValue(forKey: peer) == nil { complain("the end of no link") }
    switch linkRequests[peer] {
    case .connected, .cancelling:
      complain("still held when the link closed: \(linkRequests[peer] as Any)")
    case nil, .pending: break
    }
    if channels.values.contains(where: { $0.peer == peer }) {
      complain("a channel outlived its link")
    }
    forget(peer)
  }

  private mutating func forget(_ peer: DeviceAddress) {
    characteristics[peer] = nil
    services[peer] = nil
    mayHear = mayHear.filter { $0.peer != peer }
    lastHeard = lastHeard.filter { $0.key.peer != peer }
  }

  private mutating func linkRequestChanged(_ event: HostEvent) {
    switch event {
    case .connected(let peer):
      if links[peer] == nil { complain("connected without a link") }
      switch linkRequests[peer] {
      case .pending, .connected: linkRequests[peer] = .connected
      case nil, .cancelling: complain("connected, but nobody asked")
      }
    case .connectionFailed(let peer, _):
      if let count = invalidConnects[peer], count > 0 {
        invalidConnects[peer] = count - 1
      } else if linkRequests[peer] == .pending {
        linkRequests[peer] = nil
      } else {
        complain("connection failed while \(linkRequests[peer] as Any)")
      }
    case .disconnected(let peer, let error, let reconnecting):
      disconnected(peer, error, reconnecting)
    default: break
    }
  }

  private mutating func disconnected(
    _ peer: DeviceAddress, _ error: HostError?, _ reconnecting: Bool
  ) {
    switch linkRequests[peer] {
    case .connected:
      if error == nil { complain("disconnected without a reason or a wish") }
      if reconnecting != (reconnects[peer] ?? false) { complain("reconnecting is wrong") }
      linkRequests[peer] = reconnecting ? .pending : nil
    case .cancelling(let again):
      if error != nil || reconnecting { complain("a wished end with \(error as Any)") }
      linkRequests[peer] = again ? .pending : nil
    case nil, .pending: complain("disconnected while \(linkRequests[peer] as Any)")
    }
    forget(peer)
  }

  private mutating func valueUpdated(_ place: Place, _ value: ArraySlice<UInt8>) {
    if !mayHear.contains(place) { complain("a value of \(place.handle) without subscription") }
    guard
      characteristics[place.peer]?.contains(where: {
        $0.uuid == Probe.counter && $0.valueHandle == place.handle
      }) ?? false
    else { return }
    guard let count = Pattern.count(in: value) else { return complain("a torn value") }
    if let last = lastHeard[place], last >= count { complain("values changed places") }
    lastHeard[place] = count
  }

  // MARK: Completions

  private mutating func completed(
    _ token: RequestToken, _ result: Result<HostReply, HostError>
  ) {
    guard let request = outstanding.removeValue(forKey: token) else {
      return complain("completion of a token that is not outstanding: \(token.rawValue)")
    }
    if let channel = sends.removeValue(forKey: token) {
      if case .success = result { channels[channel]?.isSending = false }
    }
    switch (request, result) {
    case (.subscribe(let peer, let target, _), .failure):
      mayHear.remove(Place(peer: peer, handle: target.valueHandle))
    case (_, .failure): break
    case (_, .success(let reply)):
      successCount += 1
      take(reply, to: request)
    }
  }

  private mutating func take(_ reply: HostReply, to request: HostRequest) {
    switch (request, reply) {
    case (.gatt(let peer, .discoverServices(nil), _), .services(let found)):
      services[peer] = found
    case (.gatt(let peer, .discoverCharacteristics(_, nil), _), .characteristics(let found)):
      characteristics[peer, default: []] += found.filter {
        !(characteristics[peer] ?? []).contains($0)
      }
    case (.gatt(let peer, .read(let handle), _), .value(let value)):
      let known = characteristics[peer]?.first { $0.valueHandle == handle }
      guard let known, Probe.constants.contains(known.uuid), Probe.isProbe(peer) else { return }
      if value != Pattern.value(of: known.uuid) {
        complain("read \(value.count) bytes of \(known.uuid), which are not what it has")
      }
    case (.addService, .published(let service)): published.append(service)
    case (.openChannel(let peer, _, _), .channel(let info)):
      if links[peer] == nil { complain("a channel over no link") }
      opened(info)
    default: break
    }
  }

  // MARK: Channels

  private mutating func opened(_ info: ChannelInfo) {
    if links[info.peer] == nil { complain("a channel over no link") }
    if channels.updateValue(Channel(peer: info.peer), forKey: info.id) != nil {
      complain("a channel opened twice")
    }
  }

  private mutating func received(_ id: ChannelID, _ bytes: ArraySlice<UInt8>) {
    guard var channel = channels[id] else { return complain("bytes of no channel") }
    let expected = Pattern.stream(from: channel.receivedCount, count: bytes.count)
    if !bytes.elementsEqual(expected) {
      complain("bytes \(channel.receivedCount)... from \(channel.peer) were lost or changed")
    }
    channel.receivedCount += bytes.count
    channel.unconsumedCount += bytes.count
    channels[id] = channel
  }

  /// Whether nothing is outstanding.
  var isQuiet: Bool {
    outstanding.isEmpty && links.isEmpty && linkRequests.isEmpty && channels.isEmpty
  }

  /// What must hold once the client gave up everything and all is quiet.
  mutating func checkQuiet() {
    if !outstanding.isEmpty { complain("never completed: \(outstanding.values.map(\.name))") }
    if !links.isEmpty { complain("links are left: \(links.keys)") }
    if !linkRequests.isEmpty { complain("link requests are left: \(linkRequests)") }
    if !channels.isEmpty { complain("channels are left") }
  }
}

extension HostRequest {
  /// The token of a request that has one.
  var token: RequestToken? {
    switch self {
    case .startAdvertising(_, let token), .readRSSI(_, let token), .createOutOfBandData(let token),
      .setOutOfBandData(_, _, let token),
      .updateParameters(_, _, let token), .gatt(_, _, let token), .subscribe(_, _, let token),
      .unsubscribe(_, _, let token), .addService(_, let token),
      .updateValue(_, _, _, let token), .publishChannel(_, _, let token),
      .openChannel(_, _, let token), .sendOnChannel(_, _, let token), .barrier(let token),
      .pair(_, let token), .removeBond(_, let token), .attendAllPairings(let token),
      .setPHY(_, _, let token), .setSubrate(_, _, let token):
      token
    case .startScan, .stopScan, .stopAdvertising, .connect, .disconnect, .removeService,
      .removeAllServices, .respond, .unpublishChannel, .consumedFromChannel, .closeChannel,
      .setPairingAgent, .answerPairing:
      nil
    }
  }

  /// The case's name with the peer, short.
  var name: String { String("\(self)".prefix(60)) }
}
