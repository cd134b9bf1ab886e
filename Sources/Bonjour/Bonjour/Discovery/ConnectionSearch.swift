internal import BonjourHost
internal import Connections
internal import DNSWire
internal import DiscoveryMachines
internal import Essentials
internal import EventLoop
internal import Synchronization

/// Resolves the target of a connection and offers its addresses to it, also those that become known
/// later, until the connection is established or has ended. Releasing the search ends it.
final class ConnectionSearch: Sendable {
  /// The target of a connection.
  enum Target: Sendable {
    /// A service, with addresses that were resolved earlier.
    case service(ServiceName, known: [SocketEndpoint] = [])
    /// One in `local.` is looked up by Multicast DNS, any other as the system does.
    case host(String, port: UInt16)
    case address(SocketEndpoint)
  }

  private struct State {
    var lookUp: (any Sendable & AnyObject)?
    /// Ends waiting for an address that answers.
    var lookUpTimer: (any Sendable & AnyObject)?
    /// Ends waiting for another address after those that are known didn't answer.
    var otherAddressTimer: (any Sendable & AnyObject)?
    /// Whether the look-up timeout has not passed and no failure was reported.
    var isBeforeTimeout = true
    var offered: Set<SocketEndpoint> = []
    var isOver = false
  }

  private let target: Target
  private let connection: TCPConnection
  private let discovery: any DiscoveryProvider
  private let isAllowed: @Sendable (SocketEndpoint) -> Bool
  private let onExhausted: @Sendable (SystemError) -> Void
  private let state = Mutex(State())

  /// How long a service or a host is resolved before a failure is reported.
  private static let lookUpTimeoutSeconds = 30.0
  /// How long to wait for other addresses of a service: answers over IPv4 and IPv6, and on
  /// several interfaces, don't come at once.
  private static let otherAddressSeconds = 1.0

  /// - Parameters:
  ///   - interface: The interface to search; nil for all.
  ///   - isAllowed: Whether an address may be connected to.
  ///   - onExhausted: Called when there is no address, or none answers. Addresses that become known
  ///     later are tried all the same.
  init(
    _ target: Target, on interface: InterfaceIndex? = nil, for connection: TCPConnection,
    _ discovery: any DiscoveryProvider,
    where isAllowed: @escaping @Sendable (SocketEndpoint) -> Bool = { _ in true },
    onExhausted: @escaping @Sendable (SystemError) -> Void
  ) {
    (self.target, self.connection, self.discovery) = (target, connection, discovery)
    (self.isAllowed, self.onExhausted) = (isAllowed, onExhausted)
    connection.observeProgress { [weak self] in self?.take($0) }
    let lookUpTimer = discovery.after(seconds: Self.lookUpTimeoutSeconds) { [weak self] in
      guard let self else { return }
      state.withLock { $0.isBeforeTimeout = false }
      notifyIfExhausted(SystemError(number: ETIMEDOUT))
    }
    hold(lookUpTimer, as: \.lookUpTimer)
    let lookUp = lookUp(on: interface)
    hold(lookUp, as: \.lookUp)
    // That progress may have been reported to the search before this one.
    if connection.isConnected || connection.isEnded { end() }
  }

  private func lookUp(on interface: InterfaceIndex?) -> (any Sendable & AnyObject)? {
    switch target {
    case .address(let endpoint):
      offer([endpoint])
      return nil
    case .service(let name, let known):
      if !known.isEmpty { offer(known) }
      return ServiceResolver(name, on: interface, discovery) { [weak self] result in
        switch result {
        case .success(let resolution) where resolution.addresses.isEmpty: break
        case .success(let resolution): self?.offer(resolution.endpoints)
        case .failure: self?.notify(SystemError(number: EADDRNOTAVAIL))
        }
      }
    case .host(let text, let port):
      guard let name = try? DNSName(text: text), name.isOnThisLink else {
        SystemLookup.endpoints(of: text, port: port) { [weak self] in self?.offer($0) }
        return nil
      }
      return HostResolver(name, on: interface, discovery) { [weak self] addresses in
        self?.offer(
          addresses.map {
            SocketEndpoint($0.address, port: port, scope: $0.interface?.rawValue ?? 0)
          })
      }
    }
  }

  private func offer(_ endpoints: [SocketEndpoint]) {
    guard !state.withLock({ $0.isOver }) else { return }
    let allowed = Array(endpoints.filter(isAllowed).prefix(HostResolver.addressesMax))
    let isNews = state.withLock { state in
      defer { state.offered = Set(allowed) }
      return !state.offered.isSuperset(of: allowed)
    }
    if isNews { hold(nil, as: \.otherAddressTimer) }
    connection.offer(allowed)
  }

  private func take(_ progress: TCPConnection.Progress) {
    switch progress {
    case .connected, .ended: end()
    case .exhausted(let error):
      switch target {
      case .address: notify(error)
      case .host(let text, _) where (try? DNSName(text: text))?.isOnThisLink != true: notify(error)
      case .host, .service: waitForOthers(thenReport: error)
      }
    }
  }

  private func end() {
    let old = state.withLock { state in
      defer { state = State(isOver: true) }
      return state
    }
    // Released outside the lock.
    withExtendedLifetime(old) {}
  }

  private func waitForOthers(thenReport error: SystemError) {
    let (isBeforeTimeout, isWaiting) = state.withLock {
      ($0.isBeforeTimeout, $0.otherAddressTimer != nil)
    }
    guard isBeforeTimeout else { return notify(error) }
    guard !isWaiting else { return }
    let timer = discovery.after(seconds: Self.otherAddressSeconds) { [weak self] in
      self?.hold(nil, as: \.otherAddressTimer)
      self?.notifyIfExhausted(error)
    }
    hold(timer, as: \.otherAddressTimer)
  }

  /// Another address may be being tried by now; its result will be reported.
  private func notifyIfExhausted(_ error: SystemError) {
    if connection.isExhausted { notify(error) }
  }

  private func notify(_ error: SystemError) {
    let isOver = state.withLock { state in
      state.isBeforeTimeout = false
      return state.isOver
    }
    guard !isOver else { return }
    hold(nil, as: \.lookUpTimer)
    onExhausted(error)
  }

  /// Keeps a resource until the search ends; the previous one is released outside the lock.
  private func hold(
    _ value: (any Sendable & AnyObject)?,
    as member: WritableKeyPath<State, (any Sendable & AnyObject)?>
  ) {
    let old = state.withLock { state -> (any Sendable & AnyObject)? in
      guard !state.isOver else { return nil }
      defer { state[keyPath: member] = value }
      return state[keyPath: member]
    }
    withExtendedLifetime(old) {}
  }
}
