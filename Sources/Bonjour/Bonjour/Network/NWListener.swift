internal import BonjourHost
internal import Connections
internal import DNSWire
internal import DiscoveryMachines
internal import RunLoopSupport
internal import EventLoop

/// Listens on a TCP port, and publishes a service there.
///
/// The handlers are called on the queue with which the listener was started. It listens until it is
/// cancelled or let go of; a listener that was cancelled is not started again. Listening for UDP is
/// not supported: such a listener fails.
public final class NWListener: @unchecked Sendable, CustomDebugStringConvertible {
  // Unchecked: what changes is guarded by `lock`.

  /// How a listener is.
  public enum State: Hashable, Sendable {
    /// Not started yet.
    case setup
    /// It can't listen for now.
    case waiting(NWError)
    /// It listens.
    case ready
    /// It does not listen, and never will.
    case failed(NWError)
    /// It was cancelled.
    case cancelled
  }

  /// What became of the listener's service.
  public enum ServiceRegistrationChange: Hashable, Sendable {
    /// It is published, under this name.
    case add(NWEndpoint)
    /// It is published under that name no more.
    case remove(NWEndpoint)
  }

  /// Any number of connections.
  public static let InfiniteConnectionLimit = Int.max

  /// How it listens.
  public let parameters: NWParameters

  private let discovery: any Discovery
  private let lock = NSLock()
  private var guarded: Guarded

  private struct Guarded {
    var state = State.setup
    var requestedPort: NWEndpoint.Port
    var queue: DispatchQueue?
    var listener: TCPListener?
    var service: Service?
    var publication: PublishedService?
    var connectionLimit = InfiniteConnectionLimit
    /// Who connected and was not handed over yet.
    var waiting: ArraySlice<TCPConnection> = []
    var onState: (@Sendable (State) -> Void)?
    var onConnection: (@Sendable (NWConnection) -> Void)?
    var onRegistration: (@Sendable (ServiceRegistrationChange) -> Void)?
  }

  /// A service's publication, and the name under which it was told.
  private struct PublishedService {
    let number: Int
    var announcement: (any Announcement)?
    var endpoint: NWEndpoint?
  }

  private var lastNumber = 0

  /// A listener that does not listen yet, on that port or one that the system chooses.
  public init(using parameters: NWParameters, on port: NWEndpoint.Port = .any) throws {
    self.parameters = parameters
    discovery = DiscoveryContext.discovery
    guarded = Guarded(requestedPort: port)
  }

  /// A listener that does not listen yet, for that service.
  public convenience init(service: Service, using parameters: NWParameters) throws {
    try self.init(using: parameters)
    guarded.service = service
  }

  // MARK: Properties

  /// Called when the state changes.
  @preconcurrency public var stateUpdateHandler: (@Sendable (State) -> Void)? {
    get { lock.withLock { guarded.onState } }
    set { lock.withLock { guarded.onState = newValue } }
  }

  /// Called with who connects, to be started; without it there is no listening.
  @preconcurrency public var newConnectionHandler: (@Sendable (NWConnection) -> Void)? {
    get { lock.withLock { guarded.onConnection } }
    set { lock.withLock { guarded.onConnection = newValue } }
  }

  /// Called when the service is published under a name, or no more.
  @preconcurrency public var serviceRegistrationUpdateHandler:
    (@Sendable (ServiceRegistrationChange) -> Void)?
  {
    get { lock.withLock { guarded.onRegistration } }
    set { lock.withLock { guarded.onRegistration = newValue } }
  }

  /// How many may still connect; each who does counts down. At 0 the next ones, up to 128, wait until
  /// it is raised.
  public var newConnectionLimit: Int {
    get { lock.withLock { guarded.connectionLimit } }
    set {
      lock.withLock { guarded.connectionLimit = newValue }
      handOver()
    }
  }

  /// How it is.
  public var state: State { lock.withLock { guarded.state } }
  /// Where its handlers are called; nil before it is started.
  public var queue: DispatchQueue? { lock.withLock { guarded.queue } }
  /// The port: while it listens the one on which, before that the one that was asked for; nil for
  /// any.
  public var port: NWEndpoint.Port? {
    lock.withLock {
      if let listener = guarded.listener { return .init(integerLiteral: listener.port) }
      return guarded.requestedPort == .any ? nil : guarded.requestedPort
    }
  }

  /// What is published; nil for nothing. It may be changed while the listener listens: another text
  /// is told of the service that there is, anything else makes it another one.
  public var service: Service? {
    get { lock.withLock { guarded.service } }
    set { change(to: newValue) }
  }

  /// State and port, for people.
  public var debugDescription: String { "\(state) on \(port?.debugDescription ?? "any port")" }

  // MARK: Listening

  /// Begins to listen; only once. Without a ``newConnectionHandler`` it fails.
  public func start(queue: DispatchQueue) {
    let isFirst = lock.withLock {
      guard guarded.state == .setup, guarded.queue == nil else { return false }
      guarded.queue = queue
      return true
    }
    guard isFirst else { return }
    do throws(NWError) {
      let listener = try listen()
      lock.withLock { if guarded.state == .setup { guarded.listener = listener } }
      change(to: .ready)
      // Who connected before it was ready.
      handOver()
      publish()
    } catch {
      fail(error)
    }
  }

