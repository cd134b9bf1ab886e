import BluetoothWire
import Essentials

// Who wants which link.

extension HostMachine {
  private func holdIndex(_ client: ClientID, _ peer: DeviceAddress) -> Int? {
    holds.firstIndex { $0.client == client && $0.peer == peer }
  }

  /// The link to a peer, if this client has it.
  func heldLink(_ client: ClientID, _ peer: DeviceAddress) -> Int? {
    guard let hold = holdIndex(client, peer), holds[hold].state == .connected else { return nil }
    return linkIndex(peer: peer)
  }

  // MARK: Connecting

  mutating func connect(
    _ client: ClientID, _ peer: DeviceAddress, _ options: ConnectOptions, now: Instant,
    into actions: inout [Action]
  ) {
    guard options.parameters.isValid else {
      let error = HostError.invalidArgument("No link can have these connection parameters.")
      return tell(client, .connectionFailed(peer, error), into: &actions)
    }
    needsCommands = true
    guard let index = holdIndex(client, peer) else {
      holds.append(Hold(client: client, peer: peer, options: options, state: .pending))
      return seek(peer, client, now: now, into: &actions)
    }
    holds[index].options = options
    switch holds[index].state {
    case .pending: seek(peer, client, now: now, into: &actions)
    case .connected: tell(client, .connected(peer), into: &actions)
    case .leaving: holds[index].state = .leaving(again: options)
    }
  }

  /// Makes the link, or takes part in the one there is.
  private mutating func seek(
    _ peer: DeviceAddress, _ client: ClientID, now: Instant, into actions: inout [Action]
  ) {
    guard let hold = holdIndex(client, peer) else { return }
    if let link = linkIndex(peer: peer) {
      switch links[link].stage {
      case .open:
        holds[hold].state = .connected
        tell(client, .connected(peer), into: &actions)
        // The peer made this link, and nobody was interested in it so far.
        if !links[link].isIntroduced { introduce(link, now: now, into: &actions) }
      case .unconfirmed, .emptying, .closing: break
      }
      return
    }
    let options = holds[hold].options
    let delay = max(options.startDelay, .zero)
    guard connector.add(peer, options.parameters, notBefore: now + delay) else {
      holds.remove(at: hold)
      let error = HostError.limitReached("wanted connections")
      return tell(client, .connectionFailed(peer, error), into: &actions)
    }
  }

  /// The controller can't make this link.
  mutating func connectingFailed(
    _ peer: DeviceAddress, _ error: HostError, into actions: inout [Action]
  ) {
    let failed = holds.filter { $0.peer == peer && $0.state == .pending }
    holds.removeAll { $0.peer == peer && $0.state == .pending }
    for hold in failed { tell(hold.client, .connectionFailed(peer, error), into: &actions) }
  }

  // MARK: Letting go

  mutating func disconnect(
    _ client: ClientID, _ peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    guard let index = holdIndex(client, peer) else { return }
    switch holds[index].state {
    case .leaving:
      // Connected anew and given up again before the end of the first.
      holds[index].state = .leaving(again: nil)
      return
    case .pending, .connected: break
    }
    let waitsForEnd = release(client, peer, now: now, into: &actions)
    guard let index = holdIndex(client, peer) else { return }
    if waitsForEnd {
      holds[index].state = .leaving(again: nil)
    } else {
      holds.remove(at: index)
      tell(client, .disconnected(peer, nil, reconnecting: false), into: &actions)
    }
  }

  /// Ends what a client has on a link, and the link if nobody else holds it. Whether the link is
  /// about to end; the hold itself is left to the caller.
  @discardableResult
  mutating func release(
    _ client: ClientID, _ peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) -> Bool {
    needsCommands = true
    let isHeldByOthers = holds.contains { hold in
      guard hold.peer == peer, hold.client != client else { return false }
      if case .leaving = hold.state { return false }
      return true
    }
    // Also where there is a link: one that the peer made may turn out never to have been there.
    if !isHeldByOthers { connector.remove(peer) }
    guard let link = linkIndex(peer: peer) else { return false }
    let isEnding = !isHeldByOthers && links[link].info.role == .central
    endUse(of: link, by: client, linkIsEnding: isEnding, now: now, into: &actions)
    // That may have brought about the end of the link, too.
    guard isEnding, let link = linkIndex(peer: peer) else { return false }
    disconnectLink(link, because: nil, now: now, into: &actions)
    return linkIndex(peer: peer) != nil
  }

  /// A link is gone: tells those who held it, and seeks it again for those who want that.
  mutating func releaseHolds(
    of link: Link, _ error: HostError, now: Instant, into actions: inout [Action]
  ) {
    let peer = link.peer
    let notBefore = now + Limits.reconnectDelay
    for client in holds.filter({ $0.peer == peer }).map(\.client) {
      guard let index = holdIndex(client, peer) else { continue }
      switch holds[index].state {
      case .pending: break
      case .connected:
        let reconnects = holds[index].options.reconnectsAutomatically
        let event = HostEvent.disconnected(peer, error, reconnecting: reconnects)
        tell(client, event, into: &actions)
        guard reconnects else {
          holds.remove(at: index)
          continue
        }
        holds[index].state = .pending
      case .leaving(let again):
        tell(client, .disconnected(peer, nil, reconnecting: false), into: &actions)
        guard let again else {
          holds.remove(at: index)
          continue
        }
        holds[index].options = again
        holds[index].state = .pending
      }
      guard connector.add(peer, holds[index].options.parameters, notBefore: notBefore) else {
        holds.remove(at: index)
        let error = HostError.limitReached("wanted connections")
        tell(client, .connectionFailed(peer, error), into: &actions)
        continue
      }
    }
  }
}
