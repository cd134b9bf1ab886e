internal import BonjourHost
internal import ConnectionHost
internal import DNSWire
internal import DiscoveryMachines
internal import Essentials
internal import HostEssentials
internal import Synchronization

/// Looks for where to connect to, and has a connection made there as soon as an address is known.
/// Then, or when nothing was found for a while, it looks no more; nor if it is let go of.
final class ConnectionSearch: Sendable {
  typealias Conclude = @Sendable (Result<[SocketEndpoint], SystemError>) -> Void

  private struct State {
    /// What looks, and the timer that ends it.
    var held: [any Sendable & AnyObject] = []
    var isDone = false
  }

  private let connection: TCPConnection
  private let state = Mutex(State())

  /// For how long a service or a host is looked for.
  private static let patienceSeconds = 30.0

  /// - Parameter begin: Begins to look, and returns what does so until it is let go of.
  private init(
    for connection: TCPConnection, _ discovery: any Discovery,
    _ begin: (@escaping Conclude) -> (any Sendable & AnyObject)?
  ) {
    self.connection = connection
    let search = begin { [weak self] in self?.conclude($0) }
    let timer = discovery.after(seconds: Self.patienceSeconds) { [weak self] in
      self?.conclude(.failure(SystemError(number: ETIMEDOUT)))
    }
    state.withLock { state in
      if !state.isDone { state.held = [search, timer].compactMap { $0 } }
    }
  }

  private func conclude(_ result: Result<[SocketEndpoint], SystemError>) {
    let (isFirst, held) = state.withLock { state in
      defer { state = State(isDone: true) }
      return (!state.isDone, state.held)
    }
    guard isFirst else { return }
    switch result {
    case .success(let endpoints): connection.connect(to: endpoints)
    case .failure(let error): connection.fail(error)
    }
    // Let go of outside the lock.
    withExtendedLifetime(held) {}
  }
}

extension ConnectionSearch {
  /// Looks for a service.
  convenience init(
    _ service: ServiceName, on interface: InterfaceIndex?, for connection: TCPConnection,
    _ discovery: any Discovery
  ) {
    self.init(for: connection, discovery) { conclude in
      ServiceResolver(service, on: interface, discovery) { result in
        switch result {
        case .success(let place) where place.addresses.isEmpty: break
        case .success(let place): conclude(.success(place.endpoints))
        case .failure: conclude(.failure(SystemError(number: EADDRNOTAVAIL)))
        }
      }
    }
  }

  /// Looks for a host: one in `local.` by Multicast DNS, any other as the system does.
  convenience init(
    host: String, port: UInt16, on interface: InterfaceIndex?, for connection: TCPConnection,
    _ discovery: any Discovery
  ) {
    self.init(for: connection, discovery) { conclude in
      guard let name = try? DNSName(text: host), name.isOnThisLink else {
        SystemLookup.endpoints(of: host, port: port) { conclude(.success($0)) }
        return nil
      }
      let batches = EventBatches { events in
        let endpoints = events.compactMap { event -> SocketEndpoint? in
          guard case .addressAdded(let address, _) = event.event else { return nil }
          return SocketEndpoint(address, port: port, scope: event.interface?.rawValue ?? 0)
        }
        if !endpoints.isEmpty { conclude(.success(endpoints)) }
      }
      return discovery.find(.addresses(name, versions: [.v4, .v6]), on: interface) {
        batches.take($0)
      }
    }
  }
}
