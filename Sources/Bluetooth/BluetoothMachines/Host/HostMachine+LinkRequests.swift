import BluetoothInterface
import BluetoothWire
import Essentials
import GATTMachines
import PairingMachines

// Clients' requests for links, and their release.

extension HostMachine {
  /// How soon an attempt that ended in Connection Failed to be Established is repeated.
  private static var reconnectDelay: TimeSpan { .milliseconds(50) }

  /// The error of a request that needs a link when there is none.
  var notConnectedError: HostError { session.isReady ? .notConnected : .radioNotReady }

  /// Why a request about a peer can't be served: where the link to it is being ended, the reason for
  /// that.
  func notConnectedError(_ peer: DeviceAddress) -> HostError {
    links.index(peer: peer).flatMap { links.entries[$0].closeReason } ?? notConnectedError
  }

  /// The index of the link to a peer, if this client has it and it is not about to end.
  func usableLink(_ client: ClientID, _ peer: DeviceAddress) -> Int? {
    guard let index = connectedLink(client, peer), !links.entries[index].isClosing else {
      return nil
    }
    return index
  }

  /// The index of the link to a peer, if this client has it.
  func connectedLink(_ client: ClientID, _ peer: DeviceAddress) -> Int? {
    guard linkRequests.state(client, peer) == .connected else { return nil }
    return links.index(peer: peer)
  }

  // MARK: Connecting

  mutating func connect(
    _ client: ClientID, _ peer: DeviceAddress, _ options: ConnectOptions, now: Instant,
    into actions: inout [Action]
  ) {
    guard options.parameters.isValid else {
      let error = HostError.invalidArgument("These connection parameters are invalid.")
      return notify(client, .connectionFailed(peer, error), into: &actions)
    }
    if linkRequests.state(client, peer) == nil, let other = otherAddressInUse(of: peer) {
      let error = HostError.invalidArgument("This device is in use with its address \(other).")
      return notify(client, .connectionFailed(peer, error), into: &actions)
    }
    needsCommands = true
    switch linkRequests.connect(client, peer, options) {
    case .pending: establishLink(peer, client, options, now: now, into: &actions)
    case .connected: notify(client, .connected(peer), into: &actions)
    case .cancelling: break
    }
  }

  /// The other address under which a bonded peer is requested or linked already. There can't be a
  /// second link to it, so a request by an older private address would wait until the first link
  /// ends.
  private mutating func otherAddressInUse(of peer: DeviceAddress) -> DeviceAddress? {
    let known = security.bonds.knownAddress(of: peer)
    guard security.bonds.bond(of: known) != nil else { return nil }
    for address in linkRequests.requests.lazy.map(\.peer) where address != peer {
      if security.bonds.knownAddress(of: address) == known { return address }
    }
    return links.peers.first {
      $0 != peer && security.bonds.knownAddress(of: $0) == known
    }
  }

  /// Makes a link that a client waits for, or gives the client the one there is.
  private mutating func establishLink(
    _ peer: DeviceAddress, _ client: ClientID, _ options: ConnectOptions, now: Instant,
    into actions: inout [Action]
  ) {
    guard let index = links.index(peer: peer) else {
      let notBefore = now + max(options.startDelay, .zero)
      return startConnecting(peer, client, options, notBefore: notBefore, into: &actions)
    }
    switch links.entries[index].stage {
    case .open:
      linkRequests.join(client, peer)
      backlog.linkUsed(links.handles[index], by: client)
      revealLink(peer, to: client, into: &actions)
      // A hub's program gets the parameters of links that it uses only.
      notify(client, .linkUpdated(links.entries[index].info), into: &actions)
      notify(client, .connected(peer), into: &actions)
      // The peer made this link, and no client used it so far.
      if !links.entries[index].gatt.isSetUp { startLinkSetup(index, now: now, into: &actions) }
    case .unconfirmed, .flushing, .closing: break
    }
  }

