import Essentials
import Glibc
import EventLoop
import PortSharing

/// Serves the programs that use a hub: accepts connections, and moves messages. On one event loop.
final class OwnerServer {
  typealias Connection = MessageConnection<ClientMessage>
  typealias ClientID = OwnerMachine.ConnectionID

  /// How much may wait for clients that do not take it.
  enum Limits {
    /// Bytes for one client: what all caches hold, several times over. A client with a longer
    /// backlog is stuck or hostile, and is dropped; if it recovers, it connects again and gets all
    /// results anew.
    static let backlogByteCountMax = 16 << 20
    /// Bytes for all clients; beyond, the client with the longest backlog is dropped.
    static let totalBacklogByteCountMax = 64 << 20
  }

  private let loop: EpollLoop
  private let onEvent: (OwnerMachine.Event) -> Void
  /// Called with the reason when a connection is refused here, or dropped.
  private let onRefusal: (OwnerMachine.Refusals.Reason) -> Void
  private let log: (@Sendable (String) -> Void)?
  /// How much the hub's rules allow a connected program; nil if nothing.
  private let admits: HubService.Admits
  private var listeners: [WatchedDescriptor] = []
  private var connections: [ClientID: Connection] = [:]
  /// The processes of the clients.
  private var processes: [ClientID: PeerProcessWatch] = [:]
  /// The numbers and names of these.
  private(set) var clientProcesses: [ClientID: ClientProcess] = [:]
  private var unflushed: Set<ClientID> = []
  /// Clients that get nothing more, and are dropped with the next ``flush()``.
  private var overfull: Set<ClientID> = []
  private var lastNumber: UInt64 = 0
  /// How many bytes all clients have not taken yet.
  private(set) var backlogByteCount = 0
  private var wasFullReported = false

  /// - Parameters:
  ///   - loop: The event loop of everything here.
  ///   - admits: How much the program at a connected socket may use, by the name of the listening socket; nil if
  ///     nothing.
  ///   - log: Called when there is no room for another client.
  ///   - onRefusal: Called with the reason when a connection is refused here, or dropped.
  ///   - onEvent: Called with connections, messages and ends.
  init(
    on loop: EpollLoop, admits: @escaping HubService.Admits,
    log: (@Sendable (String) -> Void)?,
    onRefusal: @escaping (OwnerMachine.Refusals.Reason) -> Void,
    onEvent: @escaping (OwnerMachine.Event) -> Void
  ) {
    self.loop = loop
    self.admits = admits
    self.log = log
    self.onRefusal = onRefusal
    self.onEvent = onEvent
  }

  /// Accepts connections to listening sockets, instead of earlier ones, and owns them from now on.
  func start(_ sockets: [BonjourSocket]) {
    for listener in listeners { listener.close() }
    listeners = []
    for socket in sockets {
      do throws(SystemError) {
        let descriptor = socket.descriptor
        let listener = try WatchedDescriptor(owning: descriptor, on: loop) { [weak self] _ in
          self?.accept(at: socket)
        }
        listeners.append(listener)
      } catch { log?("Programs cannot use the hub's Multicast DNS: \(error.text).") }
    }
  }

  /// Closes all connections; each client does without the hub.
  func stop() {
    for listener in listeners { listener.close() }
    listeners = []
    let all = connections
    connections = [:]
    for connection in all.values { connection.close() }
    for process in processes.values { process.close() }
    processes = [:]
    clientProcesses = [:]
  }

  // MARK: Accepting

  /// How long to wait where no descriptor is free.
  private static let pause = TimeSpan.seconds(1)

  private func accept(at socket: BonjourSocket) {
    guard let listener = listeners.first(where: { $0.descriptor == socket.descriptor }) else {
      return
    }
    switch OwnerSocketAddress.accept(listener.descriptor) {
    case .success(let (descriptor, userID)?): adopt(descriptor, userID: userID, at: socket.name)
    case .success(nil): break
    case .failure(let error) where error.number == EMFILE && DescriptorLimit.hasRoom():
      // There is now; readiness is reported again.
      break
    case .failure(let error):
      DescriptorShortage.report(error.number)
      // Readiness would be reported again and again.
      listener.interest = []
      loop.schedule(in: Self.pause) { listener.interest = .readable }
    }
  }