  private func listen() throws(NWError) -> TCPListener {
    let (hasHandler, port) = lock.withLock {
      (guarded.onConnection != nil, guarded.requestedPort.rawValue)
    }
    guard hasHandler else { throw .posix(.EINVAL) }
    let settings = try parameters.sockets()
    let localPort = settings.localEndpoint?.port ?? 0
    do throws(SystemError) {
      return try TCPListener(port: port == 0 ? localPort : port, settings) { [weak self] in
        self?.accepted($0)
      }
    } catch {
      throw NWError(error)
    }
  }

  private func accepted(_ connection: TCPConnection) {
    lock.withLock {
      guard guarded.state == .setup || guarded.state == .ready,
        guarded.connectionLimit > 0 || guarded.waiting.count < Self.waitingCountMax
      else { return }
      guarded.waiting.append(connection)
    }
    handOver()
  }

  /// Has those who wait handed over, as many as may connect.
  private func handOver() {
    queue?.async { [weak self] in
      while let self, let (handler, connection) = nextWaiting() {
        handler(NWConnection(accepted: connection, using: parameters))
      }
    }
  }

  private func nextWaiting() -> (@Sendable (NWConnection) -> Void, TCPConnection)? {
    lock.withLock {
      guard guarded.state == .ready, guarded.connectionLimit > 0,
        let handler = guarded.onConnection, let connection = guarded.waiting.takeFirst()
      else { return nil }
      if guarded.connectionLimit < Self.InfiniteConnectionLimit { guarded.connectionLimit -= 1 }
      return (handler, connection)
    }
  }

  /// Who waits while nobody may connect; more would only hold descriptors.
  private static let waitingCountMax = 128

  /// Listens no more, and withdraws the service.
  public func cancel() {
    let held = takeDown()
    if let endpoint = held.publication?.endpoint { tell(.remove(endpoint)) }
    change(to: .cancelled)
    withExtendedLifetime(held) {}
  }

  private func fail(_ error: NWError) {
    let held = takeDown()
    change(to: .failed(error))
    withExtendedLifetime(held) {}
  }

  /// Takes away what ends with it, to be let go of outside the lock.
  private func takeDown() -> (
    publication: PublishedService?, listener: TCPListener?, waiting: ArraySlice<TCPConnection>
  ) {
    lock.withLock {
      defer { (guarded.publication, guarded.listener, guarded.waiting) = (nil, nil, []) }
      return (guarded.publication, guarded.listener, guarded.waiting)
    }
  }

  /// Takes another state, unless it was cancelled or failed before, and has that told.
  private func change(to new: State) {
    let queue = lock.withLock { () -> DispatchQueue? in
      switch guarded.state {
      case .cancelled: return nil
      case .failed where new != .cancelled: return nil
      case .failed, .setup, .ready, .waiting:
        guarded.state = new
        return guarded.queue
      }
    }
    queue?.async { [self] in
      stateUpdateHandler?(new)
      guard new == .cancelled else { return }
      // What the handlers hold is free again.
      let old = lock.withLock {
        defer { (guarded.onState, guarded.onConnection, guarded.onRegistration) = (nil, nil, nil) }
        return (guarded.onState, guarded.onConnection, guarded.onRegistration)
      }
      withExtendedLifetime(old) {}
    }
  }

  // MARK: Publishing

  private func change(to new: Service?) {
    let (old, publication) = lock.withLock { () -> (Service?, PublishedService?) in
      defer { guarded.service = new }
      return (guarded.service, guarded.publication)
    }
    if let new, let old, new.isSame(as: old), let announcement = publication?.announcement {
      do throws(DNSWireError) { try announcement.update(new.text) } catch { fail(.badParameter) }
      return
    }
    let withdrawn = lock.withLock {
      defer { guarded.publication = nil }
      return guarded.publication
    }
    if let endpoint = withdrawn?.endpoint { tell(.remove(endpoint)) }
    publish()
  }

  /// Publishes the service, if there is one and the listener listens.
  private func publish() {
    let work = lock.withLock { () -> (Service, UInt16, Int)? in
      guard guarded.state == .ready, let service = guarded.service, let listener = guarded.listener
      else { return nil }
      lastNumber += 1
      guarded.publication = PublishedService(number: lastNumber)
      return (service, listener.port, lastNumber)
    }
    guard let (service, port, number) = work else { return }
    do throws(DNSWireError) {
      let registration = try service.registration(port: port, on: parameters.requiredInterface)
      let announcement = discovery.announce(registration) { [weak self] event in
        self?.take(event, of: number)
      }
      lock.withLock {
        if guarded.publication?.number == number {
          guarded.publication?.announcement = announcement
        }
      }
    } catch {
      fail(.badParameter)
    }
  }

  private func take(_ event: PublicationEvent, of number: Int) {
    switch event {
    case .refused:
      if lock.withLock({ guarded.publication?.number == number }) { fail(.nameConflict) }
    case .published(let name):
      guard let name = ServiceName(name) else { return }
      let endpoint = NWEndpoint(name, on: nil)
      let old = lock.withLock { () -> NWEndpoint?? in
        guard guarded.publication?.number == number else { return nil }
        defer { guarded.publication?.endpoint = endpoint }
        return .some(guarded.publication?.endpoint)
      }
      guard let old else { return }
      if let old { tell(.remove(old)) }
      tell(.add(endpoint))
    }
  }

  private func tell(_ change: ServiceRegistrationChange) {
    lock.withLock { guarded.queue }?.async { [weak self] in
      self?.serviceRegistrationUpdateHandler?(change)
    }
  }
}
