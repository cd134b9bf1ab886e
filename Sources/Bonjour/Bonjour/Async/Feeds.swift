internal import BonjourHost
internal import Connections
internal import DNSWire
internal import DiscoveryMachines
internal import Synchronization

/// The reason why services were not found, or a service was not resolved or published.
public struct NetServiceError: Error, Hashable, Sendable {
  /// The kind of the error.
  public let code: NetService.ErrorCode
  /// A description of the underlying query error; nil if no query failed.
  public let cause: String?

  init(_ code: NetService.ErrorCode) { (self.code, cause) = (code, nil) }

  init(_ error: QueryError) {
    cause = "\(error.reason)"
    if case .service(let code) = NetServiceFailure(error) {
      self.code = code
    } else {
      code = .unknownError
    }
  }
}

extension NetService {
  /// The host, port, addresses and TXT record of a resolved service.
  public struct ResolvedService: Hashable, Sendable {
    /// The host name, such as `lamp.local.`
    public let hostName: String
    /// The port.
    public let port: Int
    /// The addresses, each a `sockaddr_in` or `sockaddr_in6` with the port; at least one.
    public let addresses: [Data]
    /// The TXT record in wire format (RFC 6763, §6).
    public let txtRecord: Data

    init(_ resolution: ServiceResolver.Resolution) {
      hostName = resolution.service.host.description
      port = Int(resolution.service.port)
      addresses = resolution.endpoints.map { Data($0.systemBytes) }
      txtRecord = Data(resolution.service.text.wireBytes)
    }
  }

  /// Emits the resolved service, and each change of it.
  package var resolutionFeed: Feed<ResolvedService, NetServiceError> {
    Feed { [serviceName, discovery] notify in
      guard let serviceName else { return Feed.failed(.init(.badArgumentError), notify) }
      return ServiceResolver(serviceName, on: nil, discovery) { result in
        switch result {
        case .success(let resolution) where resolution.addresses.isEmpty: break
        case .success(let resolution): notify(.success(ResolvedService(resolution)))
        case .failure(let error): notify(.failure(NetServiceError(error)))
        }
      }
    }
  }

  /// Emits the TXT record, and each change of it.
  package var textFeed: Feed<Data, NetServiceError> {
    Feed { [serviceName, discovery] notify in
      guard let serviceName else { return Feed.failed(.init(.badArgumentError), notify) }
      let last = Latest<TXTRecord>()
      return discovery.startQuery(.records(serviceName.name, .txt), on: nil) { event in
        switch event.event {
        case .failed(let error): notify(.failure(NetServiceError(error)))
        case .recordAdded(let record):
          guard case .txt(let text) = record.data, last.replace(with: text) else { return }
          notify(.success(Data(text.wireBytes)))
        default: break
        }
      }
    }
  }

  /// Emits the names under which the service is registered.
  package func nameFeed(_ options: Options) -> Feed<String, NetServiceError> {
    let made = Swift.Result(catching: { () throws(NetServiceFailure) in
      try registration(options)
    })
    return Feed { [discovery] notify in
      guard case .success(let registration) = made else {
        return Feed.failed(.init(.badArgumentError), notify)
      }
      return discovery.startRegistration(registration) { event in
        switch event {
        case .registered(let name):
          if let name = ServiceName(name) { notify(.success(name.instanceText)) }
        case .refused: notify(.failure(.init(.collisionError)))
        case .failed: notify(.failure(.init(.unknownError)))
        }
      }
    }
  }
}

extension NetServiceBrowser {
  /// Emits the services of a type, and each change of them.
  package static func serviceFeed(
    ofType type: String, in domain: String
  ) -> Feed<Set<NetService>, NetServiceError> {
    let discovery = DiscoveryContext.discovery
    return Feed { notify in
      guard let request = try? QueryRequest.services(ofType: type, inDomain: domain) else {
        return Feed.failed(.init(.badArgumentError), notify)
      }
      let catalogue = FoundServices(discovery)
      let batches = EventBatches { events in
        do throws(QueryError) {
          if let services = try catalogue.take(events) { notify(.success(services)) }
        } catch {
          notify(.failure(NetServiceError(error)))
        }
      }
      return discovery.startQuery(request, on: nil) { batches.take($0) }
    }
  }

  /// The services found so far, each with the interfaces on which it was found.
  private final class FoundServices: Sendable {
    private let discovery: any DiscoveryProvider
    private let found = Mutex<[ServiceName: (NetService, Set<InterfaceIndex?>)]>([:])

    init(_ discovery: any DiscoveryProvider) { self.discovery = discovery }

    /// The services that there are now; nil if they are the same as before.
    func take(_ events: [FoundEvent]) throws(QueryError) -> Set<NetService>? {
      for event in events {
        if case .failed(let error) = event.event { throw error }
      }
      return found.withLock { found in
        let before = Set(found.keys)
        for event in events {
          switch event.event {
          case .serviceAdded(let name):
            found[name, default: (NetService.found(name, discovery), [])].1
              .insert(event.interface)
          case .serviceRemoved(let name):
            found[name]?.1.remove(event.interface)
            if found[name]?.1.isEmpty == true { found[name] = nil }
          default: break
          }
        }
        return before == Set(found.keys) ? nil : Set(found.values.map(\.0))
      }
    }
  }
}

extension NWBrowser {
  /// Emits the results, and each change of them.
  package static func resultFeed(
    for descriptor: Descriptor, using parameters: NWParameters
  ) -> Feed<Set<Result>, NWError> {
    let browser = NWBrowser(for: descriptor, using: parameters)
    return Feed { notify in
      do throws(NWError) {
        return browser.catalogue(try browser.request()) { notify($0.map(\.results)) }
      } catch {
        return Feed.failed(error, notify)
      }
    }
  }
}

extension NWEndpoint {
  /// Emits the addresses and ports of a service, and each change of them.
  package var addressFeed: Feed<[NWEndpoint], NWError> {
    let discovery = DiscoveryContext.discovery
    return Feed { [self] notify in
      guard let serviceName else { return Feed.failed(.badParameter, notify) }
      return ServiceResolver(serviceName, on: InterfaceIndex(interface), discovery) { result in
        switch result {
        case .success(let resolution) where resolution.addresses.isEmpty: break
        case .success(let resolution): notify(.success(resolution.endpoints.map { NWEndpoint($0) }))
        case .failure(let error): notify(.failure(NWError(error)))
        }
      }
    }
  }
}

extension Feed {
  /// A feed that fails at once.
  static func failed(
    _ error: Failure, _ notify: @Sendable (Result<Value, Failure>) -> Void
  ) -> any Sendable & AnyObject {
    notify(.failure(error))
    return Latest<Bool>()
  }
}

/// The latest of several values.
final class Latest<Value: Hashable & Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)

  /// False if it is the same as before.
  func replace(with new: Value) -> Bool {
    value.withLock { value in
      defer { value = new }
      return value != new
    }
  }
}