  private mutating func startConnecting(
    _ peer: DeviceAddress, _ client: ClientID, _ options: ConnectOptions, notBefore: Instant,
    into actions: inout [Action]
  ) {
    let isAdded = connector.add(
      peer, bond: security.bonds.bond(of: peer), options.parameters,
      usesCoded: options.usesCodedPHY, notBefore: notBefore, for: requester(of: client))
    guard !isAdded else { return }
    linkRequests.remove(client, peer)
    let error = HostError.limitReached("wanted connections")
    notify(client, .connectionFailed(peer, error), into: &actions)
  }

  /// The controller can't make this link.
  mutating func connectingFailed(
    _ peer: DeviceAddress, _ error: HostError, into actions: inout [Action]
  ) {
    for client in linkRequests.connectingFailed(peer) {
      notify(client, .connectionFailed(peer, error), into: &actions)
    }
  }

  // MARK: Disconnecting

  mutating func disconnect(
    _ client: ClientID, _ peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    switch linkRequests.state(client, peer) {
    case nil: return
    case .cancelling:
      // Requested again and given up again before the end of the first link.
      return linkRequests.cancel(client, peer)
    case .pending, .connected: break
    }
    let isEnding = release(client, peer, now: now, into: &actions)
    // If the link has ended meanwhile, the client was notified of that.
    guard linkRequests.state(client, peer) != nil else { return }
    if isEnding {
      linkRequests.cancel(client, peer)
    } else {
      linkRequests.remove(client, peer)
      notify(client, .disconnected(peer, nil, reconnecting: false), into: &actions)
    }
  }

  /// A client's program gives up its share of a link that others want, unless another of its clients wants it.
  mutating func releaseShare(of client: ClientID, _ peer: DeviceAddress) {
    let requester = requester(of: client)
    let isWanted = linkRequests.clients(of: peer).contains {
      $0 != client && self.requester(of: $0) == requester
    }
    if !isWanted { connector.release(peer, by: requester) }
  }

  /// Ends a client's use of a link, and the link if no other client wants it. Returns whether the
  /// link is about to end; the request itself is left to the caller.
  @discardableResult
  mutating func release(
    _ client: ClientID, _ peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) -> Bool {
    needsCommands = true
    let isWantedByOthers = linkRequests.isWanted(peer, byOthersThan: client)
    // Also where there is a link: one that the peer made may turn out never to have been there.
    if isWantedByOthers { releaseShare(of: client, peer) } else { connector.remove(peer) }
    guard let link = links.index(peer: peer) else { return false }
    let isEnding = !isWantedByOthers && links.entries[link].info.role == .central
    endUse(of: link, by: client, linkIsEnding: isEnding, now: now, into: &actions)
    // That may have brought about the end of the link, too.
    guard isEnding, let link = links.index(peer: peer) else { return false }
    disconnectLink(link, because: nil, now: now, into: &actions)
    return links.index(peer: peer) != nil
  }

  /// Ends what a client has on a link that may go on for others.
  private mutating func endUse(
    of index: Int, by client: ClientID, linkIsEnding: Bool, now: Instant,
    into actions: inout [Action]
  ) {
    let handle = links.handles[index]
    if let request = links.entries[index].parameterUpdate.cancel(by: client) {
      complete(request, .failure(.cancelled), into: &actions)
    }
    withGATT(index, now: now, into: &actions) { gatt, outputs in
      gatt.removeClient(client, linkIsEnding: linkIsEnding, now: now, into: &outputs)
    }
    // A link that ends takes its channels along.
    if !linkIsEnding { closeChannels(of: client, link: handle, now: now, into: &actions) }
  }

  /// A link is gone: notifies its clients, and makes it again for those that want that.
  mutating func endLinkRequests(
    of link: Link, _ error: HostError, now: Instant, into actions: inout [Action]
  ) {
    let notBefore = now + Self.reconnectDelay
    for ended in linkRequests.linkClosed(link.peer, error) {
      if let event = ended.event { notify(ended.client, event, into: &actions) }
      if let options = ended.again {
        startConnecting(
          link.peer, ended.client, options, notBefore: notBefore, into: &actions)
      }
    }
  }
}
