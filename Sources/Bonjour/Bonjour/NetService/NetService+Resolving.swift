internal import BonjourHost
internal import Connections
internal import DNSWire
internal import DiscoveryMachines
internal import RunLoopSupport

extension NetService {
  /// Starts resolving, or posts the error.
  func beginResolving(timeout: TimeInterval) {
    guard let number = beginActivity(refusal: .notResolved(.busy)) else { return }
    guard let name = serviceName else {
      endActivity(number, reporting: .notResolved(.badArgument))
      return
    }
    startResolving(name, timeout: timeout, number)
  }

  private func startResolving(_ name: ServiceName, timeout: TimeInterval, _ number: Int) {
    withState { $0.endpoints = nil }
    report(.willResolve, of: number)
    let resolver = ServiceResolver(name, on: nil, discovery) { [inbox] result in
      switch result {
      case .success(let resolution): inbox.post(DelegateCall(of: number, .resolved(resolution)))
      case .failure(let error): inbox.post(DelegateCall(of: number, .notResolved(.init(error))))
      }
    }
    updateActivity(number) { $0.held.append(resolver) }
    guard timeout > 0 else { return }
    let timer = discovery.after(seconds: timeout) { [inbox] in
      inbox.post(DelegateCall(of: number, .timedOut))
    }
    updateActivity(number) { $0.held.append(timer) }
  }

  /// Reports new addresses of an activity. Called on a run loop.
  func resolved(_ resolution: ServiceResolver.Resolution, _ number: Int?) {
    // Without an address it is not reported.
    guard !resolution.addresses.isEmpty else { return }
    let isNews = withState { state in
      // Another thread may have ended it, and begun the next.
      guard state.activity?.number == number else { return false }
      let known = Set(state.endpoints ?? [])
      state.hostName = resolution.service.host.description
      state.port = Int(resolution.service.port)
      state.text = resolution.service.text
      state.endpoints = resolution.endpoints.reduce(into: []) { endpoints, endpoint in
        if !endpoints.contains(endpoint) { endpoints.append(endpoint) }
      }
      state.activity?.isResolved = true
      return !known.isSuperset(of: resolution.endpoints)
    }
    if isNews { delegate?.netServiceDidResolveAddress(self) }
  }

  /// The timeout of an activity has passed. Called on a run loop.
  func timedOut(_ number: Int?) {
    let isResolved = withState { $0.activity?.isResolved ?? false }
    // Unless another thread has ended it, which is reported then.
    guard let number, endActivity(number) else { return }
    if isResolved {
      delegate?.netServiceDidStop(self)
    } else {
      delegate?.netService(self, didNotResolve: NetServiceFailure.timeout.dictionary)
    }
  }

  /// Streams that connect when they are opened, to where the service is then.
  func streams() -> (input: InputStream, output: OutputStream)? {
    guard let name = serviceName else { return nil }
    let target = ConnectionSearch.Target.service(name, known: withState { $0.endpoints ?? [] })
    let pipe = ConnectionPipe(TCPConnection()) { [discovery] connection in
      ConnectionSearch(target, for: connection, discovery) { [weak connection] in
        connection?.fail($0)
      }
    }
    return PipeStreams.pair(pipe)
  }
}
