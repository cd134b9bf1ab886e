import BluetoothInterface
import BluetoothWire
import Essentials
import GATTMachines
import L2CAPMachines
import PairingMachines

// Requests of clients, carried to the machines that serve them.

extension HostMachine {
  mutating func serve(
    _ client: ClientID, _ request: HostRequest, now: Instant, into actions: inout [Action]
  ) {
    switch request {
    case .startScan(let options):
      scanner.start(client, options)
      needsCommands = true
    case .stopScan:
      scanner.stop(client)
      needsCommands = true
    case .startAdvertising(let options, let token):
      startAdvertising(options, PendingRequest(client: client, token: token), into: &actions)
    case .stopAdvertising:
      take(advertiser.stop(client), into: &actions)
      needsCommands = true
    case .connect(let peer, let options):
      connect(client, peer, options, now: now, into: &actions)
    case .disconnect(let peer):
      disconnect(client, peer, now: now, into: &actions)
    case .readRSSI(let peer, let token):
      readRSSI(peer, PendingRequest(client: client, token: token), now: now, into: &actions)
    case .updateParameters(let peer, let parameters, let token):
      updateParameters(
        peer, parameters, PendingRequest(client: client, token: token), now: now, into: &actions)
    case .setPHY(let peer, let preference, let token):
      changeLink(
        peer, PendingRequest(client: client, token: token), now: now, into: &actions
      ) { LESetPHY(handle: $0, preference: preference).packet }
    case .setSubrate(let peer, let subrate, let token):
      setSubrate(
        peer, subrate, PendingRequest(client: client, token: token), now: now, into: &actions)
    case .pair, .setPairingAgent, .attendAllPairings, .answerPairing, .createOutOfBandData,
      .setOutOfBandData, .removeBond:
      serveSecurity(client, request, now: now, into: &actions)
    case .gatt(let peer, let operation, let token):
      run(
        operation, on: peer, PendingRequest(client: client, token: token), now: now,
        into: &actions)
    case .subscribe(let peer, let target, let token):
      subscribe(
        true, peer, target, PendingRequest(client: client, token: token), now: now, into: &actions)
    case .unsubscribe(let peer, let target, let token):
      subscribe(
        false, peer, target, PendingRequest(client: client, token: token), now: now, into: &actions)
    case .addService, .removeService, .removeAllServices, .respond, .updateValue:
      serveServer(client, request, now: now, into: &actions)
    case .publishChannel, .unpublishChannel, .openChannel, .sendOnChannel, .consumedFromChannel,
      .closeChannel:
      serveChannels(client, request, now: now, into: &actions)
    case .barrier(let token):
      complete(
        PendingRequest(client: client, token: token), .success(.done), into: &actions)
    }
  }

  private mutating func startAdvertising(
    _ options: AdvertisingOptions, _ request: PendingRequest, into actions: inout [Action]
  ) {
    guard session.isReady else {
      return complete(request, .failure(.radioNotReady), into: &actions)
    }
    let bond = options.target.flatMap { security.bonds.bond(of: $0) }
    let identity = bond.flatMap { $0.identityResolvingKey == nil ? nil : $0.identity }
    guard identity == nil || resolvingList.trust != .fails else {
      let error = HostError.unsupported(
        "This controller cannot send directed advertising to a private address.")
      return complete(request, .failure(error), into: &actions)
    }
    take(
      advertiser.start(
        request.client, of: requester(of: request.client), options, targetIdentity: identity,
        request.token),
      into: &actions)
    needsCommands = true
  }

  private mutating func setSubrate(
    _ peer: DeviceAddress, _ subrate: SubrateRequest, _ request: PendingRequest, now: Instant,
    into actions: inout [Action]
  ) {
    guard subrate.isValid else {
      let error = HostError.invalidArgument("These subrating parameters are invalid.")
      return complete(request, .failure(error), into: &actions)
    }
    guard abilities.canSubrate || !session.isReady else {
      let error = HostError.unsupported("This controller has no subrating.")
      return complete(request, .failure(error), into: &actions)
    }
    changeLink(peer, request, now: now, into: &actions) {
      LESubrateRequest(handle: $0, request: subrate).packet
    }
  }

