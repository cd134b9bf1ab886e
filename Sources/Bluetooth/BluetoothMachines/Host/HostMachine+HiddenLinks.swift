import BluetoothInterface
import BluetoothWire

// Links that peers open while a client has too many unhandled events: the client does not hear of them
// until it has handled enough. So peers that come and go can't fill its queue, and are not refused for
// the others.

extension HostMachine {
  /// Whether an event is kept from a client, because it is about a link that the client does not know.
  mutating func hides(_ event: HostEvent, from client: ClientID) -> Bool {
    switch event {
    case .linkOpened(let info):
      guard info.role == .peripheral, linkRequests.state(client, info.peer) == nil,
        backlog.isFull(client)
      else { return false }
      hiddenLinks.add(info.peer, from: client)
      return true
    case .linkClosed(let peer, _): return hiddenLinks.remove(peer, from: client)
    case .linkUpdated(let info): return hiddenLinks.contains(info.peer, from: client)
    case .subscribed(let peer, _), .unsubscribed(let peer, _), .pairingEnded(let peer, _):
      return hiddenLinks.contains(peer, from: client)
    default: return false
    }
  }

  /// A client has handled events: it hears of the links that are still open, if it has room.
  mutating func revealLinks(to client: ClientID, into actions: inout [Action]) {
    guard !hiddenLinks.isEmpty, backlog.hasRoomForLinks(client) else { return }
    for peer in hiddenLinks.peers(from: client) { revealLink(peer, to: client, into: &actions) }
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
