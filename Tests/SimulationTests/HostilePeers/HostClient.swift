import BluetoothInterface
import BluetoothWire
import Essentials
import Simulation
import Testing

@testable import BluetoothMachines

/// The client of a host in a world: it sends requests, runs the world until the answer comes, and
/// keeps its events. A `ClientLedger` checks these against the contract.
class HostClient {
  let world: World
  let host: RunHost
  let client: ClientID
  private(set) var events: [HostEvent] = []
  private var results: [RequestToken: Result<HostReply, HostError>] = [:]

  init(_ index: Int, in world: World, at position: Position) {
    self.world = world
    host = RunHost(index, in: world, at: position, isBasic: false)
    client = host.addClient()
    host.onEvent = { [weak self] _, event in self?.note(event) }
  }

  private func note(_ event: HostEvent) {
    events.append(event)
    if case .completed(let token, let result) = event { results[token] = result }
  }

  var address: DeviceAddress { host.controller.address }

  func forgetEvents() { events = [] }

  // MARK: Asking

  func send(_ request: HostRequest) { host.send(request, from: client) }

  /// Sends what needs a token and leaves it at that.
  @discardableResult
  func start(_ make: (RequestToken) -> HostRequest) -> RequestToken {
    let token = host.makeToken()
    send(make(token))
    return token
  }

  func result(of token: RequestToken) -> Result<HostReply, HostError>? { results[token] }

  /// Runs the world until a request has ended; nil if that doesn't happen.
  func complete(
    within limit: TimeSpan = .seconds(100), _ make: (RequestToken) -> HostRequest
  ) -> Result<HostReply, HostError>? {
    let token = start(make)
    world.run(atMost: limit) { results[token] != nil }
    return results[token]
  }

  func gatt(_ operation: GATTOperation, on peer: DeviceAddress) -> Result<HostReply, HostError>? {
    complete { .gatt(peer, operation, $0) }
  }

  /// Runs the world until an event is there, one of those not yet forgotten or a new one.
  @discardableResult
  func wait(within limit: TimeSpan = .seconds(60), _ isWanted: (HostEvent) -> Bool) -> Bool {
    var seen = 0
    return world.run(atMost: limit) {
      while seen < events.count {
        seen += 1
        if isWanted(events[seen - 1]) { return true }
      }
      return false
    }
  }

  func count(_ isWanted: (HostEvent) -> Bool) -> Int { events.count(where: isWanted) }

  // MARK: Links

  /// Connects and waits for that; drops the earlier events.
  func meet(_ peer: DeviceAddress, _ options: ConnectOptions = ConnectOptions()) throws {
    forgetEvents()
    send(.connect(peer, options))
    try #require(wait { if case .connected(peer) = $0 { true } else { false } })
  }

  /// Lets go of a link, if there is one, and waits for its end.
  func part(_ peer: DeviceAddress) throws {
    guard host.ledger(client)?.linkRequests[peer] != nil else { return }
    forgetEvents()
    send(.disconnect(peer))
    try #require(wait { if case .disconnected(peer, nil, false) = $0 { true } else { false } })
    // The controller may still owe the peer its goodbye.
    world.run(for: .milliseconds(100))
  }

  /// Waits for the end of a link; why it ended.
  func endOfLink(_ peer: DeviceAddress, within limit: TimeSpan = .seconds(60)) -> HostError? {
    var reason: HostError?
    wait(within: limit) {
      guard case .linkClosed(peer, let error) = $0 else { return false }
      reason = error
      return true
    }
    return reason
  }

  /// The characteristics of the first service with this UUID, over an open link.
  func characteristics(
    in service: BluetoothUUID, of peer: DeviceAddress
  ) throws -> [BluetoothUUID: RemoteCharacteristic] {
    let services = try #require(gatt(.discoverServices([service]), on: peer)).get()
    guard case .services(let found) = services, let range = found.first?.range,
      case .characteristics(let characteristics) = try #require(
        gatt(.discoverCharacteristics(in: range, nil), on: peer)
      ).get()
    else { throw HostError.invalidResponse }
    return Dictionary(characteristics.map { ($0.uuid, $0) }) { first, _ in first }
  }
}
