import BluetoothInterface
import BluetoothWire

/// Which client asked for a link to which peer, and how far each request is.
///
/// The state of a request is what its client knows from events, so a client can follow it by them:
///
/// | request or event | state after it |
/// |---|---|
/// | `connect` | pending; unchanged if it is connected; cancelling, then pending, if it was cancelling |
/// | `connected` | connected |
/// | `connectionFailed` | none; unchanged if that `connect` had parameters that no link can have |
/// | `disconnect` | cancelling |
/// | `disconnected` | pending if `reconnecting` or `connect` came after `disconnect`, else none |
struct LinkRequests: Sendable {
  enum State: Sendable, Equatable {
    /// The client waits for the link.
    case pending
    /// The client has the link.
    case connected
    /// The client gave it up and waits for its end; with options if it has asked for it again.
    case cancelling(again: ConnectOptions?)
  }

  struct LinkRequest: Sendable {
    let client: ClientID
    let peer: DeviceAddress
    fileprivate(set) var options: ConnectOptions
    fileprivate(set) var state: State
  }

  /// What the end of a link means for one of its clients.
  struct ClosedLink: Sendable {
    let client: ClientID
    /// What the client is notified of; nil if it never had the link.
    let event: HostEvent?
    /// The options with which the link is to be made again; nil if it isn't.
    let again: ConnectOptions?
  }

  private(set) var requests: [LinkRequest] = []

  var count: Int { requests.count }
  var isEmpty: Bool { requests.isEmpty }

  private func index(_ client: ClientID, _ peer: DeviceAddress) -> Int? {
    requests.firstIndex { $0.client == client && $0.peer == peer }
  }

  func state(_ client: ClientID, _ peer: DeviceAddress) -> State? {
    index(client, peer).map { requests[$0].state }
  }

  /// The options of the request that has waited longest for a link to a peer.
  func firstPending(_ peer: DeviceAddress) -> ConnectOptions? {
    requests.first { $0.peer == peer && $0.state == .pending }?.options
  }

  /// The clients that have the link to a peer.
  func connectedClients(_ peer: DeviceAddress) -> [ClientID] {
    requests.filter { $0.peer == peer && $0.state == .connected }.map(\.client)
  }

  /// The clients that have asked for a link to a peer, and have not seen its end.
  func clients(of peer: DeviceAddress) -> [ClientID] {
    requests.filter { $0.peer == peer }.map(\.client)
  }

  /// The peers to which a client has asked for a link, in the order of its requests.
  func peers(of client: ClientID) -> [DeviceAddress] {
    requests.filter { $0.client == client }.map(\.peer)
  }

  /// Whether any client but this one wants or has the link to a peer.
  func isWanted(_ peer: DeviceAddress, byOthersThan client: ClientID) -> Bool {
    requests.contains { request in
      guard request.peer == peer, request.client != client else { return false }
      return switch request.state {
      case .pending, .connected: true
      case .cancelling: false
      }
    }
  }

  // MARK: Changes

  /// A client requests a link. Returns the new state of its request.
  mutating func connect(
    _ client: ClientID, _ peer: DeviceAddress, _ options: ConnectOptions
  ) -> State {
    guard let index = index(client, peer) else {
      requests.append(
        LinkRequest(client: client, peer: peer, options: options, state: .pending))
      return .pending
    }
    requests[index].options = options
    if case .cancelling = requests[index].state {
      requests[index].state = .cancelling(again: options)
    }
    return requests[index].state
  }

  /// A link that is there already is the client's, too.
  mutating func join(_ client: ClientID, _ peer: DeviceAddress) {
    guard let index = index(client, peer) else {
      return assertionFailure("\(client) joins a link that it did not request")
    }
    requests[index].state = .connected
  }

  /// A client gave up a link whose end it is to wait for.
  mutating func cancel(_ client: ClientID, _ peer: DeviceAddress) {
    guard let index = index(client, peer) else {
      return assertionFailure("\(client) releases a link that it did not request")
    }
    requests[index].state = .cancelling(again: nil)
  }

  mutating func remove(_ client: ClientID, _ peer: DeviceAddress) {
    requests.removeAll { $0.client == client && $0.peer == peer }
  }

  /// The link to a peer is there. Returns the clients that waited for it.
  mutating func linkOpened(_ peer: DeviceAddress) -> [ClientID] {
    var clients: [ClientID] = []
    for index in requests.indices
    where requests[index].peer == peer && requests[index].state == .pending {
      requests[index].state = .connected
      clients.append(requests[index].client)
    }
    return clients
  }

  /// The controller can't make the link. Returns the clients that waited for it.
  mutating func connectingFailed(_ peer: DeviceAddress) -> [ClientID] {
    let failed = requests.filter { $0.peer == peer && $0.state == .pending }
    requests.removeAll { $0.peer == peer && $0.state == .pending }
    return failed.map(\.client)
  }

  /// The link to a peer is gone, because of `error` unless its clients gave it up.
  mutating func linkClosed(_ peer: DeviceAddress, _ error: HostError) -> [ClosedLink] {
    var closed: [ClosedLink] = []
    for index in requests.indices where requests[index].peer == peer {
      let request = requests[index]
      var event: HostEvent?
      var again: ConnectOptions?
      switch request.state {
      case .pending: again = request.options
      case .connected:
        let reconnects = request.options.reconnectsAutomatically
        event = .disconnected(peer, error, reconnecting: reconnects)
        again = reconnects ? request.options : nil
      case .cancelling(let options):
        event = .disconnected(peer, nil, reconnecting: false)
        again = options
      }
      if let again { requests[index].options = again }
      requests[index].state = .pending
      closed.append(ClosedLink(client: request.client, event: event, again: again))
    }
    for ended in closed where ended.again == nil { remove(ended.client, peer) }
    return closed
  }
}

extension LinkRequests {
  /// How the table contradicts itself; a sentence for each contradiction.
  ///
  /// - Parameter limit: The number of rows that are checked.
  func violations(perTable limit: Int) -> [String] {
    var found: [String] = []
    for (index, request) in requests.prefix(limit).enumerated()
    where self.index(request.client, request.peer) != index {
      found.append("a client has requested a link twice")
    }
    return found
  }
}
