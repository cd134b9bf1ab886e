internal import ConnectionHost
internal import DNSWire
internal import DiscoveryMachines
internal import FaceEssentials
internal import HostEssentials

/// A TCP connection to a host or a service, or one that a listener accepted.
///
/// A service is resolved when the connection is started; where it turned out to be is in
/// ``currentPath``. The handlers are called on the queue with which the connection was started.
/// UDP and TLS are not supported: such a connection fails.
public final class NWConnection: @unchecked Sendable, CustomDebugStringConvertible {
  // Unchecked: what changes is guarded by `lock`.

  /// How a connection is.
  public enum State: Hashable, Sendable {
    /// Not started yet.
    case setup
    /// It can't be made for now.
    case waiting(NWError)
    /// It is being made.
    case preparing
    /// Bytes can flow.
    case ready
    /// It is broken, or was not made.
    case failed(NWError)
    /// It was cancelled.
    case cancelled
  }

  /// How it is known that bytes were sent.
  public enum SendCompletion {
    /// By a call when the system has taken them, or will not.
    case contentProcessed(@Sendable (NWError?) -> Void)
    /// Not at all.
    case idempotent
  }

  /// To what it leads.
  public let endpoint: NWEndpoint
  /// How it is made.
  public let parameters: NWParameters

  private let discovery: any Discovery
  private let connection: TCPConnection
  /// Everything that is sent and received, one after the other.
  private let work = DispatchQueue(label: "ambit.connection.work")
  private let lock = NSLock()
  private var guarded = Guarded()

  private struct Guarded {
    var state = State.setup
    var queue: DispatchQueue?
    /// What is under way to a connection, or to its end.
    var underWay: (any Sendable & AnyObject)?
    var onState: (@Sendable (State) -> Void)?
    /// Itself, when it is cancelled and still has something to send.
    var cancelling: NWConnection?
    var sends: ArraySlice<Send> = []
    var receives: ArraySlice<Receive> = []
  }

  /// Bytes that are being sent.
  private final class Send: @unchecked Sendable {
    // Unchecked: what changes is used on `work` only.
    var rest: ArraySlice<UInt8>
    let endsOutput: Bool
    let onDone: (@Sendable (NWError?) -> Void)?

    init(_ content: Data, endsOutput: Bool, onDone: (@Sendable (NWError?) -> Void)?) {
      rest = Array(content)[...]
      self.endsOutput = endsOutput
      self.onDone = onDone
    }
  }

  /// Bytes that are being received.
  private final class Receive: @unchecked Sendable {
    typealias Completion = @Sendable (Data?, ContentContext?, Bool, NWError?) -> Void

    // Unchecked: what changes is used on `work` only.
    var bytes: [UInt8] = []
    let minimum: Int
    let maximum: Int
    let onDone: Completion

    init(minimum: Int, maximum: Int, onDone: @escaping Completion) {
      self.maximum = max(1, maximum)
      self.minimum = min(max(1, minimum), self.maximum)
      self.onDone = onDone
    }
  }

  /// A connection that is yet to be started.
  public init(to endpoint: NWEndpoint, using parameters: NWParameters) {
    self.endpoint = endpoint
    self.parameters = parameters
    connection = TCPConnection()
    discovery = DiscoveryContext.discovery
  }

  /// A connection that is yet to be started.
  public convenience init(
    host: NWEndpoint.Host, port: NWEndpoint.Port, using parameters: NWParameters
  ) {
    self.init(to: .hostPort(host: host, port: port), using: parameters)
  }

  init(accepted connection: TCPConnection, using parameters: NWParameters) {
    endpoint = connection.remoteEndpoint.map { NWEndpoint($0) } ?? .opaque("closed")
    self.parameters = parameters
    self.connection = connection
    discovery = DiscoveryContext.discovery
  }

  deinit { connection.close() }

  // MARK: Properties

  /// Called when the state changes.
  @preconcurrency public var stateUpdateHandler: (@Sendable (State) -> Void)? {
    get { lock.withLock { guarded.onState } }
    set { lock.withLock { guarded.onState = newValue } }
  }

  /// How it is.
  public var state: State { lock.withLock { guarded.state } }
  /// Where its handlers are called; nil before it is started.
  public var queue: DispatchQueue? { lock.withLock { guarded.queue } }

  /// The ends of the connection, by address and port; nil while there is none.
  public var currentPath: NWPath? {
    guard let remote = connection.remoteEndpoint else { return nil }
    return NWPath(
      status: .satisfied, localEndpoint: connection.localEndpoint.map { NWEndpoint($0) },
      remoteEndpoint: NWEndpoint(remote))
  }

