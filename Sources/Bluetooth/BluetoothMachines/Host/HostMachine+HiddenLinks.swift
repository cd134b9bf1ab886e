import BluetoothInterface
import BluetoothWire
import Essentials
import GATTMachines

// Links that peers open while a client has too many unhandled events: the client does not hear of them
// until it has handled enough. So peers that come and go can't fill its queue, and are not refused for
// the others. Nor can a peer whose link others use, too: the client loses that link.

extension HostMachine {
  /// Every client hears of a new link, unless the peer opened it and the client has no room for that.
  mutating func announceLink(_ info: LinkInfo, into actions: inout [Action]) {
    for client in clients {
      if info.role == .peripheral, linkRequests.state(client, info.peer) == nil,
        backlog.isFull(client)
      {
        hiddenLinks.add(info.peer, from: client)
      } else {
        notify(client, .linkOpened(info), into: &actions)
      }
    }
  }

  /// Every client that knows of a link hears that it is closed.
  mutating func announceEnd(
    of link: Link, _ error: HostError, into actions: inout [Action]
  ) {
    if link.isAnnounced { notifyAll(.linkClosed(link.peer, error), into: &actions) }
    // A client that never knew of the link has missed nothing.
    for client in hiddenLinks.remove(link.peer) { backlog.forgetLosses(of: client, of: link.peer) }
  }

  /// Whether an event is kept from a client, because it is about a link that the client does not know.
  func hides(_ event: HostEvent, from client: ClientID) -> Bool {
    guard !hiddenLinks.isEmpty else { return false }
    switch event {
    case .linkUpdated(let info): return hiddenLinks.contains(info.peer, from: client)
    case .linkClosed(let peer, _), .subscribed(let peer, _), .unsubscribed(let peer, _),
      .pairingPrompt(let peer, _, _), .pairingEnded(let peer, _), .bondNotKept(let peer, _):
      return hiddenLinks.contains(peer, from: client)
    // A client that uses a link knows it. Requests of peers, losses and channels are held back before
    // there is an event.
    case .connected, .connectionFailed, .disconnected, .valueUpdated, .servicesChanged,
      .serverRequest, .valuesDropped, .writesDropped, .requestsExpired, .channelOpened,
      .channelReceived, .channelClosed:
      return false
    case .stateChanged, .completed, .discovered, .linkOpened, .acknowledgementRequested:
      return false
    }
  }

  /// A client has handled events: it hears of the links that are still open, if it has room and has caught
  /// up with those that it lost.
  mutating func revealLinks(to client: ClientID, into actions: inout [Action]) {
    guard !hiddenLinks.isEmpty, backlog.hasRoomForLinks(client) else { return }
    for peer in hiddenLinks.peers(from: client) where hasCaughtUp(client, with: peer) {
      revealLink(peer, to: client, into: &actions)
    }
  }

  private func hasCaughtUp(_ client: ClientID, with peer: DeviceAddress) -> Bool {
    guard let index = links.index(peer: peer) else { return true }
    return backlog.hasCaughtUp(client, with: links.handles[index])
  }

  /// Takes a link that goes on for others from a client that has too many unhandled events of it. When the
  /// client has caught up, it hears of the link again, as of a new one.
  mutating func takeLink(
    _ index: Int, from client: ClientID, because error: HostError, now: Instant,
    into actions: inout [Action]
  ) {
    let (peer, handle) = (links.peers[index], links.handles[index])
    release(client, peer, now: now, into: &actions)
    // That may have brought about the end of the link, too; then the client was notified of that.
    guard links.index(handle: handle) != nil else { return }
    backlog.linkLost(handle, by: client)
    if linkRequests.state(client, peer) != nil {
      linkRequests.remove(client, peer)
      notify(client, .disconnected(peer, error, reconnecting: false), into: &actions)
    }
    notify(client, .linkClosed(peer, error), into: &actions)
    hiddenLinks.add(peer, from: client)
  }

  /// A client hears of a link, and of the peer's subscriptions, if it has not.
  mutating func revealLink(
    _ peer: DeviceAddress, to client: ClientID, into actions: inout [Action]
  ) {
    guard hiddenLinks.remove(peer, from: client), let index = links.index(peer: peer) else {
      return
    }
    notify(client, .linkOpened(links.entries[index].info), into: &actions)
    for handle in server.subscriptions(of: peer, owner: client) {
      notify(client, .subscribed(peer, handle: handle), into: &actions)
    }
  }
}

/// Which open links are hidden from which clients.
struct HiddenLinks: Sendable {
  private struct HiddenLink: Sendable, Hashable {
    let client: ClientID
    let peer: DeviceAddress
  }

  private var links: Set<HiddenLink> = []

  var isEmpty: Bool { links.isEmpty }

  mutating func add(_ peer: DeviceAddress, from client: ClientID) {
    links.insert(HiddenLink(client: client, peer: peer))
  }

  /// Returns whether the link was hidden.
  mutating func remove(_ peer: DeviceAddress, from client: ClientID) -> Bool {
    !isEmpty && links.remove(HiddenLink(client: client, peer: peer)) != nil
  }

  /// The link is gone. Returns the clients that it was hidden from.
  mutating func remove(_ peer: DeviceAddress) -> [ClientID] {
    guard !isEmpty else { return [] }
    let removed = links.filter { $0.peer == peer }
    links.subtract(removed)
    return removed.map(\.client)
  }

  /// The client is gone.
  mutating func remove(_ client: ClientID) { links = links.filter { $0.client != client } }

  func contains(_ peer: DeviceAddress, from client: ClientID) -> Bool {
    !isEmpty && links.contains(HiddenLink(client: client, peer: peer))
  }

  /// In a fixed order.
  func peers(from client: ClientID) -> [DeviceAddress] {
    links.filter { $0.client == client }.map(\.peer)
      .sorted { ($0.bits, $0.kind.rawValue) < ($1.bits, $1.kind.rawValue) }
  }
}
