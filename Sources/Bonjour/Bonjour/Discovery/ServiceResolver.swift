internal import BonjourHost
internal import ConnectionHost
internal import DNSWire
internal import DiscoveryMachines
internal import Essentials
internal import Synchronization

/// Finds out where a service is, down to its addresses, and follows what changes.
///
/// It looks until it is let go of.
final class ServiceResolver: Sendable {
  /// What is known of a service.
  struct Place: Hashable, Sendable {
    var service: ResolvedService
    /// The host's addresses, in the order in which they became known.
    var addresses: [Address] = []

    /// Where to connect to.
    var endpoints: [SocketEndpoint] {
      addresses.map {
        SocketEndpoint(
          $0.address, port: service.port, scope: $0.interface?.rawValue ?? 0)
      }
    }
  }

  struct Address: Hashable, Sendable {
    var address: Essentials.IPAddress
    /// Where it was heard.
    var interface: InterfaceIndex?
  }

  private struct State {
    var place: Place?
    var resolution: (any Sendable & AnyObject)?
    var lookUp: (any Sendable & AnyObject)?
  }

  private let discovery: any Discovery
  private let interface: InterfaceIndex?
  private let onChange: @Sendable (Result<Place, QueryError>) -> Void
  private let state = Mutex(State())

  /// - Parameters:
  ///   - interface: Where to look; nil for everywhere.
  ///   - onChange: Told on the host's event loop what is known, first without addresses; or that
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
    let batches = EventBatches { [weak self] in self?.take(addresses: $0, of: host) }
    let query = discovery.find(.addresses(host, versions: [.v4, .v6]), on: interface) {
      batches.take($0)
    }
    // The one before is let go of outside the lock.
    let old = state.withLock { state in
      defer { state.lookUp = query }
      return state.lookUp
    }
    withExtendedLifetime(old) {}
  }

  private func take(addresses events: [FoundEvent], of host: DNSName) {
    let place = state.withLock { state -> Place? in
      guard var place = state.place, place.service.host == host else { return nil }
      for event in events {
        switch event.event {
        case .addressAdded(let address, _):
          let new = Address(address: address, interface: event.interface)
          if !place.addresses.contains(new) { place.addresses.append(new) }
        case .addressRemoved(let address):
          place.addresses.removeAll { $0 == Address(address: address, interface: event.interface) }
        default: break
        }
      }
      defer { state.place = place }
      return place == state.place ? nil : place
    }
    if let place { onChange(.success(place)) }
  }
}
