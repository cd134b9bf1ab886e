import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials

extension FuzzTarget {
  /// A whole host with a link of each role, at a controller that sends arbitrary packets. A
  /// packet's first byte selects an event, data, a request of a client, time, or that commands are
  /// no longer answered.
  static let hostMachine = FuzzTarget(name: "HostMachine") { bytes in
    var victim = HostVictim.template
    for packet in packets(bytes) {
      guard let choice = packet.first else { continue }
      victim.act(choice, packet.dropFirst())
    }
    victim.finish()
  }
}

private struct HostVictim {
  private static let client = ClientID(rawValue: 1)
  private static let peers = [1, 2, 3].map { DeviceAddress(bits: $0, kind: .public) }
  private static let service = ServiceDefinition(
    uuid: 0x180D,
    characteristics: [
      CharacteristicDefinition(
        uuid: 0x2A37, properties: [.read, .write, .notify, .indicate],
        permissions: [.readable, .writeable])
    ])

  private static let configuration: HostConfiguration = {
    var configuration = HostConfiguration()
    configuration.hasKeyAgreement = true
    return configuration
  }()

  /// A host that is up, with handle 0x40 as the central and 0x41 as the peripheral; copied for every
  /// input.
  static let template: HostVictim = {
    var victim = HostVictim()
    victim.handle(.transportOpened)
    victim.handle(.clientOpened(client))
    victim.request { .addService(service, $0) }
    victim.handle(.request(client, .setPairingAgent(.keyboardDisplay)))
    victim.request { .publishChannel(psm: 0x80, requiresEncryption: false, $0) }
    victim.handle(.request(client, .connect(peers[0], ConnectOptions())))
    let timing = ConnectionTiming(intervalUnits1250us: 24, latency: 0, timeoutUnits10ms: 72)
    for (handle, role) in [(UInt16(0x40), LinkRole.central), (0x41, .peripheral)] {
      let peer = PeerAddress(peers[Int(handle) - 0x40])
      victim.handle(
        .packet(
          LEConnectionComplete(handle: handle, role: role, peer: peer, timing: timing).packet))
      victim.handle(
        .packet(LEReadRemoteFeaturesComplete(handle: handle, features: []).packet))
    }
    precondition(victim.links.count == 2, "the host did not come up with two links")
    return victim
  }()

  var machine = HostMachine(configuration: configuration, random: SeededGenerator(seed: 1))
  var now = Instant.zero
  var answersCommands = true
  var tokenCount: UInt64 = 0
  var completed: Set<UInt64> = []
  var links: Set<DeviceAddress> = []
  var channels: [ChannelID] = []
  var requests: [ServerRequestID] = []
  var lastData: UInt16 = 0
  var prompt = PairingPromptID(rawValue: 0)

  mutating func act(_ choice: UInt8, _ packet: ArraySlice<UInt8>) {
    switch choice & 0x0F {
    case 0...3: handle(.packet(HCIPacket(kind: .event, bytes: packet)))
    case 4, 5: data(0x40, packet, continuing: choice & 0x80 != 0)
    case 6, 7: data(0x41, packet, continuing: choice & 0x80 != 0)
    case 8: handle(.packet(HCIPacket(kind: .acl, bytes: packet)))
    case 9: answersCommands = choice & 0x10 != 0
    case 10: pass(.milliseconds(Int64(choice >> 4) * 700))
    case 11: act(as: choice >> 4, packet)
    default: ask(choice >> 4, packet)
    }
  }

  /// The radio breaks: everything must have ended once, and nothing may hang on it any more.
  mutating func finish() {
    handle(.transportClosed(.transport("The end.")))
    precondition(
      completed.count == Int(tokenCount), "\(tokenCount) requests, \(completed.count) ended")
    precondition(links.isEmpty && channels.isEmpty, "a link or a channel outlived the radio")
  }

  private mutating func data(_ handle: UInt16, _ payload: ArraySlice<UInt8>, continuing: Bool) {
    // Whole frames for the attribute protocol and for signalling, so that the input need not guess
    // lengths; or a raw fragment.
    var frame: [UInt8] = []
    if let channel = payload.first, channel < 0x50, !continuing {
      let body = payload.dropFirst()
      frame = [UInt8(truncatingIfNeeded: body.count), 0, channel, 0] + body
    } else {
      frame = Array(payload)
    }
    let boundary: UInt16 = continuing ? 0x1000 : 0x2000
    let flagged = handle | boundary
    let header = [
      UInt8(truncatingIfNeeded: flagged), UInt8(truncatingIfNeeded: flagged >> 8),
      UInt8(truncatingIfNeeded: frame.count), UInt8(truncatingIfNeeded: frame.count >> 8),
    ]
    self.handle(.packet(HCIPacket(kind: .acl, bytes: (header + frame)[...])))
  }

  private mutating func pass(_ span: TimeSpan) {
    let end = now + span
    var wakeCount = 0
    while let wake = machine.nextWake, wake <= end {
      wakeCount += 1
      precondition(wakeCount < 10_000, "the host wants to be woken all the time")
      now = max(now, wake)
      var actions: [HostMachine.Action] = []
      machine.wake(now: now, into: &actions)
      perform(actions)
    }
    now = end
  }

  private mutating func request(_ make: (RequestToken) -> HostRequest) {
    tokenCount += 1
    handle(.request(Self.client, make(RequestToken(rawValue: tokenCount))))
  }

