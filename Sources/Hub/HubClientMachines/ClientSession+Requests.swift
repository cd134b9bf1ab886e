import BluetoothInterface
import BluetoothWire
import HubWire

// Requests of the client: to the hub under tokens of the connection, or answered without a hub.

extension ClientSession {
  // MARK: With a hub

  /// Sends a request to the hub.
  mutating func forward(_ request: HostRequest, into outputs: inout SessionOutputs) {
    settle(request)
    if case .removeService(let handle) = request {
      // Before the wants forget it.
      if let wire = wants.services.wire(handle) { send(.removeService(wire), into: &outputs) }
      return wants.record(request)
    }
    wants.record(request)
    switch request {
    case .startScan, .stopScan, .stopAdvertising, .setPairingAgent, .removeAllServices,
      .unpublishChannel:
      send(request, into: &outputs)
    case .connect(let peer, _):
      if wants.links.count > HubClientLimits.linksMax { wants.links[peer] = nil }
      send(request, into: &outputs)
    case .disconnect(let peer):
      if usedLinks.contains(peer) { cancelledLinks.insert(peer) }
      send(request, into: &outputs)
    case .addService, .respond, .updateValue: forwardToServer(request, into: &outputs)
    case .sendOnChannel, .consumedFromChannel, .closeChannel, .publishChannel, .openChannel:
      forwardToChannels(request, into: &outputs)
    case .answerPairing(let id, let answer):
      if let id = epoch.wire(id) { send(.answerPairing(id, answer), into: &outputs) }
    default: forwardWithToken(request, into: &outputs)
    }
  }

  private mutating func forwardWithToken(
    _ request: HostRequest, into outputs: inout SessionOutputs
  ) {
    switch request {
    case .startAdvertising(let options, let token):
      let count = wants.advertisingChangeCount
      send(.advertising(options, changeCount: count), for: token, into: &outputs) {
        .startAdvertising(options, $0)
      }
    case .readRSSI(let peer, let token):
      send(.other, for: token, into: &outputs) { .readRSSI(peer, $0) }
    case .updateParameters(let peer, let parameters, let token):
      send(.other, for: token, into: &outputs) { .updateParameters(peer, parameters, $0) }
    case .setPHY(let peer, let preference, let token):
      send(.other, for: token, into: &outputs) { .setPHY(peer, preference, $0) }
    case .setSubrate(let peer, let subrate, let token):
      send(.other, for: token, into: &outputs) { .setSubrate(peer, subrate, $0) }
    case .pair(let peer, let token):
      send(.other, for: token, into: &outputs) { .pair(peer, $0) }
    case .createOutOfBandData(let token):
      send(.other, for: token, into: &outputs) { .createOutOfBandData($0) }
    case .setOutOfBandData(let peer, let data, let token):
      send(.outOfBandData(peer, data), for: token, into: &outputs) {
        .setOutOfBandData(peer, data, $0)
      }
    case .removeBond(let peer, let token):
      send(.other, for: token, into: &outputs) { .removeBond(peer, $0) }
    case .attendAllPairings(let token):
      send(.attendance, for: token, into: &outputs) { .attendAllPairings($0) }
    case .gatt(let peer, let operation, let token):
      send(.other, for: token, into: &outputs) { .gatt(peer, operation, $0) }
    case .subscribe(let peer, let target, let token):
      send(.other, for: token, into: &outputs) { .subscribe(peer, target, $0) }
    case .unsubscribe(let peer, let target, let token):
      send(.other, for: token, into: &outputs) { .unsubscribe(peer, target, $0) }
    case .barrier(let token):
      send(.barrier, for: token, into: &outputs) { .barrier($0) }
    default: preconditionFailure("\(request) has a way of its own")
    }
  }

  private mutating func forwardToServer(
    _ request: HostRequest, into outputs: inout SessionOutputs
  ) {
    switch request {
    case .addService(let definition, let token):
      guard let translated = wants.services.wire(definition) else {
        let error = HostError.invalidArgument("An included service is not published.")
        return complete(token, .failure(error), into: &outputs)
      }
      let removalCount = wants.removalCount
      send(.service(definition, removalCount: removalCount), for: token, into: &outputs) {
        .addService(translated, $0)
      }
    case .respond(let id, let result):
      guard let id = epoch.wire(id) else { break }
      // A host cuts a value to what a response takes; the hub refuses a program that sends long ones.
      let value = result.map { $0.prefix(HubClientLimits.responseByteCountMax) }
      send(.respond(id, value.map { Array($0) }), into: &outputs)
    case .updateValue(let handle, let value, let peers, let token):
      guard let wire = wants.services.wire(handle) else {
        let error = HostError.invalidArgument("The characteristic is not published.")
        return complete(token, .failure(error), into: &outputs)
      }
      send(.other, for: token, into: &outputs) {
        .updateValue(handle: wire, value, peers: peers, $0)
      }
    default: preconditionFailure("\(request) is not about the server")
    }
  }

