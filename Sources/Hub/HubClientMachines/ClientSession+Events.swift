import BluetoothInterface
import BluetoothWire
import HubWire

// Events of the hub: checked, noted, and with the identifiers and handles that the client knows.

extension ClientSession {
  /// Takes the events of a message. Throws if no hub sends such events.
  mutating func take(
    _ batch: HubEvents, into outputs: inout SessionOutputs
  ) throws(HubFailure) {
    guard !awaitsAttachment else { throw .unexpected("events before the answer to an opening") }
    outputs.events.reserveCapacity(outputs.events.count + batch.events.count)
    var unknown = batch.unknown[...]
    var position = 0
    for event in batch.events {
      while let next = unknown.first, next.position <= position {
        skip(next, into: &outputs)
        unknown.removeFirst()
        position += 1
      }
      try take(event, into: &outputs)
      position += 1
    }
    for next in unknown { skip(next, into: &outputs) }
    let unhandled = max(ledger.hubCount, ledger.clientCount)
    guard unhandled <= HubClientLimits.unacknowledgedMax else {
      throw .tooMany("events that are not acknowledged")
    }
  }

  /// Skips an event of a later version.
  private mutating func skip(_ unknown: HubEvents.Unknown, into outputs: inout SessionOutputs) {
    ledger.appendHidden()
    // The pairing would wait for an answer for half a minute.
    if let prompt = unknown.pairingPrompt { send(.answerPairing(prompt, .reject), into: &outputs) }
  }

  private mutating func take(
    _ event: HostEvent, into outputs: inout SessionOutputs
  ) throws(HubFailure) {
    switch event {
    case .valueUpdated, .discovered, .valuesDropped, .acknowledgementRequested, .servicesChanged,
      .linkUpdated, .bondNotKept:
      deliver(event, into: &outputs)
    case .stateChanged(let state): take(state, into: &outputs)
    case .completed(let token, let result):
      guard let request = pending.removeValue(forKey: token) else {
        throw .unexpected("the completion of a request that is not open")
      }
      try take(result, of: request, into: &outputs)
    case .connectionFailed(let peer, let error) where isTriedAgain(peer, error, into: &outputs):
      ledger.appendHidden()
    case .linkOpened, .linkClosed, .connected, .connectionFailed, .disconnected:
      try takeLink(event)
      deliver(event, into: &outputs)
    case .pairingPrompt(let peer, let prompt, let id):
      guard pairings.count < HubClientLimits.linksMax else { throw .tooMany("pairings") }
      pairings.insert(peer)
      deliver(.pairingPrompt(peer, prompt, try epoch.visible(id)), into: &outputs)
    case .pairingEnded(let peer, let failure):
      pairings.remove(peer)
      if failure == nil { wants.outOfBandData[peer] = nil }
      deliver(event, into: &outputs)
    case .serverRequest, .writesDropped, .requestsExpired, .subscribed, .unsubscribed:
      if let event = try serverEvent(event) {
        deliver(event, into: &outputs)
      } else if event.isAcknowledged {
        ledger.appendHidden()
      }
    case .channelOpened(let info):
      deliver(.channelOpened(try opened(info)), into: &outputs)
    case .channelReceived(let id, let bytes):
      deliver(.channelReceived(try epoch.visible(id), bytes), into: &outputs)
    case .channelClosed(let id, let error):
      let id = try epoch.visible(id)
      channels.remove(id)
      deliver(.channelClosed(id, error), into: &outputs)
    }
  }

  // MARK: Links and channels

  private mutating func takeLink(_ event: HostEvent) throws(HubFailure) {
    switch event {
    case .linkOpened(let info):
      guard links.count < HubClientLimits.linksMax || links.contains(info.peer) else {
        throw .tooMany("links")
      }
      links.insert(info.peer)
    case .linkClosed(let peer, _):
      links.remove(peer)
      subscriptions = subscriptions.filter { $0.peer != peer }
    case .connected(let peer):
      guard usedLinks.count < HubClientLimits.linksMax || usedLinks.contains(peer) else {
        throw .tooMany("links")
      }
      usedLinks.insert(peer)
      linkSettled(peer)
    case .connectionFailed(let peer, _): wants.links[peer] = nil
    case .disconnected(let peer, let error, let reconnecting):
      usedLinks.remove(peer)
      cancelledLinks.remove(peer)
      // Without an error, the client gave the link up; it may have requested another one since.
      if error != nil, !reconnecting { wants.links[peer] = nil }
    default: break
    }
  }

