internal import Connections
internal import DNSWire
internal import DiscoveryMachines
internal import RunLoopSupport
internal import EventLoop

/// A TCP connection to a host or a service, or one that a listener accepted.
///
/// A service is resolved when the connection is started; where it turned out to be is in
/// ``currentPath``. The handlers are called on the queue with which the connection was started.
///
/// A connection that can't be made waits, and is tried again whenever the network changed or an
/// address of the service becomes known. UDP is not supported: such a connection fails.
public final class NWConnection: @unchecked Sendable, CustomDebugStringConvertible {
  // Unchecked: what changes is guarded by `lock`.

  /// How a connection is.
  public enum State: Hashable, Sendable {
    /// Not started yet.
    case setup
    /// It can't be made for now. It is tried again when the network changed, and by
    /// ``NWConnection/restart()``.
    case waiting(NWError)
    /// It is being made.
    case preparing
    /// Bytes can flow.
    case ready
    /// It is broken, or is one that can't be made here.
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
  /// Everything that is sent and received, one after the other.
  private let work = DispatchQueue(label: "ambit.connection.work")
  private let lock = NSLock()
  private var guarded = Guarded()

  private struct Guarded {
    var state = State.setup
    var queue: DispatchQueue?
    /// Nil before it is started, unless it was accepted.
    var connection: TCPConnection?
    /// What is under way to a connection, or to its end.
    var underWay: (any Sendable & AnyObject)?
    /// What follows the network.
    var networkWatch: (any Sendable & AnyObject)?
    var way: ConnectionWay?
    /// Whether the network changed while it was being made.
    var isTriedOnOldNetwork = false
    var handlers = Handlers()
    /// Itself, when it is cancelled and still has something to send.
    var cancelling: NWConnection?
    var sends: ArraySlice<Send> = []
    var receives: ArraySlice<Receive> = []
  }

  private struct Handlers {
    var onState: (@Sendable (State) -> Void)?
    var onPath: (@Sendable (NWPath) -> Void)?
    var onViability: (@Sendable (Bool) -> Void)?
    var onBetterPath: (@Sendable (Bool) -> Void)?
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
    /// Whether all up to the end is wanted, and nothing if that is too much.
    let isMessage: Bool
    let onDone: Completion

    init(minimum: Int, maximum: Int, onDone: @escaping Completion) {
      self.maximum = max(1, maximum)
      self.minimum = min(max(1, minimum), self.maximum)
      isMessage = false
      self.onDone = onDone
    }

    init(messageByteCountMax: Int, onDone: @escaping Completion) {
      // One more, by which it is known that it is too long.
      (minimum, maximum) = (messageByteCountMax + 1, messageByteCountMax + 1)
      isMessage = true
      self.onDone = onDone
    }
  }

  /// A connection that is yet to be started.
  public init(to endpoint: NWEndpoint, using parameters: NWParameters) {
    self.endpoint = endpoint
    self.parameters = parameters
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
    discovery = DiscoveryContext.discovery
    guarded.connection = connection
  }

  deinit { guarded.connection?.close() }

  // MARK: Properties

  /// Called when the state changes.
  @preconcurrency public var stateUpdateHandler: (@Sendable (State) -> Void)? {
    get { lock.withLock { guarded.handlers.onState } }
    set { lock.withLock { guarded.handlers.onState = newValue } }
  }

  /// Called with the way that the connection takes: when it is made, and when that changed.
  @preconcurrency public var pathUpdateHandler: (@Sendable (NWPath) -> Void)? {
    get { lock.withLock { guarded.handlers.onPath } }
    set { lock.withLock { guarded.handlers.onPath = newValue } }
  }

  /// Called with whether bytes can get through: when it is made, and when that changed. They can't
  /// while this side's address is on no interface that works, or no route leads to the other side.
  @preconcurrency public var viabilityUpdateHandler: (@Sendable (Bool) -> Void)? {
    get { lock.withLock { guarded.handlers.onViability } }
    set { lock.withLock { guarded.handlers.onViability = newValue } }
  }

  /// Called when that changed: whether a connection that is made now would take another interface.
  @preconcurrency public var betterPathUpdateHandler: (@Sendable (Bool) -> Void)? {
    get { lock.withLock { guarded.handlers.onBetterPath } }
    set { lock.withLock { guarded.handlers.onBetterPath = newValue } }
  }

  /// How it is.
  public var state: State { lock.withLock { guarded.state } }
  /// Where its handlers are called; nil before it is started.
  public var queue: DispatchQueue? { lock.withLock { guarded.queue } }

