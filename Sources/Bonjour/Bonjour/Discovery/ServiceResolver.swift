internal import BonjourHost
internal import Connections
internal import DNSWire
internal import DiscoveryMachines
internal import Synchronization

/// Finds out where a service is, down to its addresses, and follows what changes.
///
/// It looks until it is let go of.
final class ServiceResolver: Sendable {
  /// What is known of a service.
  struct Place: Hashable, Sendable {
    var service: ResolvedService
    /// The host's addresses, in the order in which they became known.
    var addresses: [HostResolver.Address] = []

    /// Where to connect to.
    var endpoints: [SocketEndpoint] {
      addresses.map {
        SocketEndpoint(
          $0.address, port: service.port, scope: $0.interface?.rawValue ?? 0)
      }
    }
  }

  private struct State {
    var place: Place?
    var resolution: (any Sendable & AnyObject)?
    var lookUp: HostResolver?
  }

  private let discovery: any Discovery
  private let interface: InterfaceIndex?
  private let onChange: @Sendable (Result<Place, QueryError>) -> Void
  private let state = Mutex(State())

  /// - Parameters:
  ///   - interface: Where to look; nil for everywhere.
  ///   - onChange: Told on the event loop what is known, first without addresses; or that
  ///     nothing can be found out.
  init(
    _ name: ServiceName, on interface: InterfaceIndex?, _ discovery: any Discovery,
    onChange: @escaping @Sendable (Result<Place, QueryError>) -> Void
  ) {
    self.discovery = discovery
    self.interface = interface
    self.onChange = onChange
    let batches = EventBatches { [weak self] in self?.take(places: $0) }
    let query = discovery.find(.resolve(name), on: interface) { batches.take($0) }
    state.withLock { $0.resolution = query }
  }

  private func take(places events: [FoundEvent]) {
    for event in events {
      if case .failed(let error) = event.event { return onChange(.failure(error)) }
    }
    let services = events.compactMap { event in
      if case .resolved(let service) = event.event { service } else { nil }
    }
    guard let service = services.last else { return }
    let (place, isNewHost) = state.withLock { state in
      let old = state.place
      let isNewHost = old?.service.host != service.host
      let place = Place(service: service, addresses: isNewHost ? [] : old?.addresses ?? [])
      state.place = place
      return (place == old ? nil : place, isNewHost)
    }
    if let place { onChange(.success(place)) }
    if isNewHost { lookUp(service.host) }
  }

  private func lookUp(_ host: DNSName) {
    let new = HostResolver(host, on: interface, discovery) { [weak self] in
      self?.take($0, of: host)
    }
    // The one before is let go of outside the lock.
    let old = state.withLock { state in
      defer { state.lookUp = new }
      return state.lookUp
    }
    withExtendedLifetime(old) {}
  }

  private func take(_ addresses: [HostResolver.Address], of host: DNSName) {
    let place = state.withLock { state -> Place? in
      guard state.place?.service.host == host else { return nil }
      state.place?.addresses = addresses
      return state.place
    }
    if let place { onChange(.success(place)) }
  }
}
