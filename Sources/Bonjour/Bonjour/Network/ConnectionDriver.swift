internal import ConnectionMachines
internal import Connections
internal import DNSWire
internal import DiscoveryMachines
internal import Essentials
internal import EventLoop
internal import RunLoopSupport
internal import Synchronization

/// Runs the machine of one `NWConnection` over a TCP connection.
///
/// Events are processed at once, on any thread; their actions are performed one after the other on
/// a serial queue of the connection, and handlers are called on the application's queue.
final class ConnectionDriver: Sendable {
  typealias Machine = ConnectionMachine<NWPath>
  typealias ReceiveCompletion =
    @Sendable (Data?, NWConnection.ContentContext?, Bool, NWError?) -> Void

  struct Handlers: Sendable {
    var onState: (@Sendable (NWConnection.State) -> Void)?
    var onPath: (@Sendable (NWPath) -> Void)?
    var onViability: (@Sendable (Bool) -> Void)?
    var onBetterPath: (@Sendable (Bool) -> Void)?
  }

  private struct State: Sendable {
    var machine = Machine()
    /// Actions that are not performed yet.
    var actions: ArraySlice<Machine.Action> = []
    var queue: DispatchQueue?
    var handlers = Handlers()
    var lastID: Machine.OperationID = 0
    var sends: [Machine.OperationID: @Sendable (NWError?) -> Void] = [:]
    var receives: [Machine.OperationID: ReceiveCompletion] = [:]
    /// Nil before the start, unless the connection was accepted.
    var connection: TCPConnection?
    /// Whether the machine knows that it is connected.
    var isConnectedReported = false
    var resources = Resources()
    /// Nil for a connection that ends with the process.
    var holder: SocketHolder?
    /// What the system gets when the application requests more: it handles what has woken it.
    var unhandledWakes: [@Sendable () -> Void] = []
    /// The driver itself, while it sends for a connection that was cancelled and released.
    var lingering: ConnectionDriver?
  }

  /// What ends with the connection. Released outside the lock.
  private struct Resources: Sendable {
    var search: (any Sendable & AnyObject)?
    var networkWatch: (any Sendable & AnyObject)?
    var timer: (any Sendable & AnyObject)?
    var timerSetFor: Instant?
    var wakeTimer: (any Sendable & AnyObject)?
  }

  private let endpoint: NWEndpoint
  private let parameters: NWParameters
  private let discovery: any DiscoveryProvider
  private let state: Mutex<State>
  private let work = DispatchQueue(label: "ambit.connection.work")

  init(to endpoint: NWEndpoint, using parameters: NWParameters, accepted: TCPConnection?) {
    self.endpoint = endpoint
    self.parameters = parameters
    discovery = DiscoveryContext.discovery
    state = Mutex(State(connection: accepted))
  }

  // MARK: For NWConnection

  var connectionState: NWConnection.State {
    NWConnection.State(state.withLock { $0.machine.state })
  }
  var queue: DispatchQueue? { state.withLock { $0.queue } }
  var path: NWPath? { state.withLock { $0.machine.path?.path } }
  var handlers: Handlers { state.withLock { $0.handlers } }
  var holding: NWConnection.Holding { state.withLock { $0.holder }?.holding ?? .notRequested }

  func setHandler<Value: Sendable>(_ member: WritableKeyPath<Handlers, Value>, _ value: Value) {
    state.withLock { $0.handlers[keyPath: member] = value }
  }

  func start(queue: DispatchQueue) {
    let isFirst = state.withLock { state in
      guard state.machine.state == .setup, state.queue == nil else { return false }
      state.queue = queue
      return true
    }
    guard isFirst else { return }
    process(.start)
    // Synchronously, so that the application's next call finds the connection searching.
    work.sync { perform() }
  }

  func send(_ bytes: [UInt8], isFinal: Bool, _ onDone: (@Sendable (NWError?) -> Void)?) {
    handle { state in
      state.lastID += 1
      state.sends[state.lastID] = onDone
      return .send(state.lastID, bytes, isFinal: isFinal)
    }
  }

  func receive(
    _ onDone: @escaping ReceiveCompletion,
    _ makeEvent: (Machine.OperationID) -> Machine.Event
  ) {
    handle { state in
      state.lastID += 1
      state.receives[state.lastID] = onDone
      return makeEvent(state.lastID)
    }
    if state.withLock({ !$0.unhandledWakes.isEmpty }) { work.async { self.resumeWakes() } }
  }