  /// The way that the connection takes; nil while there is no connection.
  public var currentPath: NWPath? { lock.withLock { guarded.way?.path } }

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
    do throws(NWError) {
      let connection = try makeConnection()
      connection.observeInput { [weak self] in self?.proceed() }
      connection.observeOutput { [weak self] in self?.proceed() }
      let watch = discovery.observeNetwork { [weak self] in self?.networkChanged() }
      lock.withLock { if !guarded.state.isOver { guarded.networkWatch = watch } }
      if connection.isConnected { proceed() } else { try search(for: connection) }
    } catch {
      finish(error)
    }
  }

  /// The one that was accepted, or one that is yet to be made.
  private func makeConnection() throws(NWError) -> TCPConnection {
    if let connection { return connection }
    let connection = TCPConnection(try parameters.sockets())
    let isOver = lock.withLock {
      guarded.connection = connection
      return guarded.state.isOver
    }
    // It was cancelled meanwhile, when there was nothing to close.
    if isOver { connection.close() }
    return connection
  }

  private var connection: TCPConnection? { lock.withLock { guarded.connection } }

  /// Looks for where to connect to, and connects there.
  private func search(for connection: TCPConnection) throws(NWError) {
    let goal = try goal()
    let interface = endpoint.interface ?? parameters.requiredInterface
    let prohibited = Set(parameters.prohibitedIndices.map(\.rawValue))
    let search = ConnectionSearch(
      goal, on: InterfaceIndex(interface), for: connection, discovery,
      where: { [discovery, only = parameters.requiredInterface?.name] endpoint in
        guard !prohibited.isEmpty else { return true }
        let path = discovery.path(to: endpoint, on: only)
        let index = path.source.flatMap { path.interface(of: $0)?.index }
        return index.map { !prohibited.contains($0) } ?? true
      },
      onStuck: { [weak self] in self?.wait(NWError($0)) })
    let old = lock.withLock { () -> (any Sendable & AnyObject)? in
      // Who is cancelling it may have put the limit of that there.
      guard !guarded.state.isOver, guarded.cancelling == nil else { return nil }
      defer { guarded.underWay = search }
      return guarded.underWay
    }
    // Let go of outside the lock.
    withExtendedLifetime(old) {}
  }

  private func goal() throws(NWError) -> ConnectionSearch.Goal {
    switch endpoint {
    case .hostPort(.name(let name, _), let port): return .host(name, port: port.rawValue)
    case .hostPort:
      guard let endpoint = SocketEndpoint(endpoint) else { throw .badParameter }
      return .address(endpoint)
    case .service:
      guard let name = endpoint.serviceName else { throw .badParameter }
      return .service(name)
    case .unix, .url, .opaque: throw .posix(.EAFNOSUPPORT)
    }
  }

  /// It can't be made for now.
  private func wait(_ error: NWError) {
    work.async { [weak self] in
      guard let self, state.isBeginning, connection?.isConnected == false else { return }
      change(to: .waiting(error))
      if lock.withLock({ guarded.isTriedOnOldNetwork }) { tryAgain() }
    }
  }

  /// Tries again to make a connection that waits; does nothing for any other.
  public func restart() {
    work.async { [weak self] in self?.tryAgain() }
  }

  private func tryAgain() {
    guard case .waiting = state, let connection else { return }
    lock.withLock { guarded.isTriedOnOldNetwork = false }
    change(to: .preparing)
    connection.forgetAttempts()
    do throws(NWError) { try search(for: connection) } catch { finish(error) }
  }

  private func networkChanged() {
    work.async { [weak self] in
      guard let self else { return }
      switch state {
      case .waiting: tryAgain()
      case .preparing: lock.withLock { guarded.isTriedOnOldNetwork = true }
      case .ready:
        let old = updateWay()
        tellWay(otherThan: old)
      case .setup, .failed, .cancelled: break
      }
    }
  }

  /// Finds out which way the connection takes, and returns what was known before.
  private func updateWay() -> ConnectionWay? {
    let (connection, old) = lock.withLock { (guarded.connection, guarded.way) }
    guard let local = connection?.localEndpoint, let remote = connection?.remoteEndpoint else {
      return old
    }
    let network = discovery.path(to: remote, on: parameters.requiredInterface?.name)
    let new = ConnectionWay(network, from: local, to: remote)
    lock.withLock { guarded.way = new }
    return old
  }

  private func tellWay(otherThan old: ConnectionWay?) {
    let (way, handlers, queue) = lock.withLock { (guarded.way, guarded.handlers, guarded.queue) }
    guard let new = way else { return }
    queue?.async {
      if new.path != old?.path { handlers.onPath?(new.path) }
      if new.isViable != old?.isViable { handlers.onViability?(new.isViable) }
      if new.hasBetter != old?.hasBetter ?? false { handlers.onBetterPath?(new.hasBetter) }
    }
  }

