internal import BonjourHost
internal import Connections
internal import DNSWire
internal import DiscoveryMachines
internal import RunLoopSupport
internal import EventLoop
internal import Synchronization

/// Listens on a TCP port, and registers a service there.
///
/// The handlers are called on the queue with which the listener was started. Cancelling or
/// releasing the listener closes the port; a cancelled listener can't be started again. Listening
/// for UDP is not supported: such a listener fails.
public final class NWListener: Sendable, CustomDebugStringConvertible {
  /// The state of a listener.
  public enum State: Hashable, Sendable {
    /// Not started yet.
    case setup
    /// Connections wait, because the system has no descriptor for them. The state is ``ready`` again when they are
    /// accepted.
    case waiting(NWError)
    /// Listening.
    case ready
    /// Failed; it cannot be started again.
    case failed(NWError)
    /// Cancelled.
    case cancelled
  }

  /// A change of the listener's registered service.
  public enum ServiceRegistrationChange: Hashable, Sendable {
    /// The service is registered under this name.
    case add(NWEndpoint)
    /// The service is no longer registered under this name.
    case remove(NWEndpoint)
  }

  /// The value of ``newConnectionLimit`` for no limit.
  public static let InfiniteConnectionLimit = Int.max

  /// The parameters of the listener.
  public let parameters: NWParameters

  private let discovery: any DiscoveryProvider
  private let guarded: Mutex<Guarded>

  private struct Guarded {
    var state = State.setup
    var requestedPort: NWEndpoint.Port
    var queue: DispatchQueue?
    var listener: TCPListener?
    var service: Service?
    var registered: RegisteredService?
    var lastNumber = 0
    var connectionLimit = InfiniteConnectionLimit
    /// The error while the system has no descriptor for connections.
    var shortage: NWError?
    /// Accepted connections that were not handed over yet.
    var waiting: ArraySlice<TCPConnection> = []
    var onState: (@Sendable (State) -> Void)?
    var onConnection: (@Sendable (NWConnection) -> Void)?
    var onRegistration: (@Sendable (ServiceRegistrationChange) -> Void)?

    /// Whether the port is open, and a service may be registered there.
    var isListening: Bool {
      switch state {
      case .ready, .waiting: true
      case .setup, .failed, .cancelled: false
      }
    }
  }

  /// The registration of a service, and the name that was reported.
  private struct RegisteredService {
    let number: Int
    var registration: (any DiscoveryRegistration)?
    var endpoint: NWEndpoint?
  }

  /// Creates a listener on a port, by default one that the system chooses. It is not started.
  public init(using parameters: NWParameters, on port: NWEndpoint.Port = .any) throws {
    self.parameters = parameters
    discovery = DiscoveryContext.discovery
    guarded = Mutex(Guarded(requestedPort: port))
  }

  /// Creates a listener for a service. It is not started.
  public convenience init(service: Service, using parameters: NWParameters) throws {
    try self.init(using: parameters)
    guarded.withLock { guarded in guarded.service = service }
  }

  // MARK: Properties

  /// Called when the state changes.
  @preconcurrency public var stateUpdateHandler: (@Sendable (State) -> Void)? {
    get { guarded.withLock { guarded in guarded.onState } }
    set { guarded.withLock { guarded in guarded.onState = newValue } }
  }

  /// Called with each accepted connection, which is not started. Required before the start.
  @preconcurrency public var newConnectionHandler: (@Sendable (NWConnection) -> Void)? {
    get { guarded.withLock { guarded in guarded.onConnection } }
    set { guarded.withLock { guarded in guarded.onConnection = newValue } }
  }

  /// Called when the service is registered under a name, and when it no longer is.
  @preconcurrency public var serviceRegistrationUpdateHandler:
    (@Sendable (ServiceRegistrationChange) -> Void)?
  {
    get { guarded.withLock { guarded in guarded.onRegistration } }
    set { guarded.withLock { guarded in guarded.onRegistration = newValue } }
  }

  /// The number of connections that can still be accepted; each one decrements it. At 0, up to 128
  /// more connections wait until it is raised.
  public var newConnectionLimit: Int {
    get { guarded.withLock { guarded in guarded.connectionLimit } }
    set {
      guarded.withLock { guarded in guarded.connectionLimit = newValue }
      handOver()
    }
  }

