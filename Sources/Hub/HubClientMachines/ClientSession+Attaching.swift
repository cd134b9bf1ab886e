import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire

// What a hub has kept since an earlier process of the app ended: the session begins with it.

extension ClientSession {
  /// A hub with these abilities has opened the session. What it has kept is asked once, before the client hears of
  /// a hub; later, the client has heard the end of it all.
  mutating func opened(by abilities: HubAbilities, into outputs: inout SessionOutputs) {
    guard keptFor > .zero, !wasAttached else { return }
    awaitsAttachment = abilities.contains(.identity)
    guard !awaitsAttachment else { return }
    attached()
    outputs.losses.append("The hub is of an earlier version, and keeps nothing of \(name).")
  }

  /// Nothing is asked any more.
  private mutating func attached() {
    awaitsAttachment = false
    wasAttached = true
    earlyEnds = []
    endsAll = false
  }

  /// Notes what the client ends before the hub has answered what it has kept.
  mutating func noteEarlyEnd(_ request: HostRequest) {
    guard keptFor > .zero, !wasAttached, !endsAll else { return }
    switch request {
    case .stopScan, .stopAdvertising, .disconnect, .removeAllServices, .unpublishChannel:
      earlyEnds.removeAll { $0 == request }
      guard earlyEnds.count < HubClientLimits.earlyEndsMax else {
        // A link that the client has given up must not stay open because its end wasn't noted.
        endsAll = true
        earlyEnds = []
        return
      }
      earlyEnds.append(request)
    default: break
    }
  }

  /// The hub has answered the opening.
  mutating func take(
    _ attachment: SessionAttachment, epoch: HubEpoch, into outputs: inout SessionOutputs
  ) throws(HubFailure) {
    guard !name.isEmpty, self.attachment == nil, attachment.keptFor >= .zero,
      attachment.keptFor <= keptFor,
      attachment.holdings == nil || (awaitsAttachment && attachment.holdsName)
    else { throw .unexpected("an answer to no opening") }
    self.attachment = attachment
    outputs.attachment = attachment
    guard awaitsAttachment else { return }
    var ends = earlyEnds
    var holdings = attachment.holdings
    if endsAll, let kept = holdings {
      ends = kept.ends
      outputs.attachment?.holdings = nil
      outputs.losses.append(
        "More than \(HubClientLimits.earlyEndsMax) things were ended before the hub answered, so all that it "
          + "had kept is ended.")
    }
    attached()
    if let holdings { lastToken = max(lastToken, try Self.checkedToken(of: holdings)) }
    // What the client has ended ends before what it has begun since.
    if holdings != nil { for end in ends { send(end, into: &outputs) } }
    if ends.contains(.setPairingAgent(nil)) { holdings?.agent = nil }
    let waited = waiting
    waiting = []
    hubFound(epoch: epoch, into: &outputs)
    if let holdings { try adopt(holdings, without: ends) }
    for request in waited { forward(request, into: &outputs) }
  }

  private static func checkedToken(of holdings: SessionHoldings) throws(HubFailure) -> UInt64 {
    guard holdings.lastToken <= HubProtocol.keptTokenMax else {
      throw .unexpected("a token that no session has")
    }
    return holdings.lastToken
  }

  // MARK: Holdings

  /// The session has what the hub has kept, except for what the client has ended or replaced.
  private mutating func adopt(
    _ holdings: SessionHoldings, without ends: [HostRequest]
  ) throws(HubFailure) {
    if !ends.contains(.stopScan) { wants.scan = wants.scan ?? holdings.scan }
    if !ends.contains(.stopAdvertising) {
      wants.advertising = wants.advertising ?? holdings.advertising
    }
    wants.agent = wants.agent ?? holdings.agent
    if holdings.attendsAllPairings {
      wants.attendance = wants.attendance ?? SessionWants.Attendance()
    }
    for link in holdings.links { try adopt(link, isEnded: ends.contains(.disconnect(link.peer))) }
    for listener in holdings.listeners where !ends.contains(.unpublishChannel(psm: listener.psm)) {
      wants.channels[listener.psm] = listener.requiresEncryption
    }
    guard !ends.contains(.removeAllServices) else { return }
    for service in holdings.services { try adopt(service) }
    guard holdings.subscribers.count <= HubClientLimits.subscriptionsMax else {
      throw .tooMany("subscriptions")
    }
    for subscriber in holdings.subscribers {
      subscriptions.insert(Subscription(peer: subscriber.peer, handle: subscriber.handle))
    }
  }

  private mutating func adopt(
    _ link: SessionHoldings.Link, isEnded: Bool
  ) throws(HubFailure) {
    guard wants.links.count < HubClientLimits.linksMax else { throw .tooMany("links") }
    if !isEnded { wants.links[link.peer] = wants.links[link.peer] ?? link.options }
    guard link.isConnected else { return }
    usedLinks.insert(link.peer)
    if isEnded, wants.links[link.peer] == nil { cancelledLinks.insert(link.peer) }
  }

  private mutating func adopt(_ service: SessionHoldings.Service) throws(HubFailure) {
    guard service.published.isValid(for: service.definition),
      !wants.services.isTaken(service.published.range),
      wants.services.add(service.definition, service.published) != nil
    else { throw .unexpected("handles of a service that are not its own") }
  }
}

extension SessionHoldings {
  /// The requests that end all of it.
  fileprivate var ends: [HostRequest] {
    [.stopScan, .stopAdvertising, .setPairingAgent(nil)] + links.map { .disconnect($0.peer) }
      + listeners.map { .unpublishChannel(psm: $0.psm) } + [.removeAllServices]
  }
}
