import BluetoothWire
import Essentials

// What clients ask for.

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
      startAdvertising(options, Waiter(client: client, token: token), into: &actions)
    case .stopAdvertising:
      take(advertiser.stop(client), into: &actions)
      needsCommands = true
    case .connect(let peer, let options):
      connect(client, peer, options, now: now, into: &actions)
    case .disconnect(let peer):
      disconnect(client, peer, now: now, into: &actions)
    case .readRSSI(let peer, let token):
      readRSSI(peer, Waiter(client: client, token: token), now: now, into: &actions)
    case .updateParameters(let peer, let parameters, let token):
      updateParameters(
        peer, parameters, Waiter(client: client, token: token), now: now, into: &actions)
    case .gatt(let peer, let operation, let token):
      run(operation, on: peer, Waiter(client: client, token: token), now: now, into: &actions)
    case .subscribe(let peer, let target, let token):
      subscribe(
        true, peer, target, Waiter(client: client, token: token), now: now, into: &actions)
    case .unsubscribe(let peer, let target, let token):
      subscribe(
        false, peer, target, Waiter(client: client, token: token), now: now, into: &actions)
    case .addService, .removeService, .removeAllServices, .respond, .updateValue:
      serveServer(client, request, now: now, into: &actions)
    case .publishChannel, .unpublishChannel, .openChannel, .sendOnChannel, .consumedFromChannel,
      .closeChannel:
      serveChannels(client, request, now: now, into: &actions)
    }
  }

  private mutating func startAdvertising(
    _ options: AdvertisingOptions, _ waiter: Waiter, into actions: inout [Action]
  ) {
    guard session.isReady else {
      return complete(waiter, .failure(.radioNotReady), into: &actions)
    }
    take(advertiser.start(waiter.client, options, waiter.token), into: &actions)
    needsCommands = true
  }

  private mutating func readRSSI(
    _ peer: DeviceAddress, _ waiter: Waiter, now: Instant, into actions: inout [Action]
  ) {
    guard let link = heldLink(waiter.client, peer) else {
      return complete(waiter, .failure(absence), into: &actions)
    }
    let handle = linkHandles[link]
    let isSent = send(
      ReadRSSI(handle: handle).packet, for: .readingRSSI(handle, waiter), now: now,
      into: &actions)
    if !isSent {
      complete(waiter, .failure(.limitReached("waiting commands")), into: &actions)
    }
  }

  private mutating func updateParameters(
    _ peer: DeviceAddress, _ parameters: ConnectionParameters, _ waiter: Waiter, now: Instant,
    into actions: inout [Action]
  ) {
    guard let index = linkIndex(peer: peer), links[index].isAnnounced, !links[index].isClosing
    else { return complete(waiter, .failure(absence), into: &actions) }
    guard parameters.isValid else {
      let error = HostError.invalidArgument("No link can have these connection parameters.")
      return complete(waiter, .failure(error), into: &actions)
    }
    links[index].parameterWaiters.append(waiter)
    if links[index].info.role == .central {
      updateTiming(of: index, parameters, now: now, into: &actions)
    } else {
      askForTiming(of: index, parameters, now: now, into: &actions)
    }
  }

  /// As the central, changes the timing of a link.
  mutating func updateTiming(
    of index: Int, _ parameters: ConnectionParameters, now: Instant, into actions: inout [Action]
  ) {
    let handle = linkHandles[index]
    let command = LEConnectionUpdate(
      handle: handle, timing: ConnectionTimingRequest(parameters))
    links[index].isChangingTiming = true
    let isSent = send(
      command.packet, for: .updatingParameters(handle), now: now, into: &actions)
    if !isSent { parametersUpdated(handle, .limitReached("waiting commands"), into: &actions) }
  }

  /// As the peripheral, asks the central to change the timing of a link.
  private mutating func askForTiming(
    of index: Int, _ parameters: ConnectionParameters, now: Instant, into actions: inout [Action]
  ) {
    let handle = linkHandles[index]
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

  /// Why there is no link to work with.
  var absence: HostError { session.isReady ? .notConnected : .radioNotReady }
}