  /// The current state.
  public var state: State { guarded.withLock { guarded in guarded.state } }
  /// The queue on which the handlers are called; nil before the start.
  public var queue: DispatchQueue? { guarded.withLock { guarded in guarded.queue } }
  /// The port on which it listens; before the start the requested one, or nil for any.
  public var port: NWEndpoint.Port? {
    guarded.withLock { guarded in
      if let listener = guarded.listener { return .init(integerLiteral: listener.port) }
      return guarded.requestedPort == .any ? nil : guarded.requestedPort
    }
  }

  /// The service to register; nil for none. It can be changed while listening: a new TXT record
  /// updates the registration, any other change replaces it.
  public var service: Service? {
    get { guarded.withLock { guarded in guarded.service } }
    set { change(to: newValue) }
  }

  /// State and port, for logs.
  public var debugDescription: String { "\(state) on \(port?.debugDescription ?? "any port")" }

  // MARK: Listening

  /// Starts listening. Only the first call has an effect. Fails without a ``newConnectionHandler``.
  public func start(queue: DispatchQueue) {
    let isFirst = guarded.withLock { guarded in
      guard guarded.state == .setup, guarded.queue == nil else { return false }
      guarded.queue = queue
      return true
    }
    guard isFirst else { return }
    do throws(NWError) {
      let listener = try listen()
      guarded.withLock { guarded in
        guard guarded.state == .setup else { return }
        guarded.listener = listener
        change(to: .ready, &guarded)
        showShortage(&guarded)
      }
      // Connections that were accepted before it was ready.
      handOver()
      register()
    } catch {
      fail(error)
    }
  }

  private func listen() throws(NWError) -> TCPListener {
    let (hasHandler, port) = guarded.withLock { guarded in
      (guarded.onConnection != nil, guarded.requestedPort.rawValue)
    }
    guard hasHandler else { throw .posix(.EINVAL) }
    let settings = try parameters.sockets()
    let localPort = settings.localEndpoint?.port ?? 0
    do throws(SystemError) {
      return try TCPListener(
        port: port == 0 ? localPort : port, settings,
        onShortage: { [weak self] in self?.take($0.map { NWError($0) }) },
        onConnection: { [weak self] in self?.accepted($0) })
    } catch {
      throw NWError(error)
    }
  }

  private func accepted(_ connection: TCPConnection) {
    guarded.withLock { guarded in
      guard guarded.state == .setup || guarded.isListening,
        guarded.connectionLimit > 0 || guarded.waiting.count < TCPListener.waitingConnectionsMax
      else { return }
      guarded.waiting.append(connection)
    }
    handOver()
  }

  /// Hands over waiting connections, as many as the limit allows.
  private func handOver() {
    queue?.async { [weak self] in
      while let self, let (handler, connection) = nextWaiting() {
        handler(NWConnection(accepted: connection, using: parameters))
      }
    }
  }

  private func nextWaiting() -> (@Sendable (NWConnection) -> Void, TCPConnection)? {
    guarded.withLock { guarded in
      guard guarded.isListening, guarded.connectionLimit > 0,
        let handler = guarded.onConnection, let connection = guarded.waiting.takeFirst()
      else { return nil }
      if guarded.connectionLimit < Self.InfiniteConnectionLimit { guarded.connectionLimit -= 1 }
      return (handler, connection)
    }
  }

  /// Closes the port and unregisters the service.
  public func cancel() { end(.cancelled) }

  private func fail(_ error: NWError) { end(.failed(error)) }

  /// Changes the state and lets go of what ends with the listener, in one step: a start on another thread comes before
  /// or behind it.
  private func end(_ new: State) {
    let held = guarded.withLock { guarded in
      if let endpoint = guarded.registered?.endpoint { notify(.remove(endpoint), guarded) }
      change(to: new, &guarded)
      defer { (guarded.registered, guarded.listener, guarded.waiting) = (nil, nil, []) }
      return (guarded.registered, guarded.listener, guarded.waiting)
    }
    // Released outside the lock.
    withExtendedLifetime(held) {}
  }

  /// Takes the beginning of a shortage of descriptors, or nil for its end.
  private func take(_ shortage: NWError?) {
    guarded.withLock { guarded in
      guarded.shortage = shortage
      showShortage(&guarded)
    }
  }