  /// Ends the connection when what was given to `send` is sent, or could not be for half a minute; at
  /// once if there is none, or none that was started. Nothing is received any more.
  public func cancel() {
    lock.withLock { if !guarded.state.isOver { guarded.cancelling = self } }
    work.async { [self] in
      proceedNow()
      guard queue != nil, let connection, connection.isConnected, !connection.isEnded else {
        return finish(nil)
      }
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
    let reason = error ?? .posix(.ECANCELED)
    let end = isCancelled ? State.cancelled : .failed(reason)
    let isNew = enter(end)
    connection?.close()
    let (sends, receives) = letGo()
    if isNew { tell(end) }
    queue?.async {
      for send in sends { send.onDone?(reason) }
      for receive in receives { receive.onDone(nil, nil, true, reason) }
    }
  }

  /// Lets go of what it holds, and returns what ends with it.
  private func letGo() -> (sends: ArraySlice<Send>, receives: ArraySlice<Receive>) {
    let (sends, receives, held) = lock.withLock {
      defer {
        (guarded.sends, guarded.receives, guarded.underWay) = ([], [], nil)
        (guarded.networkWatch, guarded.way, guarded.cancelling) = (nil, nil, nil)
      }
      return (guarded.sends, guarded.receives, (guarded.underWay, guarded.networkWatch))
    }
    // Outside the lock.
    withExtendedLifetime(held) {}
    return (sends, receives)
  }

  /// Takes another state, unless it ended before, and has that told.
  private func change(to new: State) { if enter(new) { tell(new) } }

  /// Takes another state; false if it has it already, or ended before.
  private func enter(_ new: State) -> Bool {
    lock.withLock {
      switch guarded.state {
      case .cancelled: return false
      case .failed where new != .cancelled: return false
      case let state where state == new: return false
      case .failed, .setup, .preparing, .ready, .waiting:
        guarded.state = new
        return true
      }
    }
  }

  private func tell(_ new: State) {
    queue?.async { [self] in
      stateUpdateHandler?(new)
      guard new == .cancelled else { return }
      // What the handlers hold is free again.
      let old = lock.withLock {
        defer { guarded.handlers = Handlers() }
        return guarded.handlers
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
    enqueue(
      Receive(minimum: minimumIncompleteLength, maximum: maximumLength, onDone: completion))
  }

  /// Receives a message, which over TCP is everything up to the end: it comes when the other side
  /// sends no more. One of more than 16 MiB is an error, `EMSGSIZE`.
  ///
  /// - Parameter completion: Called with the bytes.
  @preconcurrency
  public func receiveMessage(
    completion:
      @escaping @Sendable (
        _ completeContent: Data?, _ contentContext: ContentContext?, _ isComplete: Bool,
        _ error: NWError?
      ) -> Void
  ) {
    enqueue(Receive(messageByteCountMax: Self.messageByteCountMax, onDone: completion))
  }

  private static let messageByteCountMax = 16 << 20

  private func enqueue(_ receive: Receive) {
    let isOver = lock.withLock {
      guard !guarded.state.isOver else { return true }
      guarded.receives.append(receive)
      return false
    }
    if isOver {
      queue?.async { receive.onDone(nil, nil, true, .posix(.ENOTCONN)) }
    } else {
      proceed()
    }
  }

  /// Goes on with what can be gone on with.
  private func proceed() {
    work.async { [weak self] in self?.proceedNow() }
  }

  private func proceedNow() {
    guard !state.isOver, let connection else { return }
    if connection.isEnded { return finish(connection.error.map { NWError($0) }) }
    guard connection.isConnected, queue != nil else { return }
    if state != .ready {
      // Known to who is told that it is ready.
      let old = updateWay()
      change(to: .ready)
      tellWay(otherThan: old)
    }
    while let send = lock.withLock({ guarded.sends.takeFirst() }) {
      guard proceed(with: send, connection) else { break }
    }
    while let receive = nextReceive() {
      guard proceed(with: receive, connection) else { break }
    }
    let isDone = lock.withLock { guarded.cancelling != nil && guarded.sends.isEmpty }
    if connection.isEnded || isDone { finish(connection.error.map { NWError($0) }) }
  }

  /// What wants to be received; nothing any more if the connection was cancelled.
  private func nextReceive() -> Receive? {
    lock.withLock { guarded.cancelling == nil ? guarded.receives.takeFirst() : nil }
  }

  /// True if the bytes are sent.
  private func proceed(with send: Send, _ connection: TCPConnection) -> Bool {
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
  private func proceed(with receive: Receive, _ connection: TCPConnection) -> Bool {
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
    let isTooLong = receive.isMessage && receive.bytes.count == receive.maximum
    let content = receive.bytes.isEmpty || isTooLong ? nil : Data(receive.bytes)
    let error = isTooLong ? .posix(.EMSGSIZE) : connection.error.map { NWError($0) }
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

  /// Whether it is on its way to be ready.
  fileprivate var isBeginning: Bool {
    switch self {
    case .preparing, .waiting: true
    case .setup, .ready, .failed, .cancelled: false
    }
  }
}