  /// Endpoint and state, for people.
  public var debugDescription: String { "\(endpoint) \(state)" }

  // MARK: Starting and ending

  /// Begins to connect; only once.
  public func start(queue: DispatchQueue) {
    let isFirst = lock.withLock {
      guard guarded.state == .setup, guarded.queue == nil else { return false }
      guarded.queue = queue
      return true
    }
    guard isFirst else { return }
    change(to: .preparing)
    connection.observeInput { [weak self] in self?.proceed() }
    connection.observeOutput { [weak self] in self?.proceed() }
    guard parameters.transport == .tcp else { return finish(.posix(.EPROTONOSUPPORT)) }
    if connection.isConnected {
      proceed()
    } else {
      connect()
    }
  }

  private func connect() {
    switch endpoint {
    case .hostPort(.name(let name, let interface), let port):
      let search = ConnectionSearch(
        host: name, port: port.rawValue, on: InterfaceIndex(interface), for: connection, discovery)
      lock.withLock { guarded.underWay = search }
    case .hostPort:
      connection.connect(to: [SocketEndpoint(endpoint)].compactMap { $0 })
    case .service(_, _, _, let interface):
      guard let name = endpoint.serviceName else { return finish(.badParameter) }
      let search = ConnectionSearch(
        name, on: InterfaceIndex(interface ?? parameters.requiredInterface), for: connection,
        discovery)
      lock.withLock { guarded.underWay = search }
    case .unix, .url, .opaque: finish(.posix(.EAFNOSUPPORT))
    }
  }

  /// Ends the connection when what was given to `send` is sent, or could not be for half a minute; at
  /// once if there is none, or none that was started. Nothing is received any more.
  public func cancel() {
    lock.withLock { if !guarded.state.isOver { guarded.cancelling = self } }
    work.async { [self] in
      proceedNow()
      guard queue != nil, connection.isConnected, !connection.isEnded else { return finish(nil) }
      let limit = discovery.after(seconds: Self.cancellingSecondsMax) { [weak self] in
        self?.forceCancel()
      }
      lock.withLock { guarded.underWay = limit }
    }
  }

  /// Ends the connection at once.
  public func forceCancel() {
    // Between two steps, so that nothing is being sent or received.
    work.async { [self] in finish(nil) }
  }

  /// For how long a peer that reads nothing may hold a connection that was cancelled.
  private static let cancellingSecondsMax = 30.0

  /// Ends it: for a reason, or because it was cancelled.
  private func finish(_ error: NWError?) {
    let isCancelled = error == nil || lock.withLock { guarded.cancelling != nil }
    change(to: isCancelled ? .cancelled : .failed(error ?? .posix(.ECANCELED)))
    connection.close()
    let (sends, receives, underWay) = lock.withLock {
      defer {
        (guarded.sends, guarded.receives, guarded.underWay) = ([], [], nil)
        guarded.cancelling = nil
      }
      return (guarded.sends, guarded.receives, guarded.underWay)
    }
    let reason = error ?? .posix(.ECANCELED)
    queue?.async {
      for send in sends { send.onDone?(reason) }
      for receive in receives { receive.onDone(nil, nil, true, reason) }
    }
    withExtendedLifetime(underWay) {}
  }

  /// Takes another state, unless it ended before, and has that told.
  private func change(to new: State) {
    let queue = lock.withLock { () -> DispatchQueue? in
      switch guarded.state {
      case .cancelled: return nil
      case .failed where new != .cancelled: return nil
      case let state where state == new: return nil
      case .failed, .setup, .preparing, .ready, .waiting:
        guarded.state = new
        return guarded.queue
      }
    }
    queue?.async { [self] in
      stateUpdateHandler?(new)
      guard new == .cancelled else { return }
      // What the handler holds is free again.
      let old = lock.withLock {
        defer { guarded.onState = nil }
        return guarded.onState
      }
      withExtendedLifetime(old) {}
    }
  }

  // MARK: Bytes

  /// Sends bytes.
  ///
  /// - Parameters:
  ///   - content: The bytes; nil to send nothing.
  ///   - contentContext: ``ContentContext/finalMessage`` says that nothing more will be sent.
  ///   - isComplete: Has a meaning for messages only, which TCP doesn't have, and for the final one.
  ///   - completion: How it is known that they are sent.
  @preconcurrency
  public func send(
    content: Data?, contentContext: ContentContext = .defaultMessage, isComplete: Bool = true,
    completion: SendCompletion
  ) {
    let onDone: (@Sendable (NWError?) -> Void)? =
      if case .contentProcessed(let call) = completion { call } else { nil }
    let send = Send(
      content ?? Data(), endsOutput: contentContext.isFinal && isComplete, onDone: onDone)
    let isOver = lock.withLock {
      guard !guarded.state.isOver else { return true }
      guarded.sends.append(send)
      return false
    }
    if isOver {
      queue?.async { onDone?(.posix(.ENOTCONN)) }
    } else {
      proceed()
    }
  }