  /// Closes the connection without notifying anything, unless it is sending the rest after
  /// `cancel`.
  func release() {
    let connection = state.withLock { $0.lingering == nil ? $0.connection : nil }
    guard let connection else { return }
    connection.close()
    endHolding()
  }

  /// Processes an event, and has its actions performed.
  func handle(_ event: Machine.Event) { handle { _ in event } }

  private func handle(_ makeEvent: (inout State) -> Machine.Event) {
    process(makeEvent)
    work.async { self.perform() }
  }

  private func process(_ event: Machine.Event) { process { _ in event } }

  private func process(_ makeEvent: (inout State) -> Machine.Event) {
    let old = state.withLock { state in
      let event = makeEvent(&state)
      var actions: [Machine.Action] = []
      state.machine.handle(event, now: discovery.now, into: &actions)
      return finish(actions, &state)
    }
    withExtendedLifetime(old) {}
  }

  private func finish(
    _ actions: [Machine.Action], _ state: inout State
  ) -> ConnectionDriver? {
    state.actions += actions
    defer { state.lingering = state.machine.isLingering ? self : nil }
    return state.lingering
  }

  // MARK: Performing, on the serial queue

  private func perform() {
    while let action = state.withLock({ $0.actions.takeFirst() }) { perform(action) }
    setTimer()
  }

  private func perform(_ action: Machine.Action) {
    switch action {
    case .open: open()
    case .search: search()
    case .evaluatePath: process(.path(pathReport()))
    case .write(let bytes):
      transfer { connection in .wrote(bytes.withUnsafeBytes { connection.send($0) }) }
    case .closeOutput: connection?.closeOutput()
    case .read(let byteCountMax):
      transfer { connection in
        let bytes = connection.receive(byteCountMax)
        return .received(
          bytes, isEnd: connection.isInputEnded,
          error: connection.error.map { ConnectionError($0) })
      }
    case .close: close()
    case .stateChanged(let new): notify(NWConnection.State(new))
    case .pathChanged(let path): notify(path) { $0.onPath }
    case .viabilityChanged(let isViable): notify(isViable) { $0.onViability }
    case .betterPathChanged(let hasBetter): notify(hasBetter) { $0.onBetterPath }
    case .completeSend(let id, let error):
      guard let onDone = state.withLock({ $0.sends.removeValue(forKey: id) }) else { return }
      queue?.async { onDone(error.map { NWError($0) }) }
    case .completeReceive(let id, let content, let isComplete, let error):
      guard let onDone = state.withLock({ $0.receives.removeValue(forKey: id) }) else { return }
      let context =
        content == nil && error != nil ? nil : NWConnection.ContentContext.defaultMessage
      queue?.async {
        onDone(content.map { Data($0) }, context, isComplete, error.map { NWError($0) })
      }
    }
  }

  private var connection: TCPConnection? { state.withLock { $0.connection } }

  private func open() {
    do throws(NWError) {
      let connection =
        if let connection { connection } else { TCPConnection(try parameters.sockets()) }
      state.withLock { $0.connection = connection }
      connection.observeInput { [weak self] in self?.socketChanged(.readable) }
      connection.observeOutput { [weak self] in self?.socketChanged(.writable) }
      let watch = discovery.observeNetwork { [weak self] in self?.handle(.networkChanged) }
      keep(watch, as: \.networkWatch)
      restore(connection)
      if connection.isConnected || connection.isEnded {
        report(connection, .readable)
      } else {
        search()
      }
    } catch {
      process(.rejected(ConnectionError(error)))
    }
  }

  /// Called on a thread of the system.
  private func socketChanged(_ event: Machine.Event) {
    work.async { [weak self] in
      guard let self, let connection else { return }
      report(connection, event)
      perform()
    }
  }

  /// Has the machine process the state of the socket, and an event of it.
  private func report(_ connection: TCPConnection, _ event: Machine.Event) {
    if connection.isEnded { return processEnd(of: connection) }
    guard connection.isConnected else { return }
    let isNew = state.withLock { state in
      defer { state.isConnectedReported = true }
      return !state.isConnectedReported
    }
    if isNew {
      // Before the application learns of the connection, and may leave the foreground.
      state.withLock { $0.holder }?.hold(connection)
      process(.connected(pathReport()))
    }
    process(event)
  }

