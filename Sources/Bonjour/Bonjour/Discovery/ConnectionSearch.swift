internal import BonjourHost
internal import Connections
internal import DNSWire
internal import DiscoveryMachines
internal import Essentials
internal import EventLoop
internal import Synchronization

/// Looks for where to connect to, and has a connection tried there, and at each address that becomes
/// known later, until it is made or has ended. It looks no more if it is let go of.
final class ConnectionSearch: Sendable {
  /// What is looked for.
  enum Goal: Sendable {
    /// It may be at addresses that were found out before.
    case service(ServiceName, known: [SocketEndpoint] = [])
    /// One in `local.` is looked up by Multicast DNS, any other as the system does.
    case host(String, port: UInt16)
    case address(SocketEndpoint)
  }

  private struct State {
    var lookUp: (any Sendable & AnyObject)?
    /// Ends waiting for an address that answers.
    var patience: (any Sendable & AnyObject)?
    /// Ends waiting for another address after those that are known didn't answer.
    var others: (any Sendable & AnyObject)?
    /// Whether nothing was told yet, and there is still time.
    var isPatient = true
    var offered: Set<SocketEndpoint> = []
    var isOver = false
  }

  private let goal: Goal
  private let connection: TCPConnection
  private let discovery: any Discovery
  private let isAllowed: @Sendable (SocketEndpoint) -> Bool
  private let onStuck: @Sendable (SystemError) -> Void
  private let state = Mutex(State())

  /// For how long a service or a host is looked for before that is told.
  private static let patienceSeconds = 30.0
  /// For how long other addresses of a service are waited for: answers over IPv4 and IPv6, and on
  /// several interfaces, don't come at once.
  private static let otherAddressSeconds = 1.0

  /// - Parameters:
  ///   - interface: Where to look; nil for everywhere.
  ///   - isAllowed: Whether an address may be connected to.
  ///   - onStuck: Told when there is no address, or none that answers. Those that become known later
  ///     are tried all the same.
  init(
    _ goal: Goal, on interface: InterfaceIndex? = nil, for connection: TCPConnection,
    _ discovery: any Discovery,
    where isAllowed: @escaping @Sendable (SocketEndpoint) -> Bool = { _ in true },
    onStuck: @escaping @Sendable (SystemError) -> Void
  ) {
    (self.goal, self.connection, self.discovery) = (goal, connection, discovery)
    (self.isAllowed, self.onStuck) = (isAllowed, onStuck)
    connection.observeProgress { [weak self] in self?.take($0) }
    let patience = discovery.after(seconds: Self.patienceSeconds) { [weak self] in
      guard let self else { return }
      state.withLock { $0.isPatient = false }
      tellIfStuck(SystemError(number: ETIMEDOUT))
    }
    hold(patience, as: \.patience)
    let lookUp = lookUp(on: interface)
    hold(lookUp, as: \.lookUp)
    // Another search may have been told that.
    if connection.isConnected || connection.isEnded { end() }
  }

  private func lookUp(on interface: InterfaceIndex?) -> (any Sendable & AnyObject)? {
    switch goal {
    case .address(let endpoint):
      offer([endpoint])
      return nil
    case .service(let name, let known):
      if !known.isEmpty { offer(known) }
      return ServiceResolver(name, on: interface, discovery) { [weak self] result in
        switch result {
        case .success(let place) where place.addresses.isEmpty: break
        case .success(let place): self?.offer(place.endpoints)
        case .failure: self?.tell(SystemError(number: EADDRNOTAVAIL))
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
    if isNews { hold(nil, as: \.others) }
    connection.offer(allowed)
  }

  private func take(_ progress: TCPConnection.Progress) {
    switch progress {
    case .connected, .ended: end()
    case .stuck(let error):
      switch goal {
      case .address: tell(error)
      case .host(let text, _) where (try? DNSName(text: text))?.isOnThisLink != true: tell(error)
      case .host, .service: waitForOthers(thenTell: error)
      }
    }
  }

  private func end() {
    let old = state.withLock { state in
      defer { state = State(isOver: true) }
      return state
    }
    // Let go of outside the lock.
    withExtendedLifetime(old) {}
  }

  private func waitForOthers(thenTell error: SystemError) {
    let (isPatient, isWaiting) = state.withLock { ($0.isPatient, $0.others != nil) }
    guard isPatient else { return tell(error) }
    guard !isWaiting else { return }
    let timer = discovery.after(seconds: Self.otherAddressSeconds) { [weak self] in
      self?.hold(nil, as: \.others)
      self?.tellIfStuck(error)
    }
    hold(timer, as: \.others)
  }

  /// Another address may be being tried by now; what comes of that will be told.
  private func tellIfStuck(_ error: SystemError) { if connection.isStuck { tell(error) } }

  private func tell(_ error: SystemError) {
    let isOver = state.withLock { state in
      state.isPatient = false
      return state.isOver
    }
    guard !isOver else { return }
    hold(nil, as: \.patience)
    onStuck(error)
  }

  /// Keeps something until it is over; what was kept before is let go of outside the lock.
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