  /// Receives bytes: so many at least and at most, or fewer at the end.
  ///
  /// - Parameters:
  ///   - minimumIncompleteLength: How many bytes to wait for.
  ///   - maximumLength: How many bytes to take at most.
  ///   - completion: Called with the bytes, whether these were the last, and why there are no more if
  ///     that was not in good order.
  @preconcurrency
  public func receive(
    minimumIncompleteLength: Int, maximumLength: Int,
    completion:
      @escaping @Sendable (
        _ content: Data?, _ contentContext: ContentContext?, _ isComplete: Bool, _ error: NWError?
      ) -> Void
  ) {
    let receive = Receive(
      minimum: minimumIncompleteLength, maximum: maximumLength, onDone: completion)
    let isOver = lock.withLock {
      guard !guarded.state.isOver else { return true }
      guarded.receives.append(receive)
      return false
    }
    if isOver {
      queue?.async { completion(nil, nil, true, .posix(.ENOTCONN)) }
    } else {
      proceed()
    }
  }

  /// Goes on with what can be gone on with.
  private func proceed() {
    work.async { [weak self] in self?.proceedNow() }
  }

  private func proceedNow() {
    guard !state.isOver else { return }
    if connection.isEnded { return finish(connection.error.map { NWError($0) }) }
    guard connection.isConnected, queue != nil else { return }
    change(to: .ready)
    while let send = lock.withLock({ guarded.sends.takeFirst() }) {
      guard proceed(with: send) else { break }
    }
    while let receive = nextReceive() {
      guard proceed(with: receive) else { break }
    }
    let isDone = lock.withLock { guarded.cancelling != nil && guarded.sends.isEmpty }
    if connection.isEnded || isDone { finish(connection.error.map { NWError($0) }) }
  }

  /// What wants to be received; nothing any more if the connection was cancelled.
  private func nextReceive() -> Receive? {
    lock.withLock { guarded.cancelling == nil ? guarded.receives.takeFirst() : nil }
  }

  /// True if the bytes are sent.
  private func proceed(with send: Send) -> Bool {
    while !send.rest.isEmpty {
      let count = send.rest.withUnsafeBytes { connection.send($0) }
      guard count > 0 else {
        lock.withLock { guarded.sends = [send] + guarded.sends }
        return false
      }
      send.rest = send.rest.dropFirst(count)
    }
    if send.endsOutput { connection.closeOutput() }
    if let onDone = send.onDone { queue?.async { onDone(nil) } }
    return true
  }

  /// True if enough bytes were received, or all that there are.
  private func proceed(with receive: Receive) -> Bool {
    // What is enough and not little is handed over, however much more comes.
    while receive.bytes.count < min(receive.maximum, max(receive.minimum, Self.readByteCount)) {
      let bytes = connection.receive(min(receive.maximum - receive.bytes.count, Self.readByteCount))
      if bytes.isEmpty { break }
      receive.bytes += bytes
    }
    let isEnd = connection.isInputEnded
    guard isEnd || receive.bytes.count >= receive.minimum else {
      lock.withLock { guarded.receives = [receive] + guarded.receives }
      return false
    }
    let content = receive.bytes.isEmpty ? nil : Data(receive.bytes)
    let error = connection.error.map { NWError($0) }
    queue?.async { [onDone = receive.onDone] in
      onDone(content, .defaultMessage, isEnd, error)
    }
    return true
  }

  private static let readByteCount = 65_536
}

extension NWConnection.State {
  /// Whether nothing more comes of the connection.
  fileprivate var isOver: Bool {
    switch self {
    case .failed, .cancelled: true
    case .setup, .waiting, .preparing, .ready: false
    }
  }
}

extension NWConnection {
  /// What is known of bytes beside them: whether they are the last.
  public final class ContentContext: Sendable {
    /// For people.
    public let identifier: String
    /// Whether nothing more will be sent.
    public let isFinal: Bool

    private init(identifier: String, isFinal: Bool) {
      self.identifier = identifier
      self.isFinal = isFinal
    }

    /// Bytes among others.
    public static let defaultMessage = ContentContext(identifier: "Default", isFinal: false)
    /// The last bytes: the other end reads to the end.
    public static let finalMessage = ContentContext(identifier: "Final", isFinal: true)
    /// Bytes of a stream.
    public static let defaultStream = ContentContext(identifier: "Stream", isFinal: true)
  }
}