  private func transfer(_ body: (TCPConnection) -> Machine.Event) {
    guard let connection else { return }
    process(body(connection))
    if connection.isEnded { processEnd(of: connection) }
  }

  /// What came before the end is read first, where the app waits for it.
  private func processEnd(of connection: TCPConnection) {
    if connection.hasBytes, state.withLock({ !$0.receives.isEmpty }) {
      return process(.readable)
    }
    process(.ended(connection.error.map { ConnectionError($0) }))
  }

  private func pathReport() -> Machine.PathReport? {
    guard let connection, let local = connection.localEndpoint,
      let remote = connection.remoteEndpoint
    else { return nil }
    let network = discovery.path(to: remote, on: parameters.requiredInterface?.name)
    let path = ConnectionPath(network, from: local, to: remote)
    return .init(path.path, isViable: path.isViable, hasBetterPath: path.hasBetter)
  }

  /// Resolves the endpoint and connects to its addresses, one after the other.
  private func search() {
    guard let connection else { return }
    connection.forgetAttempts()
    do throws(NWError) {
      let interface = endpoint.interface ?? parameters.requiredInterface
      let prohibited = Set(parameters.prohibitedIndices.map(\.rawValue))
      let search = ConnectionSearch(
        try ConnectionSearch.Target(endpoint), on: InterfaceIndex(interface), for: connection,
        discovery,
        where: { [discovery, only = parameters.requiredInterface?.name] endpoint in
          guard !prohibited.isEmpty else { return true }
          let path = discovery.path(to: endpoint, on: only)
          let index = path.source.flatMap { path.interface(of: $0)?.index }
          return index.map { !prohibited.contains($0) } ?? true
        },
        onExhausted: { [weak self] in self?.handle(.exhausted(ConnectionError($0))) })
      keep(search, as: \.search)
    } catch {
      process(.rejected(ConnectionError(error)))
    }
  }

  private func setTimer() {
    let (due, old) = state.withLock { ($0.machine.nextWake, $0.resources.timerSetFor) }
    guard due != old else { return }
    let timer = due.map { due in
      discovery.after(seconds: (due - discovery.now).seconds) { [weak self] in self?.wake(due) }
    }
    state.withLock { $0.resources.timerSetFor = due }
    keep(timer, as: \.timer)
  }

  private func wake(_ due: Instant) {
    let old = state.withLock { state in
      var actions: [Machine.Action] = []
      state.machine.wake(now: max(due, discovery.now), into: &actions)
      return finish(actions, &state)
    }
    work.async { self.perform() }
    withExtendedLifetime(old) {}
  }

  private func close() {
    connection?.close()
    endHolding()
    let old = state.withLock { state in
      defer { state.resources = Resources() }
      return state.resources
    }
    withExtendedLifetime(old) {}
  }

  /// Keeps a resource until the connection is closed; the one before is released outside the lock.
  private func keep(
    _ value: (any Sendable & AnyObject)?,
    as member: WritableKeyPath<Resources, (any Sendable & AnyObject)?>
  ) {
    let old = state.withLock { state in
      defer { state.resources[keyPath: member] = value }
      return state.resources[keyPath: member]
    }
    withExtendedLifetime(old) {}
  }

  // MARK: Held by the system

  /// Takes the connection of an earlier process over, if the system holds one by this name.
  private func restore(_ connection: TCPConnection) {
    guard let identifier = parameters.restoreIdentifier, !connection.isConnected else { return }
    let queue = queue
    let holder = SocketHolder(identifier, isPlain: parameters.restoresConnection) {
      [weak self] done in
      if let self {
        work.async { self.handleWake(done) }
      } else if let queue {
        queue.async { done() }
      } else {
        done()
      }
    }
    state.withLock { $0.holder = holder }
    holder.restore(connection)
  }

  /// Lets the app be suspended when it has learned of a state, behind what it sends then.
  private func endConnecting(_ new: NWConnection.State) {
    switch new {
    case .setup, .preparing: return
    case .waiting, .ready, .failed, .cancelled: break
    }
    guard let holder = state.withLock({ $0.holder }) else { return }
    work.async { holder.endConnecting() }
  }

