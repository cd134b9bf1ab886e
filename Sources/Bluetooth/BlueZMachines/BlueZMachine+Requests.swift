import BluetoothInterface
import BluetoothWire
import Essentials

// Sessions and their requests.

extension BlueZMachine {
  mutating func opened(
    _ id: BlueZSessionID, acknowledgesEvents: Bool, of program: BlueZProgramID?,
    into actions: inout [Action]
  ) {
    clients[id] = Client(acknowledgesEvents: acknowledgesEvents, program: program)
    for peer in links.keys.sorted(by: { $0.bits < $1.bits }) {
      if let link = links[peer], link.isUp {
        deliver(.linkOpened(link.info), to: id, into: &actions)
      }
    }
    deliver(.stateChanged(state), to: id, into: &actions)
    if phase == .closed(retryAt: nil) { openBus(into: &actions) }
  }

  mutating func closed(_ id: BlueZSessionID, now: Instant, into actions: inout [Action]) {
    guard clients.removeValue(forKey: id) != nil else { return }
    for peer in links.keys.sorted(by: { $0.bits < $1.bits })
    where links[peer]?.users[id] != nil {
      dropOperations(of: id, on: peer, now: now, into: &actions)
      dropRSSIRequests(of: id, on: peer, into: &actions)
      release(peer, id, now: now, into: &actions)
      links[peer]?.users[id] = nil
      removeLinkIfUnused(peer)
    }
    closeChannels(of: id, to: nil, into: &actions)
    endPairings(of: id, now: now, into: &actions)
    stopAdvertising(of: id, now: now, into: &actions)
    removeServices(of: id, now: now, into: &actions)
    unregisterAgentIfUnused(now: now, into: &actions)
  }

  mutating func handle(
    _ request: HostRequest, of id: BlueZSessionID, now: Instant, into actions: inout [Action]
  ) {
    guard clients[id] != nil else { return }
    if let token = request.token {
      clients[id]?.requestCount += 1
      if clients[id]?.requestCount ?? 0 > BlueZLimits.requestCountMax {
        return complete(
          id, token, .failure(.limitReached("requests that have not ended")), into: &actions)
      }
    }
    switch request {
    case .startScan(let options): startScan(options, of: id, into: &actions)
    case .stopScan: clients[id]?.scan = nil
    case .connect(let peer, let options):
      connect(peer, options, of: id, now: now, into: &actions)
    case .disconnect(let peer): disconnect(peer, of: id, now: now, into: &actions)
    case .gatt(let peer, let operation, let token):
      run(.gatt(operation), peer, id, token, now: now, into: &actions)
    case .subscribe(let peer, let target, let token):
      run(.subscribe(target), peer, id, token, now: now, into: &actions)
    case .unsubscribe(let peer, let target, let token):
      run(.unsubscribe(target), peer, id, token, now: now, into: &actions)
    case .readRSSI(let peer, let token):
      readRSSI(peer, id, token, now: now, into: &actions)
    case .pair(let peer, let token): pair(peer, id, token, now: now, into: &actions)
    case .removeBond(let peer, let token): removeBond(peer, id, token, now: now, into: &actions)
    case .barrier(let token): complete(id, token, .success(.done), into: &actions)
    case .setPairingAgent(let capability): setPairingAgent(capability, of: id)
    case .answerPairing(let prompt, let answer):
      answerPairing(prompt, answer, of: id, now: now, into: &actions)
    case .startAdvertising(let options, let token):
      startAdvertising(options, id, token, now: now, into: &actions)
    case .stopAdvertising: stopAdvertising(of: id, now: now, into: &actions)
    case .addService(let definition, let token):
      addService(definition, id, token, now: now, into: &actions)
    case .removeService(let handle):
      removeServices(of: id, handle: handle, now: now, into: &actions)
    case .removeAllServices: removeServices(of: id, now: now, into: &actions)
    case .respond(let request, let result): respond(request, result, of: id, into: &actions)
    case .updateValue(let handle, let value, let peers, let token):
      updateValue(handle, value, peers, id, token, now: now, into: &actions)
    case .publishChannel, .unpublishChannel, .openChannel, .sendOnChannel, .consumedFromChannel,
      .closeChannel:
      serveChannels(request, of: id, now: now, into: &actions)
    default: refuse(request, of: id, into: &actions)
    }
  }

