import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire
import Testing

@testable import HubClientMachines

@Suite("Sessions through the hub")
struct SessionTests {
  private static let peer = MachineRig.peer
  private static let id = MachineRig.one
  private static let gone = HubFailure.ended.hostError

  // MARK: Events and acknowledgement

  @Test("requests are sent under tokens that are used once, and completed with the client's")
  func tokens() {
    var rig = MachineRig.connected()
    _ = rig.takeEvents()
    rig.request(.barrier(7))
    rig.request(.readRSSI(Self.peer, 7))
    #expect(rig.takeRequests() == [.barrier(1), .readRSSI(Self.peer, 2)])
    rig.hub(.completed(2, .success(.rssi(-50))), .completed(1, .success(.done)))
    #expect(
      rig.takeEvents() == [.completed(7, .success(.rssi(-50))), .completed(7, .success(.done))])
    rig.restartHub()
    _ = rig.takeSent()
    rig.request(.barrier(7))
    #expect(rig.takeRequests() == [.barrier(3)])
  }

  @Test("events that only a later version knows are acknowledged with those around them")
  func skippedEvents() {
    var rig = MachineRig.connected()
    _ = rig.takeSent()
    rig.hub(.acknowledgementRequested)
    // Two events of unknown numbers.
    rig.handle(.received([12, 0, 0, 0, 0x90, 1, 2, 0, 0, 0x7F, 0, 2, 0, 0, 0x7F, 0]))
    rig.hub(.acknowledgementRequested)
    #expect(rig.takeEvents().count == 4)  // the first two are the states
    rig.handle(.eventsHandled(Self.id, count: 1))
    #expect(rig.takeSent().isEmpty)
    rig.handle(.eventsHandled(Self.id, count: 2))
    #expect(rig.takeSent() == [.eventsHandled(Self.id, count: 4)])
    rig.handle(.eventsHandled(Self.id, count: 1))
    #expect(rig.takeSent() == [.eventsHandled(Self.id, count: 1)])
    rig.handle(.eventsHandled(Self.id, count: 50))
    #expect(rig.takeSent().isEmpty)
  }

  @Test(
    "the events of a client that does not acknowledge them are acknowledged behind their delivery")
  func withoutAcknowledgement() {
    var rig = MachineRig.connected(acknowledgesEvents: false)
    _ = rig.takeSent()
    var actions: [HubClientMachine.Action] = []
    var writer = HubFrameWriter()
    try? writer.append(
      HubMessage.events(Self.id, HubEvents([.connected(Self.peer), .linkOpened(.sample)])))
    rig.machine.handle(.received(writer.takeBytes()), now: rig.now, into: &actions)
    guard actions.count == 2, case .deliver(Self.id, let events) = actions[0],
      case .send(let bytes) = actions[1]
    else {
      Issue.record("\(actions)")
      return
    }
    #expect(events.count == 2)
    #expect(bytes == [3, 0, 0, 0, 0x92, 1, 2])
  }

  @Test("a pairing prompt of a later version is rejected, so that the pairing does not wait")
  func unknownPrompt() {
    var rig = MachineRig.connected()
    _ = rig.takeSent()
    var writer = HubFrameWriter()
    let prompt = HostEvent.pairingPrompt(
      Self.peer, .displayPasskey(1), PairingPromptID(rawValue: 5))
    try? writer.append(HubMessage.events(Self.id, HubEvents([prompt])))
    var bytes = writer.takeBytes()
    // The number of the prompt is behind the identifier.
    let passkey = bytes.lastIndex(of: 5).map { $0 + 1 } ?? 0
    bytes[passkey] = 0x7E
    rig.handle(.received(bytes))
    #expect(rig.takeRequests() == [.answerPairing(PairingPromptID(rawValue: 5), .reject)])
    #expect(rig.failures.isEmpty)
  }

  // MARK: Pairings of all programs

  @Test("a session that attends all pairings asks a restarted hub for it again")
  func attendance() {
    var rig = MachineRig.connected()
    _ = rig.takeSent()
    rig.request(.setPairingAgent(.keyboardDisplay))
    rig.request(.attendAllPairings(7))
    #expect(rig.takeRequests() == [.setPairingAgent(.keyboardDisplay), .attendAllPairings(1)])
    rig.hub(.completed(1, .success(.done)))
    #expect(rig.takeEvents().last == .completed(7, .success(.done)))
    rig.restartHub()
    #expect(rig.takeRequests() == [.attendAllPairings(2), .setPairingAgent(.keyboardDisplay)])
    _ = rig.takeEvents()
    // This one has other rules: the client learns of it, and it is not asked again.
    let refusal = HostError.unauthorized("The rules deny it.")
    rig.hub(.completed(2, .failure(refusal)))
    #expect(rig.takeEvents() == [.completed(7, .failure(refusal))])
    rig.restartHub()
    #expect(rig.takeRequests() == [.setPairingAgent(.keyboardDisplay)])
  }

  @Test("a session that may not attend all pairings is refused once, and a restarted hub not asked")
  func refusedAttendance() {
    var rig = MachineRig.connected()
    _ = rig.takeSent()
    rig.request(.attendAllPairings(7))
    let refusal = HostError.unauthorized("The rules deny it.")
    rig.hub(.completed(1, .failure(refusal)))
    #expect(rig.takeEvents().last == .completed(7, .failure(refusal)))
    rig.restartHub()
    #expect(rig.takeRequests().isEmpty)
  }

  // MARK: A hub that is gone

  @Test("requests and links end before the radio is off, when the hub is gone")
  func loss() {
    var rig = MachineRig.connected()
    rig.request(.connect(Self.peer, ConnectOptions()))
    rig.hub(.linkOpened(.sample), .connected(Self.peer))
    rig.request(.readRSSI(Self.peer, 8))
    rig.request(.startAdvertising(AdvertisingOptions(), 9))
    rig.request(.barrier(10))
    let channel = ChannelInfo(
      id: ChannelID(rawValue: 3), peer: Self.peer, psm: 0x80, peerMTU: 100)
    rig.hub(
      .channelOpened(channel), .subscribed(Self.peer, handle: 5),
      .pairingPrompt(Self.peer, .consent, PairingPromptID(rawValue: 1)))
    let opened = rig.takeEvents().compactMap {
      if case .channelOpened(let info) = $0 { info.id } else { nil }
    }
    rig.handle(.closed(.ended))
    #expect(
      rig.takeEvents() == [
        .completed(8, .failure(Self.gone)), .completed(9, .failure(.radioNotReady)),
        .channelClosed(opened[0], Self.gone), .pairingEnded(Self.peer, .disconnected),
        .unsubscribed(Self.peer, handle: 5),
        .disconnected(Self.peer, Self.gone, reconnecting: false),
        .linkClosed(Self.peer, Self.gone), .completed(10, .success(.done)),
        .stateChanged(.poweredOff),
      ])
    rig.restartHub()
    #expect(rig.takeRequests().isEmpty, "the link had ended, and is not wanted any more")
    rig.hub(.stateChanged(.unknown), .stateChanged(.poweredOn))
    #expect(rig.takeEvents() == [.stateChanged(.poweredOn)])
  }

  @Test("a link that was given up ends without an error when the hub is gone")
  func cancelledLink() {
    var rig = MachineRig.connected()
    rig.request(.connect(Self.peer, ConnectOptions()))
    rig.hub(.linkOpened(.sample), .connected(Self.peer))
    rig.request(.disconnect(Self.peer))
    _ = rig.takeEvents()
    rig.handle(.closed(.ended))
    #expect(
      rig.takeEvents().first == .disconnected(Self.peer, nil, reconnecting: false))
  }

  @Test("without a hub, requests are completed as by a host without a radio")
  func answers() {
    var rig = MachineRig.connected()
    rig.handle(.closed(.ended))
    _ = rig.takeEvents()
    rig.request(.readRSSI(Self.peer, 1))
    rig.request(.barrier(2))
    rig.request(.sendOnChannel(ChannelID(rawValue: 9), [1], 3))
    rig.request(.addService(ServiceDefinition(uuid: 0x180D), 4))
    rig.request(.startScan(ScanOptions()))
    #expect(
      rig.takeEvents() == [
        .completed(1, .failure(.radioNotReady)), .completed(2, .success(.done)),
        .completed(3, .failure(.notConnected)), .completed(4, .failure(Self.gone)),
      ])
  }

  @Test("requests that need no radio wait for the first answer of the hub, up to a bound")
  func waiting() {
    var rig = MachineRig()
    rig.openSession(Self.id)
    let max = UInt64(HubClientLimits.waitingRequestsMax)
    for token in 0...max {
      rig.request(.publishChannel(psm: nil, requiresEncryption: false, .init(rawValue: token)))
    }
    let limit = HostError.limitReached("requests that wait for the hub")
    #expect(
      rig.takeEvents() == [
        .stateChanged(.unknown), .completed(.init(rawValue: max), .failure(limit)),
      ])
    rig.connect()
    #expect(rig.takeRequests().count == Int(max))
    rig.handle(.closed(.ended))
    #expect(rig.takeEvents().count == Int(max) + 1)
  }

  @Test("waiting requests fail when no hub is reached")
  func waitingInVain() {
    var rig = MachineRig()
    rig.openSession(Self.id)
    rig.request(.removeBond(Self.peer, 1))
    rig.handle(.closed(.notReached(.transport("no hub"))))
    #expect(
      rig.takeEvents() == [
        .stateChanged(.unknown), .completed(1, .failure(.transport("no hub"))),
        .stateChanged(.poweredOff),
      ])
  }

  // MARK: A hub that is back

  @Test("a hub that is back gets all that the client still wants")
  func wants() {
    var rig = MachineRig.connected()
    var scan = ScanOptions()
    scan.services = [0x180D]
    var options = ConnectOptions()
    options.reconnectsAutomatically = true
    rig.request(.startScan(scan))
    rig.request(.connect(Self.peer, options))
    rig.request(.setPairingAgent(.displayOnly))
    rig.request(.startAdvertising(AdvertisingOptions(), 5))
    rig.request(.publishChannel(psm: nil, requiresEncryption: true, 6))
    rig.hub(.completed(1, .success(.done)), .completed(2, .success(.psm(0x81))))
    rig.hub(.linkOpened(.sample), .connected(Self.peer))
    rig.handle(.closed(.ended))
    #expect(
      rig.takeEvents().contains(.disconnected(Self.peer, Self.gone, reconnecting: true)))
    rig.sleep(.seconds(1))
    rig.connect()
    #expect(
      rig.takeRequests() == [
        .setPairingAgent(.displayOnly),
        .publishChannel(psm: 0x81, requiresEncryption: true, 3), .startScan(scan),
        .connect(Self.peer, options),
      ])
    rig.hub(.stateChanged(.poweredOn))
    #expect(rig.takeRequests() == [.startAdvertising(AdvertisingOptions(), 4)])
    _ = rig.takeEvents()
    rig.hub(.completed(3, .success(.psm(0x81))), .completed(4, .success(.done)))
    #expect(rig.takeEvents().isEmpty, "the client did not send these requests")
    rig.request(.stopScan)
    rig.request(.stopAdvertising)
    rig.request(.disconnect(Self.peer))
    rig.request(.setPairingAgent(nil))
    rig.request(.unpublishChannel(psm: 0x81))
    rig.restartHub()
    rig.hub(.stateChanged(.poweredOn))
    #expect(rig.takeRequests().isEmpty)
  }

  @Test("identifiers of an earlier hub are not taken for those of the next")
  func identifiers() {
    var rig = MachineRig.connected()
    let request = ServerRequest(
      id: ServerRequestID(rawValue: 1), peer: Self.peer, kind: .read(handle: 3, offset: 0),
      needsResponse: true)
    rig.hub(.serverRequest(request))
    guard case .serverRequest(let first)? = rig.takeEvents().last else {
      Issue.record("the request did not arrive")
      return
    }
    rig.restartHub()
    rig.hub(.stateChanged(.poweredOn), .serverRequest(request))
    guard case .serverRequest(let second)? = rig.takeEvents().last else {
      Issue.record("the request did not arrive")
      return
    }
    #expect(first.id != second.id)
    _ = rig.takeSent()
    rig.request(.respond(first.id, .success([1])))
    rig.request(.closeChannel(ChannelID(rawValue: 1)))
    #expect(rig.takeRequests().isEmpty)
    rig.request(.respond(second.id, .success([1])))
    #expect(rig.takeRequests() == [.respond(ServerRequestID(rawValue: 1), .success([1]))])
  }

  // MARK: Services

  private static let definition = ServiceDefinition(
    uuid: 0x180D,
    characteristics: [
      CharacteristicDefinition(uuid: 0x2A37, properties: .notify, permissions: .readable)
    ])

  private static func published(at start: UInt16) -> PublishedService {
    PublishedService(
      range: HandleRange(start, start + 3),
      characteristics: [
        PublishedCharacteristic(valueHandle: start + 2, configurationHandle: start + 3)
      ])
  }

  @Test(
    "the radio is on when the services have the handles of the next hub, and clients keep theirs")
  func services() {
    var rig = MachineRig.connected()
    rig.request(.addService(Self.definition, 1))
    rig.hub(.completed(1, .success(.published(Self.published(at: 20)))))
    rig.restartHub()
    #expect(rig.takeRequests() == [.addService(Self.definition, 2)])
    _ = rig.takeEvents()
    rig.hub(.stateChanged(.poweredOn))
    #expect(rig.takeEvents().isEmpty)
    rig.hub(.completed(2, .success(.published(Self.published(at: 40)))))
    #expect(rig.takeEvents() == [.stateChanged(.poweredOn)])

    rig.hub(.subscribed(Self.peer, handle: 42), .requestsExpired(Self.peer, handle: 42, count: 1))
    #expect(
      rig.takeEvents() == [
        .subscribed(Self.peer, handle: 22), .requestsExpired(Self.peer, handle: 22, count: 1),
      ])
    rig.request(.updateValue(handle: 22, [1], peers: nil, 9))
    #expect(rig.takeRequests() == [.updateValue(handle: 42, [1], peers: nil, 3)])

    // The next service gets the first one's old handles from the hub.
    rig.request(.addService(Self.definition, 10))
    rig.hub(.completed(4, .success(.published(Self.published(at: 20)))))
    guard case .completed(10, .success(.published(let other)))? = rig.takeEvents().last else {
      Issue.record("the service was not published")
      return
    }
    #expect(other.range == HandleRange(24, 27))
    _ = rig.takeSent()
    rig.request(.removeService(20))
    rig.request(.removeService(24))
    #expect(rig.takeRequests() == [.removeService(40), .removeService(20)])
  }

  @Test("a service that the next hub refuses is reported, and the radio is on without it")
  func refusedService() {
    var rig = MachineRig.connected()
    rig.request(.addService(Self.definition, 1))
    rig.hub(.completed(1, .success(.published(Self.published(at: 20)))))
    rig.restartHub()
    _ = rig.takeEvents()
    rig.hub(.stateChanged(.poweredOn), .completed(2, .failure(.limitReached("handles"))))
    #expect(rig.takeEvents() == [.stateChanged(.poweredOn)])
    #expect(rig.actions.contains { if case .lost = $0 { true } else { false } })
  }

  @Test("the connection ends if handles are not in the order of the definition")
  func hostileHandles() {
    let wrong = [
      PublishedService(range: HandleRange(9, 3), characteristics: []),
      PublishedService(range: HandleRange(0, 3), characteristics: []),
      PublishedService(
        range: HandleRange(20, 23),
        characteristics: [PublishedCharacteristic(valueHandle: 50, configurationHandle: nil)]),
    ]
    for published in wrong {
      var rig = MachineRig.connected()
      rig.request(.addService(Self.definition, 1))
      rig.hub(.completed(1, .success(.published(published))))
      #expect(rig.failures.count == 1)
    }
  }

  @Test(
    "the connection ends if a hub gives two services the same handles", arguments: [20, 22, 17])
  func sharedHandles(start: UInt16) {
    var rig = MachineRig.connected()
    rig.request(.addService(Self.definition, 1))
    rig.request(.addService(Self.definition, 2))
    rig.hub(.completed(1, .success(.published(Self.published(at: 20)))))
    rig.hub(.completed(2, .success(.published(Self.published(at: start)))))
    #expect(rig.failures == [.unexpected("handles of a service that another one has")])
    // The second one was not published, so the next hub gets one service.
    rig.sleep(HubClientLimits.refusalPause)
    rig.connect()
    #expect(rig.takeRequests() == [.addService(Self.definition, 3)])
  }

  @Test(
    "the connection ends if the next hub gives two services the same handles",
    arguments: [40, 43, 37])
  func sharedRestoredHandles(start: UInt16) {
    var rig = MachineRig.connected()
    for (token, start) in [(1, 20), (2, 30)] as [(RequestToken, UInt16)] {
      rig.request(.addService(Self.definition, token))
      rig.hub(.completed(token, .success(.published(Self.published(at: start)))))
    }
    rig.restartHub()
    rig.hub(.completed(3, .success(.published(Self.published(at: 40)))))
    #expect(rig.failures == [.ended])
    rig.hub(.completed(4, .success(.published(Self.published(at: start)))))
    #expect(
      rig.failures == [.ended, .unexpected("handles of a service that are not its own")])
  }
}