  private func adopt(_ descriptor: Int32, userID: UInt32, at socket: String?) {
    lastNumber += 1
    let id = ClientID(rawValue: lastNumber)
    let hasRoom = DescriptorLimit.hasRoom()
    // The rules may need a descriptor to read about the program.
    let admission = hasRoom ? admits(descriptor, socket) : BonjourAdmission()
    let connection = Connection(descriptor, on: loop) { [weak self] _, event in
      self?.handle(event, id)
    }
    guard let connection else { return }
    guard let admission else {
      onRefusal(.rejected(.otherUser))
      _ = connection.send(OwnerMessage.rejected(.otherUser))
      return connection.close()
    }
    guard hasRoom else {
      reportFull()
      onRefusal(.rejected(.tooManyClients))
      _ = connection.send(OwnerMessage.rejected(.tooManyClients))
      return connection.close()
    }
    connections[id] = connection
    clientProcesses[id] = ClientProcess(of: descriptor)
    processes[id] = PeerProcessWatch(of: descriptor, on: loop) { [weak self] in
      self?.processEnded(id)
    }
    connection.onBacklogChange = { [weak self] in self?.backlogChanged(by: $0) }
    onEvent(.connected(id, userID: userID, requestCountMax: admission.requestCountMax))
  }

  private func handle(_ event: Connection.Event, _ id: ClientID) {
    switch event {
    case .message(let message): onEvent(.received(message, from: id))
    case .incomplete(let byteCount): onEvent(.incomplete(id, byteCount: byteCount))
    case .invalidMessage: onEvent(.invalidMessage(id))
    case .closed:
      if remove(id) != nil { onEvent(.disconnected(id)) }
    }
  }

  private func remove(_ id: ClientID) -> Connection? {
    processes.removeValue(forKey: id)?.close()
    clientProcesses[id] = nil
    return connections.removeValue(forKey: id)
  }

  /// A program has ended, but perhaps a child of it has the connection, too. What it sent before counts.
  private func processEnded(_ id: ClientID) {
    connections[id]?.readNow()
    drop(id)
  }

  private func reportFull() {
    guard !wasFullReported else { return }
    wasFullReported = true
    log?(
      "\(connections.count) programs use the hub's Multicast DNS, and there is no room for more: the "
        + "limit of \(DescriptorLimit.hardLimit) open files is reached (ulimit -Hn). The others get an "
        + "error.")
  }

  /// Reads what clients have sent, before the loop reports it; also that of a client whose message
  /// was just reported.
  func readNow() {
    for id in connections.keys.sorted() { connections[id]?.readNow(withinMessages: true) }
  }

  // MARK: Sending

  /// Sends a message with the next ``flush()``.
  func send(_ message: OwnerMessage, to id: ClientID) {
    guard let connection = connections[id], !overfull.contains(id) else { return }
    // A report that is too long for a message is dropped; nothing that was received on the network
    // is.
    guard connection.send(message) else { return }
    unflushed.insert(id)
    // Much may be sent before the next flush, so the bounds are looked at now.
    guard hasTooMuch(connection) else { return }
    connection.flush()
    if hasTooMuch(connection) { overfull.insert(id) }
  }

  /// Whether more waits for a client than may; where too much waits for all of them, that is its
  /// equal share.
  private func hasTooMuch(_ connection: Connection) -> Bool {
    let isFull = backlogByteCount > Limits.totalBacklogByteCountMax
    return connection.backlogByteCount
      > (isFull
        ? Limits.totalBacklogByteCountMax / max(connections.count, 1) : Limits.backlogByteCountMax)
  }

  /// Closes the connection of a client, without a report.
  func close(_ id: ClientID) {
    remove(id)?.close()
  }

  /// Sends the messages given to `send`, one system call for each client.
  func flush() {
    guard !unflushed.isEmpty else { return }
    let ids = unflushed
    unflushed.removeAll(keepingCapacity: true)
    for id in ids {
      // It may have been closed since.
      guard let connection = connections[id] else { continue }
      connection.flush()
    }
    let dropped = overfull
    overfull = []
    for id in dropped.sorted() {
      onRefusal(.backlog)
      drop(id)
    }
    let excess = backlogByteCount - Limits.totalBacklogByteCountMax
    if excess > 0 {
      onEvent(.congested(connections.mapValues { $0.backlogByteCount }, excess: excess))
    }
  }

  /// How many bytes a client has not taken yet.
  func backlogByteCount(of id: ClientID) -> Int { connections[id]?.backlogByteCount ?? 0 }

  private func backlogChanged(by byteCount: Int) { backlogByteCount += byteCount }

  private func drop(_ id: ClientID) {
    guard let connection = remove(id) else { return }
    connection.close()
    onEvent(.disconnected(id))
  }
}