  private mutating func serveChannels(
    _ request: HostRequest, of id: BlueZSessionID, now: Instant, into actions: inout [Action]
  ) {
    switch request {
    case .publishChannel(let psm, let requiresEncryption, let token):
      publishChannel(
        psm, requiresEncryption: requiresEncryption, id, token, into: &actions)
    case .unpublishChannel(let psm): unpublishChannel(psm, of: id, into: &actions)
    case .openChannel(let peer, let psm, let token):
      openChannel(peer, psm, id, token, now: now, into: &actions)
    case .sendOnChannel(let channel, let bytes, let token):
      sendOnChannel(channel, bytes, id, token, into: &actions)
    case .consumedFromChannel(let channel, let count):
      consumed(count, from: channel, id, into: &actions)
    case .closeChannel(let channel): closeChannel(channel, of: id, into: &actions)
    default: preconditionFailure("\(request) is not about channels")
    }
  }

  /// Refuses a request for which bluetoothd has no call, or which this host doesn't support yet.
  private mutating func refuse(
    _ request: HostRequest, of id: BlueZSessionID, into actions: inout [Action]
  ) {
    guard let token = request.token else { return }
    let sentence =
      switch request {
      case .updateParameters, .setPHY, .setSubrate:
        "bluetoothd chooses the parameters and the PHY of a link itself."
      case .createOutOfBandData, .setOutOfBandData:
        "bluetoothd takes no out-of-band data of LE pairings from programs."
      default: "The agent of the desktop answers pairings of bluetoothd."
      }
    complete(id, token, .failure(.unsupported(sentence)), into: &actions)
  }

  // MARK: Bonds

  private mutating func removeBond(
    _ peer: DeviceAddress, _ id: BlueZSessionID, _ token: RequestToken, now: Instant,
    into actions: inout [Action]
  ) {
    guard state == .poweredOn, let adapter else {
      return complete(id, token, .failure(.radioNotReady), into: &actions)
    }
    guard let path = paths[peer], devices[path]?.isPaired == true else {
      let error = HostError.invalidArgument("bluetoothd has no bond with \(peer).")
      return complete(id, token, .failure(error), into: &actions)
    }
    send(
      bluez(adapter, BusName.adapter, "RemoveDevice", [.path(path)]), .removeBond(id, token),
      deadline: now + BlueZLimits.answerMax, into: &actions)
  }
}

extension HostRequest {
  /// The token in the completion; nil for a request without one.
  var token: RequestToken? {
    switch self {
    case .startAdvertising(_, let token), .readRSSI(_, let token),
      .updateParameters(_, _, let token), .setPHY(_, _, let token), .setSubrate(_, _, let token),
      .pair(_, let token), .attendAllPairings(let token), .createOutOfBandData(let token),
      .setOutOfBandData(_, _, let token), .removeBond(_, let token), .gatt(_, _, let token),
      .subscribe(_, _, let token), .unsubscribe(_, _, let token), .addService(_, let token),
      .updateValue(_, _, _, let token), .publishChannel(_, _, let token),
      .openChannel(_, _, let token), .sendOnChannel(_, _, let token), .barrier(let token):
      token
    case .startScan, .stopScan, .stopAdvertising, .connect, .disconnect, .setPairingAgent,
      .answerPairing, .removeService, .removeAllServices, .respond, .unpublishChannel,
      .consumedFromChannel, .closeChannel:
      nil
    }
  }
}