  /// Ends the holding behind what the application is just doing on its queue, and behind the handlers of actions that
  /// follow: nothing else may keep the system from suspending it.
  private func endHolding() {
    let (holder, wakes) = state.withLock { state in
      defer { state.unhandledWakes = [] }
      return (state.holder, state.unhandledWakes)
    }
    guard let holder else { return }
    let end: @Sendable () -> Void = {
      holder.close()
      for done in wakes { done() }
    }
    guard let queue else { return end() }
    queue.async { [work] in work.async { queue.async(execute: end) } }
  }

  /// Something came while the app was suspended: calls `done` when the application has got all that it has requested,
  /// and has requested more. Without that it would be suspended before.
  private func handleWake(_ done: @escaping @Sendable () -> Void) {
    if let connection { report(connection, .readable) }
    perform()
    guard let queue else { return done() }
    // Behind the completions, which may request more.
    queue.async { self.work.async { self.finishWake(done) } }
  }

  private func finishWake(_ done: @escaping @Sendable () -> Void) {
    guard let connection, !connection.isEnded else { return done() }
    let isOver = connection.isInputEnded
    let isWaiting = state.withLock { state in
      if state.receives.isEmpty, !isOver { state.unhandledWakes.append(done) }
      return !state.receives.isEmpty
    }
    if isWaiting, connection.hasBytes { return handleWake(done) }
    guard !isWaiting, !isOver else { return done() }
    // A task of the application has the content, as it seems, or it reads nothing.
    let timer = discovery.after(seconds: Self.handlingSeconds) { [weak self] in
      for done in self?.takeWakes() ?? [] { done() }
    }
    keep(timer, as: \.wakeTimer)
  }

  /// The application has requested more.
  private func resumeWakes() { for done in takeWakes() { handleWake(done) } }

  private func takeWakes() -> [@Sendable () -> Void] {
    state.withLock { state in
      defer { state.unhandledWakes = [] }
      return state.unhandledWakes
    }
  }

  /// Half of the time that an app has for an event.
  private static let handlingSeconds = 5.0

  // MARK: Handlers

  /// Looks up the handler when its turn on the queue has come, not before.
  private func notify<Value: Sendable>(
    _ value: Value,
    _ handler: @escaping @Sendable (Handlers) -> (@Sendable (Value) -> Void)?
  ) {
    queue?.async { handler(self.handlers)?(value) }
  }

  private func notify(_ new: NWConnection.State) {
    queue?.async { [self] in
      handlers.onState?(new)
      endConnecting(new)
      guard new == .cancelled else { return }
      // Handlers often hold the connection: they are released.
      let old = state.withLock { state in
        defer { state.handlers = Handlers() }
        return state.handlers
      }
      withExtendedLifetime(old) {}
    }
  }
}

extension ConnectionSearch.Target {
  fileprivate init(_ endpoint: NWEndpoint) throws(NWError) {
    switch endpoint {
    case .hostPort(.name(let name, _), let port): self = .host(name, port: port.rawValue)
    case .hostPort:
      guard let endpoint = SocketEndpoint(endpoint) else { throw .badParameter }
      self = .address(endpoint)
    case .service:
      guard let name = endpoint.serviceName else { throw .badParameter }
      self = .service(name)
    case .unix, .url, .opaque: throw .posix(.EAFNOSUPPORT)
    }
  }
}

extension NWConnection.State {
  fileprivate init(_ state: ConnectionDriver.Machine.State) {
    self =
      switch state {
      case .setup: .setup
      case .waiting(let error): .waiting(NWError(error))
      case .preparing: .preparing
      case .ready: .ready
      case .failed(let error): .failed(NWError(error))
      case .cancelled: .cancelled
      }
  }
}

extension ConnectionError {
  fileprivate init(_ error: SystemError) { self = .posix(error.number) }

  fileprivate init(_ error: NWError) {
    self =
      switch error {
      case .posix(let code): .posix(code.rawValue)
      case .dns(let code): .dns(code)
      case .tls(let status): .tls(status)
      }
  }
}

extension NWError {
  fileprivate init(_ error: ConnectionError) {
    self =
      switch error {
      case .posix(let number): NWError(SystemError(number: number))
      case .dns(let code): .dns(code)
      case .tls(let status): .tls(status)
      }
  }
}
