import BluetoothInterface
import BluetoothWire
import HubWire

// A hub that is there, and what the session wants of it; a hub that is gone, and what the client hears.

extension ClientSession {
  // MARK: A hub is there

  /// The hub has opened the session: requests all that the client wants, and sends the waiting requests.
  mutating func hubFound(epoch: HubEpoch, into outputs: inout SessionOutputs) {
    self.epoch = epoch
    mustRestoreAdvertising = wants.advertising != nil
    restoredLinks = Set(wants.links.keys).subtracting(linksSinceLoss)
    linksSinceLoss = []
    if wants.attendance != nil { restore(.attendance, into: &outputs) }
    if let agent = wants.agent { send(.setPairingAgent(agent), into: &outputs) }
    for peer in wants.outOfBandData.keys.sorted(by: { $0.bits < $1.bits }) {
      restore(.outOfBandData(peer), into: &outputs)
    }
    for service in wants.services.services { restore(service, into: &outputs) }
    for psm in wants.channels.keys.sorted() { restore(.channel(psm: psm), into: &outputs) }
    if restoringCount == 0 { dropUnrestored(into: &outputs) }
    if let scan = wants.scan { send(.startScan(scan), into: &outputs) }
    for peer in wants.links.keys.sorted(by: { $0.bits < $1.bits }) {
      restore(.link(peer), into: &outputs)
    }
    let sent = waiting
    waiting = []
    for request in sent { forward(request, into: &outputs) }
  }

  /// Publishes a service again. Services that include others wait until those have the hub's handles.
  mutating func restore(
    _ service: ServiceHandles.Service, into outputs: inout SessionOutputs
  ) {
    guard let definition = wants.services.wire(service.definition) else { return }
    restoringCount += 1
    let start = service.visible.range.start
    let removalCount = wants.removalCount
    send(.restoringService(start, removalCount: removalCount), for: nil, into: &outputs) {
      .addService(definition, $0)
    }
  }

  mutating func takeRestoration(
    _ result: Result<HostReply, HostError>, of kind: PendingRequest.Kind,
    into outputs: inout SessionOutputs
  ) throws(HubFailure) {
    switch (kind, result) {
    case (.restoringService(let start, let removalCount), _):
      try takeService(result, start: start, removalCount: removalCount, into: &outputs)
    case (_, .failure(let error)): restorationFailed(kind, error, into: &outputs)
    case (_, .success): if let item = kind.restored { refused.ended(item) }
    }
  }

  private mutating func takeService(
    _ result: Result<HostReply, HostError>, start: UInt16, removalCount: UInt64,
    into outputs: inout SessionOutputs
  ) throws(HubFailure) {
    // Another service may have its handles meanwhile.
    let service = wants.services.services.first {
      $0.visible.range.start == start && $0.wire == nil
    }
    switch result {
    case .success(.published(let published)):
      restoringCount -= 1
      if let service {
        refused.ended(.service(start))
        guard published.isValid(for: service.definition),
          wants.services.restored(start, published)
        else { throw .unexpected("handles of a service that are not its own") }
        restoreIncluding(start, into: &outputs)
      } else if removalCount == wants.removalCount {
        // The client has removed it meanwhile.
        send(.removeService(published.range.start), into: &outputs)
      }
    case .success: throw .unexpected("a reply that is not a service's")
    case .failure(let error):
      let kind = PendingRequest.Kind.restoringService(start, removalCount: removalCount)
      return restorationFailed(kind, error, into: &outputs)
    }
    restoringEnded(into: &outputs)
  }

  /// A service is published again, or was refused. After the last one, the client hears that the radio is on.
  mutating func restoringEnded(into outputs: inout SessionOutputs) {
    guard restoringCount == 0 else { return }
    dropUnrestored(into: &outputs)
    if isHoldingState {
      isHoldingState = false
      radioIsOn(into: &outputs)
      setState(.poweredOn, into: &outputs)
    }
  }

  /// A service has the hub's handles: those that include it are published, too.
  private mutating func restoreIncluding(_ start: UInt16, into outputs: inout SessionOutputs) {
    for service in wants.services.services
    where service.wire == nil && service.definition.includedServices.contains(start) {
      restore(service, into: &outputs)
    }
  }

  /// Services that include one which isn't published any more can't be restored. Those that include one which was
  /// refused wait for it.
  private mutating func dropUnrestored(into outputs: inout SessionOutputs) {
    while true {
      let known = Set(wants.services.services.map(\.visible.range.start))
      let dropped = wants.services.services.first {
        $0.wire == nil && !known.isSuperset(of: $0.definition.includedServices)
      }
      guard let dropped else { return }
      wants.services.remove(dropped.visible.range.start)
      refused.ended(.service(dropped.visible.range.start))
      let uuid = dropped.definition.uuid
      outputs.losses.append("The service \(uuid) is gone, as one that it includes is.")
    }
  }