  /// Brings the state in line with the shortage of descriptors, if there is one.
  private func showShortage(_ guarded: inout Guarded) {
    guard guarded.isListening else { return }
    let state = guarded.shortage.map { State.waiting($0) } ?? .ready
    if state != guarded.state { change(to: state, &guarded) }
  }

  /// Changes the state and has the handler called, unless the listener was cancelled or failed before.
  ///
  /// Called with the lock, so that the calls are queued in the order of the changes, also those of several threads.
  private func change(to new: State, _ guarded: inout Guarded) {
    switch guarded.state {
    case .cancelled: return
    case .failed where new != .cancelled: return
    case .failed, .setup, .ready, .waiting: guarded.state = new
    }
    guarded.queue?.async { [self] in
      stateUpdateHandler?(new)
      if new == .cancelled { releaseHandlers() }
    }
  }

  /// What the handlers hold is free again.
  private func releaseHandlers() {
    let old = guarded.withLock { guarded in
      defer { (guarded.onState, guarded.onConnection, guarded.onRegistration) = (nil, nil, nil) }
      return (guarded.onState, guarded.onConnection, guarded.onRegistration)
    }
    withExtendedLifetime(old) {}
  }

  // MARK: Publishing

  private func change(to new: Service?) {
    let (old, registered) = guarded.withLock { guarded -> (Service?, RegisteredService?) in
      defer { guarded.service = new }
      return (guarded.service, guarded.registered)
    }
    if let new, let old, new.isSame(as: old), let registration = registered?.registration {
      return update(registration, new)
    }
    register()
  }

  /// Updates the text, until it is the one that was set last: another thread may set one meanwhile.
  private func update(_ registration: any DiscoveryRegistration, _ service: Service) {
    var updated: Service? = service
    while let service = updated {
      do throws(DNSWireError) { try registration.update(service.text) } catch {
        return fail(.badParameter)
      }
      updated = guarded.withLock { guarded in
        guard guarded.registered?.registration === registration, let new = guarded.service,
          new.text != service.text
        else { return nil }
        return new
      }
    }
  }

  /// Publishes the service in place of an earlier one, if there is one and the listener listens.
  private func register() {
    let (old, work) = guarded.withLock {
      guarded -> (RegisteredService?, (Service, UInt16, Int)?) in
      let old = guarded.registered
      if let endpoint = old?.endpoint { notify(.remove(endpoint), guarded) }
      guarded.registered = nil
      guard guarded.isListening, let service = guarded.service, let listener = guarded.listener
      else { return (old, nil) }
      guarded.lastNumber += 1
      guarded.registered = RegisteredService(number: guarded.lastNumber)
      return (old, (service, listener.port, guarded.lastNumber))
    }
    // Released outside the lock.
    withExtendedLifetime(old) {}
    guard let (service, port, number) = work else { return }
    do throws(DNSWireError) {
      let description = try service.registration(port: port, on: parameters.requiredInterface)
      let registration = discovery.startRegistration(description) { [weak self] event in
        self?.take(event, of: number)
      }
      guarded.withLock { guarded in
        if guarded.registered?.number == number {
          guarded.registered?.registration = registration
        }
      }
    } catch {
      fail(.badParameter)
    }
  }

  private func take(_ event: RegistrationEvent, of number: Int) {
    switch event {
    case .refused, .failed:
      guard guarded.withLock({ guarded in guarded.registered?.number == number }) else { return }
      if case .refused = event { fail(.nameConflict) } else { fail(.noMemory) }
    case .registered(let name):
      guard let name = ServiceName(name) else { return }
      let endpoint = NWEndpoint(name, on: nil)
      guarded.withLock { guarded in
        guard guarded.registered?.number == number else { return }
        if let old = guarded.registered?.endpoint { notify(.remove(old), guarded) }
        guarded.registered?.endpoint = endpoint
        notify(.add(endpoint), guarded)
      }
    }
  }

  /// Called with the lock, so that the calls are queued in the order of the changes.
  private func notify(_ change: ServiceRegistrationChange, _ guarded: Guarded) {
    guarded.queue?.async { [weak self] in self?.serviceRegistrationUpdateHandler?(change) }
  }
}