  private mutating func forwardToChannels(
    _ request: HostRequest, into outputs: inout SessionOutputs
  ) {
    switch request {
    case .publishChannel(let psm, let requiresEncryption, let token):
      send(.channel(requiresEncryption: requiresEncryption), for: token, into: &outputs) {
        .publishChannel(psm: psm, requiresEncryption: requiresEncryption, $0)
      }
    case .openChannel(let peer, let psm, let token):
      send(.other, for: token, into: &outputs) { .openChannel(peer, psm: psm, $0) }
    case .sendOnChannel(let id, let bytes, let token):
      guard let id = epoch.wire(id) else {
        return complete(token, .failure(.notConnected), into: &outputs)
      }
      send(.other, for: token, into: &outputs) { .sendOnChannel(id, bytes, $0) }
    case .consumedFromChannel(let id, let byteCount):
      if let id = epoch.wire(id) {
        send(.consumedFromChannel(id, byteCount: byteCount), into: &outputs)
      }
    case .closeChannel(let id):
      if let id = epoch.wire(id) { send(.closeChannel(id), into: &outputs) }
    default: preconditionFailure("\(request) is not about channels")
    }
  }

  // MARK: Without a hub

  /// Answers a request as a host does whose radio is gone. With `mayWait`, those that need no radio wait for
  /// the hub.
  mutating func answer(
    _ request: HostRequest, mayWait: Bool, _ error: HostError, into outputs: inout SessionOutputs
  ) {
    wants.record(request)
    noteEarlyEnd(request)
    if case .connect(let peer, _) = request { linksSinceLoss.insert(peer) }
    switch request {
    case .addService(_, let token), .publishChannel(_, _, let token),
      .createOutOfBandData(let token), .setOutOfBandData(_, _, let token),
      .removeBond(_, let token), .attendAllPairings(let token):
      guard mayWait else { return complete(token, .failure(error), into: &outputs) }
      guard waiting.count < HubClientLimits.waitingRequestsMax else {
        let error = HostError.limitReached("requests that wait for the hub")
        return complete(token, .failure(error), into: &outputs)
      }
      waiting.append(request)
    case .removeAllServices:
      for case .addService(_, let token) in waiting {
        complete(token, .failure(.cancelled), into: &outputs)
      }
      waiting.removeAll { if case .addService = $0 { true } else { false } }
    case .barrier(let token): complete(token, .success(.done), into: &outputs)
    case .sendOnChannel(_, _, let token):
      complete(token, .failure(.notConnected), into: &outputs)
    case .startAdvertising(_, let token), .readRSSI(_, let token),
      .updateParameters(_, _, let token), .setPHY(_, _, let token), .setSubrate(_, _, let token),
      .pair(_, let token),
      .gatt(_, _, let token), .subscribe(_, _, let token), .unsubscribe(_, _, let token),
      .updateValue(_, _, _, let token), .openChannel(_, _, let token):
      complete(token, .failure(.radioNotReady), into: &outputs)
    case .startScan, .stopScan, .stopAdvertising, .connect, .disconnect, .setPairingAgent,
      .answerPairing, .removeService, .respond, .unpublishChannel, .consumedFromChannel,
      .closeChannel:
      break
    }
  }

  /// The attempt to reach a hub has failed.
  mutating func failWaiting(_ error: HostError, into outputs: inout SessionOutputs) {
    let failed = waiting
    waiting = []
    for request in failed { answer(request, mayWait: false, error, into: &outputs) }
  }
}

extension ClientSession {
  /// A request of this session fits in no message.
  mutating func requestFailed(
    _ request: HostRequest, _ error: HostError, into outputs: inout SessionOutputs
  ) {
    guard let own = request.token, let failed = pending.removeValue(forKey: own) else { return }
    guard failed.token == nil else {
      return complete(failed.token, .failure(error), into: &outputs)
    }
    restorationFailed(failed.kind, error, into: &outputs)
  }
}