  private mutating func opened(_ info: ChannelInfo) throws(HubFailure) -> ChannelInfo {
    guard channels.count < HubClientLimits.channelsMax else { throw .tooMany("channels") }
    var info = info
    info.id = try epoch.visible(info.id)
    channels.insert(info.id)
    return info
  }

  // MARK: The server

  /// The event with the client's identifiers and handles; nil if it is about a service that the client has
  /// removed.
  private mutating func serverEvent(_ event: HostEvent) throws(HubFailure) -> HostEvent? {
    let services = wants.services
    switch event {
    case .serverRequest(let request): return try visible(request).map { .serverRequest($0) }
    case .writesDropped(let peer, let handle, let count):
      return services.visible(handle).map { .writesDropped(peer, handle: $0, count: count) }
    case .requestsExpired(let peer, let handle, let count):
      return services.visible(handle).map { .requestsExpired(peer, handle: $0, count: count) }
    case .subscribed(let peer, let handle):
      guard let handle = services.visible(handle) else { return nil }
      guard subscriptions.count < HubClientLimits.subscriptionsMax else {
        throw .tooMany("subscriptions")
      }
      subscriptions.insert(Subscription(peer: peer, handle: handle))
      return .subscribed(peer, handle: handle)
    case .unsubscribed(let peer, let handle):
      guard let handle = services.visible(handle) else { return nil }
      subscriptions.remove(Subscription(peer: peer, handle: handle))
      return .unsubscribed(peer, handle: handle)
    default: return event
    }
  }

  private func visible(_ request: ServerRequest) throws(HubFailure) -> ServerRequest? {
    var request = request
    request.id = try epoch.visible(request.id)
    switch request.kind {
    case .read(let handle, let offset):
      guard let handle = wants.services.visible(handle) else { return nil }
      request.kind = .read(handle: handle, offset: offset)
    case .write(var writes):
      for index in writes.indices {
        guard let handle = wants.services.visible(writes[index].handle) else { return nil }
        writes[index].handle = handle
      }
      request.kind = .write(writes)
    }
    return request
  }

  // MARK: Completions

  private mutating func take(
    _ result: Result<HostReply, HostError>, of request: PendingRequest,
    into outputs: inout SessionOutputs
  ) throws(HubFailure) {
    guard let token = request.token else {
      ledger.appendHidden()
      return try takeRestoration(result, of: request.kind, into: &outputs)
    }
    var result = result
    switch (request.kind, result) {
    case (.advertising(let options, let count), .success)
    where count == wants.advertisingChangeCount:
      wants.advertising = options
      mustRestoreAdvertising = false
      refused.ended(.advertising)
    case (.advertising(_, let count), .success)
    where wants.isWithdrawn(advertisingChangeCount: count):
      result = .failure(.cancelled)
    case (.advertising, .failure): restoreEarlierAdvertising(into: &outputs)
    case (.service(let definition, let count), .success(.published(let published))):
      result = try take(published, of: definition, removalCount: count, into: &outputs)
    case (.channel(let requiresEncryption), .success(.psm(let psm))):
      wants.channels[psm] = requiresEncryption
    case (.attendance, .success): wants.attendance = SessionWants.Attendance(token: request.token)
    case (.outOfBandData(let peer, let data), .success):
      let isKept = data == nil || wants.outOfBandData.count < HubClientLimits.outOfBandMax
      if isKept { wants.outOfBandData[peer] = data }
    case (_, .success(.channel(let info))):
      result = .success(.channel(try opened(info)))
    default: break
    }
    deliver(.completed(token, result), into: &outputs)
  }

  /// The hub has published a service of the client.
  private mutating func take(
    _ published: PublishedService, of definition: ServiceDefinition, removalCount: UInt64,
    into outputs: inout SessionOutputs
  ) throws(HubFailure) -> Result<HostReply, HostError> {
    guard published.isValid(for: definition) else {
      throw .unexpected("handles of a service that are not its own")
    }
    // All services were removed since, this one too.
    guard removalCount == wants.removalCount else {
      return wants.isWithdrawn(removalCount: removalCount)
        ? .failure(.cancelled) : .success(.published(published))
    }
    guard !wants.services.isTaken(published.range) else {
      throw .unexpected("handles of a service that another one has")
    }
    if let visible = wants.services.add(definition, published) {
      return .success(.published(visible))
    }
    send(.removeService(published.range.start), into: &outputs)
    return .failure(.limitReached("attribute handles"))
  }
}