  /// Sends a command that changes a link, given its handle.
  private mutating func changeLink(
    _ peer: DeviceAddress, _ request: PendingRequest, now: Instant, into actions: inout [Action],
    _ command: (UInt16) -> HCIPacket
  ) {
    guard let index = changeableLink(peer, by: request.client) else {
      return complete(request, .failure(notConnectedError(peer)), into: &actions)
    }
    let isSent = send(
      command(links.handles[index]), for: .changingLink(request), now: now, into: &actions)
    if !isSent {
      complete(request, .failure(.limitReached("waiting commands")), into: &actions)
    }
  }

  /// The index of the link to a peer, if this client uses it, so that it may change it: it has requested the link,
  /// or the peer opened the link and the client offers something to peers.
  private func changeableLink(_ peer: DeviceAddress, by client: ClientID) -> Int? {
    guard let index = links.index(peer: peer), links.entries[index].isAnnounced,
      !links.entries[index].isClosing
    else { return nil }
    if linkRequests.state(client, peer) == .connected { return index }
    let isOffered =
      links.entries[index].info.role == .peripheral
      && !hiddenLinks.contains(peer, from: client)
      && offersSomething(client, over: links.handles[index])
    return isOffered ? index : nil
  }

  /// Whether a client offers something to peers that connect.
  func offersSomething(_ client: ClientID, over handle: UInt16) -> Bool {
    server.hasServices(of: client) || advertiser.clients.contains(client)
      || channels.listeners.contains { $0.client == client }
      || channels.channels.contains { $0.client == client && $0.link == handle }
  }

  private mutating func readRSSI(
    _ peer: DeviceAddress, _ request: PendingRequest, now: Instant, into actions: inout [Action]
  ) {
    guard let link = connectedLink(request.client, peer) else {
      return complete(request, .failure(notConnectedError(peer)), into: &actions)
    }
    let handle = links.handles[link]
    let isSent = send(
      ReadRSSI(handle: handle).packet, for: .readingRSSI(handle, request), now: now,
      into: &actions)
    if !isSent {
      complete(request, .failure(.limitReached("waiting commands")), into: &actions)
    }
  }

  private mutating func updateParameters(
    _ peer: DeviceAddress, _ parameters: ConnectionParameters, _ request: PendingRequest,
    now: Instant, into actions: inout [Action]
  ) {
    guard let index = changeableLink(peer, by: request.client) else {
      return complete(request, .failure(notConnectedError(peer)), into: &actions)
    }
    guard parameters.isValid else {
      let error = HostError.invalidArgument("These connection parameters are invalid.")
      return complete(request, .failure(error), into: &actions)
    }
    guard links.entries[index].parameterUpdate.isIdle else {
      let error = HostError.limitReached("changes of connection parameters at a time")
      return complete(request, .failure(error), into: &actions)
    }
    links.entries[index].parameterUpdate.begin(for: request)
    if links.entries[index].info.role == .central {
      updateTiming(of: index, parameters, now: now, into: &actions)
    } else {
      requestTiming(of: index, parameters, now: now, into: &actions)
    }
  }

  /// As the central, changes the timing of a link.
  mutating func updateTiming(
    of index: Int, _ parameters: ConnectionParameters, now: Instant, into actions: inout [Action]
  ) {
    let handle = links.handles[index]
    let command = LEConnectionUpdate(
      handle: handle, timing: ConnectionTimingRequest(parameters))
    links.entries[index].parameterUpdate.commandSent(now: now)
    due(links.entries[index].parameterUpdate.deadline)
    let isSent = send(
      command.packet, for: .updatingParameters(handle), now: now, into: &actions)
    if !isSent { parametersUpdated(handle, .limitReached("waiting commands"), into: &actions) }
  }

  /// As the peripheral, requests a change of the link's timing from the central.
  private mutating func requestTiming(
    of index: Int, _ parameters: ConnectionParameters, now: Instant, into actions: inout [Action]
  ) {
    let handle = links.handles[index]
    var refusal: HostError?
    withL2CAP(index, now: now, into: &actions) { l2cap, outputs in
      do throws(HostError) {
        try l2cap.requestParameterUpdate(parameters, now: now, into: &outputs)
      } catch {
        refusal = error
      }
    }
    if let refusal { parametersUpdated(handle, refusal, into: &actions) }
  }
}
