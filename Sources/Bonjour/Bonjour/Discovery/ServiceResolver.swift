internal import BonjourHost
internal import Connections
internal import DNSWire
internal import DiscoveryMachines
internal import Synchronization

/// Resolves a service to host, port, TXT record and addresses, and follows changes, until it is
/// released.
final class ServiceResolver: Sendable {
  /// The resolved parts of a service.
  struct Resolution: Hashable, Sendable {
    var service: ServiceResolution
    /// The host's addresses, in the order in which they became known.
    var addresses: [HostResolver.Address] = []

    /// The endpoints to connect to.
    var endpoints: [SocketEndpoint] {
      addresses.map {
        SocketEndpoint(
          $0.address, port: service.port, scope: $0.interface?.rawValue ?? 0)
      }
    }
  }

  private struct State {
    var resolution: Resolution?
    var query: (any Sendable & AnyObject)?
    var lookUp: HostResolver?
  }

  private let discovery: any DiscoveryProvider
  private let interface: InterfaceIndex?
  private let onChange: @Sendable (Result<Resolution, QueryError>) -> Void
  private let state = Mutex(State())

  /// - Parameters:
  ///   - interface: The interface to search; nil for all.
  ///   - onChange: Called on the event loop with the resolution so far, at first without addresses,
  ///     or with an error if the query is impossible.
  init(
    _ name: ServiceName, on interface: InterfaceIndex?, _ discovery: any DiscoveryProvider,
    onChange: @escaping @Sendable (Result<Resolution, QueryError>) -> Void
  ) {
    self.discovery = discovery
    self.interface = interface
    self.onChange = onChange
    let batches = EventBatches { [weak self] in self?.take($0) }
    let query = discovery.startQuery(.resolve(name), on: interface) { batches.take($0) }
    state.withLock { $0.query = query }
  }

  private func take(_ events: [FoundEvent]) {
    for event in events {
      if case .failed(let error) = event.event { return onChange(.failure(error)) }
    }
    let services = events.compactMap { event in
      if case .resolved(let service) = event.event { service } else { nil }
    }
    guard let service = services.last else { return }
    let (resolution, isNewHost) = state.withLock { state in
      let old = state.resolution
      let isNewHost = old?.service.host != service.host
      let resolution = Resolution(
        service: service, addresses: isNewHost ? [] : old?.addresses ?? [])
      state.resolution = resolution
      return (resolution == old ? nil : resolution, isNewHost)
    }
    if let resolution { onChange(.success(resolution)) }
    if isNewHost { lookUp(service.host) }
  }

  private func lookUp(_ host: DNSName) {
    let new = HostResolver(host, on: interface, discovery) { [weak self] in
      self?.take($0, of: host)
    }
    // The previous one is released outside the lock.
    let old = state.withLock { state in
      defer { state.lookUp = new }
      return state.lookUp
    }
    withExtendedLifetime(old) {}
  }

  private func take(_ addresses: [HostResolver.Address], of host: DNSName) {
    let resolution = state.withLock { state -> Resolution? in
      guard state.resolution?.service.host == host else { return nil }
      state.resolution?.addresses = addresses
      return state.resolution
    }
    if let resolution { onChange(.success(resolution)) }
  }
}
