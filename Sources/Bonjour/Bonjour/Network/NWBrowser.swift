internal import DNSWire
internal import DiscoveryMachines
internal import Synchronization

/// Browses for services, and follows them as they appear, change and disappear.
///
/// The handlers are called on the queue with which the browser was started. Cancelling or releasing
/// the browser ends the search; a cancelled browser can't be started again.
public final class NWBrowser: Sendable, CustomDebugStringConvertible {
  /// The services that it browses for.
  public let descriptor: Descriptor
  /// The parameters of the search, such as the interface.
  public let parameters: NWParameters

  private let discovery: any DiscoveryProvider
  private let guarded = Mutex(Guarded())

  private struct Guarded {
    var state = State.setup
    var queue: DispatchQueue?
    var results: Set<Result> = []
    var catalogue: ServiceCatalogue?
    var onState: (@Sendable (State) -> Void)?
    var onResults: (@Sendable (Set<Result>, Set<Result.Change>) -> Void)?
  }

  /// Creates a browser that is not started.
  public init(for descriptor: Descriptor, using parameters: NWParameters) {
    self.descriptor = descriptor
    self.parameters = parameters
    discovery = DiscoveryContext.discovery
  }

  /// Called when the state changes.
  @preconcurrency public var stateUpdateHandler: (@Sendable (State) -> Void)? {
    get { guarded.withLock { guarded in guarded.onState } }
    set { guarded.withLock { guarded in guarded.onState = newValue } }
  }

  /// Called when results are added, removed or changed, with all present results and the changes
  /// since the previous call.
  @preconcurrency public var browseResultsChangedHandler:
    (@Sendable (Set<Result>, Set<Result.Change>) -> Void)?
  {
    get { guarded.withLock { guarded in guarded.onResults } }
    set { guarded.withLock { guarded in guarded.onResults = newValue } }
  }

  /// The current state.
  public var state: State { guarded.withLock { guarded in guarded.state } }
  /// The current results.
  public var browseResults: Set<Result> { guarded.withLock { guarded in guarded.results } }
  /// The queue on which the handlers are called; nil before the start.
  public var queue: DispatchQueue? { guarded.withLock { guarded in guarded.queue } }

  /// Starts browsing. Only the first call has an effect.
  public func start(queue: DispatchQueue) {
    let isFirst = guarded.withLock { guarded in
      guard guarded.state == .setup, guarded.queue == nil else { return false }
      guarded.queue = queue
      return true
    }
    guard isFirst else { return }
    do throws(NWError) {
      let request = try request()
      change(to: .ready)
      let catalogue = catalogue(request) { [weak self] result in
        queue.async { self?.take(result) }
      }
      guarded.withLock { guarded in if guarded.state == .ready { guarded.catalogue = catalogue } }
    } catch {
      change(to: .failed(error))
    }
  }

  /// Stops browsing.
  public func cancel() { change(to: .cancelled) }

  /// Begins to look.
  func catalogue(
    _ request: (query: QueryRequest, wantsText: Bool),
    onChange: @escaping @Sendable (Swift.Result<ServiceCatalogue.Snapshot, NWError>) -> Void
  ) -> ServiceCatalogue {
    ServiceCatalogue(
      request.query, wantsText: request.wantsText, parameters, discovery, onChange: onChange)
  }

  func request() throws(NWError) -> (query: QueryRequest, wantsText: Bool) {
    do throws(DNSWireError) {
      switch descriptor {
      case .bonjour(let type, let domain):
        return (try .services(ofType: type, inDomain: domain), false)
      case .bonjourWithTXTRecord(let type, let domain):
        return (try .services(ofType: type, inDomain: domain), true)
      case .applicationService: throw DNSWireError.invalidServiceType
      }
    } catch {
      if case .applicationService = descriptor {
        throw .dns(DNSServiceErrorType(kDNSServiceErr_Unsupported))
      }
      throw .badParameter
    }
  }

  /// Changes the state and has the handler called, unless the browser was cancelled or failed before. A new state that
  /// is an end ends the search.
  private func change(to new: State) {
    let catalogue = guarded.withLock { guarded -> ServiceCatalogue? in
      switch guarded.state {
      case .cancelled: return nil
      case .failed where new != .cancelled: return nil
      case .failed, .setup, .ready, .waiting: guarded.state = new
      }
      // Under the lock: the calls are queued in the order of the changes, also those of several threads.
      guarded.queue?.async { [self] in
        stateUpdateHandler?(new)
        if new == .cancelled { releaseHandlers() }
      }
      guard new != .ready else { return nil }
      defer { guarded.catalogue = nil }
      return guarded.catalogue
    }
    // Released outside the lock.
    withExtendedLifetime(catalogue) {}
  }

  /// What the handlers hold is free again.
  private func releaseHandlers() {
    let old = guarded.withLock { guarded in
      defer { (guarded.onState, guarded.onResults) = (nil, nil) }
      return (guarded.onState, guarded.onResults)
    }
    withExtendedLifetime(old) {}
  }

  /// On the queue.
  private func take(_ result: Swift.Result<ServiceCatalogue.Snapshot, NWError>) {
    switch result {
    case .failure(let error): change(to: .failed(error))
    case .success(let snapshot):
      let handler = guarded.withLock {
        guarded -> (@Sendable (Set<Result>, Set<Result.Change>) -> Void)? in
        guard guarded.state == .ready else { return nil }
        guarded.results = snapshot.results
        return guarded.onResults
      }
      handler?(snapshot.results, snapshot.changes)
    }
  }

  /// The descriptor and the state, for logs.
  public var debugDescription: String { "\(descriptor)" }
}