  /// The hub's radio has another state.
  mutating func take(_ new: RadioState, into outputs: inout SessionOutputs) {
    isHoldingState = false
    // The next hub's radio is about to be on, as the last one's was.
    if new == .unknown, isHubExpected { return ledger.appendHidden() }
    isHubExpected = false
    var new = new
    // A hub that has just been started: to the client, the radio was there before.
    if new == .unknown, let state, state != .unknown { new = .poweredOff }
    if new == .poweredOn { requestRefused(into: &outputs) }
    guard new != .poweredOn || restoringCount == 0 else {
      isHoldingState = true
      return ledger.appendHidden()
    }
    if new == .poweredOn { radioIsOn(into: &outputs) }
    guard state != new else { return ledger.appendHidden() }
    state = new
    deliver(.stateChanged(new), into: &outputs)
  }

  private mutating func radioIsOn(into outputs: inout SessionOutputs) {
    guard mustRestoreAdvertising else { return }
    mustRestoreAdvertising = false
    restore(.advertising, into: &outputs)
  }

  // MARK: A hub is gone

  /// The connection has ended: the client hears what it hears of a radio that is gone. Requests end first, then
  /// links, then the state changes.
  ///
  /// - Parameter keepsState: Whether the state stays as the client knows it: another hub may come in time.
  mutating func hubLost(
    _ failure: HubFailure, keepsState: Bool, into outputs: inout SessionOutputs
  ) {
    // Where the radio seems to be on, the links are those of peers that have gone.
    let error = keepsState ? .disconnected(.connectionTimeout) : failure.hostError
    ledger.hubLost()
    attachment = nil
    awaitsAttachment = false
    endRequests(error, into: &outputs)
    for id in channels.sorted(by: { $0.rawValue < $1.rawValue }) {
      deliverOwn(.channelClosed(id, error), into: &outputs)
    }
    for peer in pairings.sorted(by: { $0.bits < $1.bits }) {
      deliverOwn(.pairingEnded(peer, .disconnected), into: &outputs)
    }
    let subscriptions = subscriptions.sorted {
      ($0.peer.bits, $0.handle) < ($1.peer.bits, $1.handle)
    }
    for subscription in subscriptions {
      deliverOwn(.unsubscribed(subscription.peer, handle: subscription.handle), into: &outputs)
    }
    endLinks(error, into: &outputs)
    let barriers = pending.sorted { $0.key.rawValue < $1.key.rawValue }
    for (_, request) in barriers { complete(request.token, .success(.done), into: &outputs) }
    pending = [:]
    channels = []
    pairings = []
    self.subscriptions = []
    restoringCount = 0
    isHoldingState = false
    refused = RefusedRestorations()
    restoredLinks = []
    wants.services.hubLost()
    failWaiting(error, into: &outputs)
    isHubExpected = keepsState && state != nil
    if !isHubExpected { setState(failure.radioState, into: &outputs) }
  }

  /// Ends all requests but the barriers, which hosts complete after the events before them.
  private mutating func endRequests(_ error: HostError, into outputs: inout SessionOutputs) {
    for (own, request) in pending.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      switch request.kind {
      case .barrier: continue
      case .advertising: complete(request.token, .failure(.radioNotReady), into: &outputs)
      default: complete(request.token, .failure(error), into: &outputs)
      }
      pending[own] = nil
    }
  }

  private mutating func endLinks(_ error: HostError, into outputs: inout SessionOutputs) {
    for peer in links.union(usedLinks).sorted(by: { $0.bits < $1.bits }) {
      if usedLinks.contains(peer) { endUse(of: peer, error, into: &outputs) }
      if links.contains(peer) { deliverOwn(.linkClosed(peer, error), into: &outputs) }
    }
    links = []
    usedLinks = []
    cancelledLinks = []
  }

  private mutating func endUse(
    of peer: DeviceAddress, _ error: HostError, into outputs: inout SessionOutputs
  ) {
    guard !cancelledLinks.contains(peer) else {
      return deliverOwn(.disconnected(peer, nil, reconnecting: false), into: &outputs)
    }
    let reconnects = wants.links[peer]?.reconnectsAutomatically ?? false
    if !reconnects { wants.links[peer] = nil }
    deliverOwn(.disconnected(peer, error, reconnecting: reconnects), into: &outputs)
  }
}