  /// Requests without an answer, and answers.
  private mutating func act(as kind: UInt8, _ packet: ArraySlice<UInt8>) {
    let peer = Self.peers[Int(packet.first ?? 0) % Self.peers.count]
    let channel = channels.last ?? ChannelID(rawValue: 99)
    let plain: HostRequest
    switch kind {
    case 0: plain = .startScan(ScanOptions())
    case 1: plain = .stopScan
    case 2: plain = .stopAdvertising
    case 3, 4: plain = .connect(peer, ConnectOptions())
    case 5:
      var options = ConnectOptions()
      options.reconnectsAutomatically = true
      plain = .connect(peer, options)
    case 6: plain = .disconnect(peer)
    case 7: plain = .removeAllServices
    case 8: plain = .unpublishChannel(psm: 0x80)
    case 9: plain = .consumedFromChannel(channel, byteCount: packet.count)
    case 10: plain = .closeChannel(channel)
    case 11:
      guard let id = requests.popLast() else { return }
      plain = .respond(id, .success(Array(packet)))
    case 12: return handle(.transportOpened)
    case 13: return handle(.transportClosed(.transport("Unplugged.")))
    case 14: plain = .answerPairing(prompt, Self.answer(packet))
    default: plain = .respond(ServerRequestID(rawValue: 77), .failure(.outOfRange))
    }
    handle(.request(Self.client, plain))
  }

  private mutating func ask(_ kind: UInt8, _ packet: ArraySlice<UInt8>) {
    let peer = Self.peers[Int(packet.first ?? 0) % Self.peers.count]
    let attribute = UInt16(packet.last ?? 0)
    let channel = channels.last ?? ChannelID(rawValue: 99)
    let target = SubscriptionTarget(
      valueHandle: attribute, configurationHandle: attribute &+ 1, usesIndications: kind & 1 == 0)
    request { token in
      switch kind {
      case 0: .startAdvertising(AdvertisingOptions(), token)
      case 1: .readRSSI(peer, token)
      case 2: .updateParameters(peer, .default, token)
      case 3: .gatt(peer, .discoverServices(nil), token)
      case 4: .gatt(peer, .read(attribute), token)
      case 5: .gatt(peer, .write(attribute, Array(packet)), token)
      case 6: .gatt(peer, .writeWithoutResponse(attribute, Array(packet)), token)
      case 7: .gatt(peer, .discoverCharacteristics(in: .all, nil), token)
      case 8, 9: .subscribe(peer, target, token)
      case 10, 11: .unsubscribe(peer, target, token)
      case 12: .addService(Self.service, token)
      case 13: .updateValue(handle: attribute, Array(packet), peers: nil, token)
      case 14: .openChannel(peer, psm: 0x80, token)
      default: Self.lastRequest(packet, peer, channel, token)
      }
    }
  }

  private static func lastRequest(
    _ packet: ArraySlice<UInt8>, _ peer: DeviceAddress, _ channel: ChannelID,
    _ token: RequestToken
  ) -> HostRequest {
    switch packet.count {
    case 1: .pair(peer, token)
    case 2: .removeBond(peer, token)
    default: .sendOnChannel(channel, Array(packet), token)
    }
  }

  private static func answer(_ packet: ArraySlice<UInt8>) -> PairingAnswer {
    switch packet.count {
    case 0, 1: .accept
    case 2: .reject
    default: .passkey(packet.suffix(3).reduce(0) { $0 << 8 | UInt32($1) })
    }
  }

  /// Replaces P-256: returns results derived from the input of the operation.
  private static func compute(
    _ operation: KeyAgreementRequest.Operation
  ) -> KeyAgreementResult {
    switch operation {
    case .publicKey(let key): .publicKey(PublicKey(x: key, y: key))
    case .sharedSecret(let key, let peer): peer.x == peer.y ? .invalidKey : .sharedSecret(key)
    }
  }

  private mutating func handle(_ input: HostMachine.Input) {
    var actions: [HostMachine.Action] = []
    machine.handle(input, now: now, into: &actions)
    perform(actions)
  }

  private mutating func perform(_ actions: [HostMachine.Action]) {
    var answers: [HCIPacket] = []
    var computations: [KeyAgreementRequest] = []
    for action in actions {
      switch action {
      case .send(let packet):
        if answersCommands, let answer = CommandAnswers.answer(packet) {
          answers.append(answer)
        }
      case .deliver(_, let event): take(event)
      case .computeKey(let request): computations.append(request)
      case .pauseReceiving, .resumeReceiving, .storeBond, .bondNotKept, .bondEvicted, .updateBonds,
        .removeBond, .clientLate:
        break
      case .reopenTransport: break
      }
    }
    for request in computations {
      handle(.keyComputed(id: request.id, Self.compute(request.operation)))
    }
    for answer in answers { handle(.packet(answer)) }
  }

  private mutating func take(_ event: HostEvent) {
    switch event {
    case .completed(let token, let result):
      precondition(completed.insert(token.rawValue).inserted, "a request ended twice")
      if case .success(.channel(let channel)) = result { channels.append(channel.id) }
    case .linkOpened(let link):
      precondition(links.insert(link.peer).inserted, "a link opened twice")
    case .linkClosed(let peer, _):
      precondition(links.remove(peer) != nil, "a link closed that was not open")
    case .connected(let peer): precondition(links.contains(peer), "connected without a link")
    case .channelOpened(let channel): channels.append(channel.id)
    case .channelClosed(let id, _):
      precondition(channels.contains(id), "a channel closed that was not open")
      channels.removeAll { $0 == id }
    case .channelReceived(let id, _):
      precondition(channels.contains(id), "data on a channel that isn't open")
    case .serverRequest(let request): requests.append(request.id)
    case .stateChanged, .discovered, .linkUpdated, .connectionFailed, .disconnected,
      .valueUpdated, .valuesDropped, .writesDropped, .requestsExpired, .acknowledgementRequested,
      .servicesChanged,
      .subscribed, .unsubscribed, .pairingEnded, .bondNotKept:
      break
    case .pairingPrompt(_, _, let id): prompt = id
    }
  }
}
