import Essentials
import Glibc
import HostEssentials
import NIOCore
import NIOPosix
import SharingMachines

/// Serves the clients of a place: accepts them, and moves their messages. On one event loop.
final class OwnerServer {
  typealias Connection = MessageConnection<ClientMessage>
  typealias ClientID = OwnerMachine.ClientID

  /// How much may wait for clients that do not take it.
  enum Limits {
    /// Bytes for one client: what all caches hold, several times over. A client that lets more wait
    /// is stuck or hostile, and is dropped; if it recovers it comes back and is told everything anew.
    static let backlogByteCountMax = 16 << 20
    /// Bytes for all of them; then somebody has to go.
    static let totalBacklogByteCountMax = 64 << 20
    /// What is read at once; swift-nio keeps as much for each client, and would let it grow.
    static let readByteCount = 2_048
  }

  private let eventLoop: any EventLoop
  private let onEvent: (OwnerMachine.Event) -> Void
  private let log: (@Sendable (String) -> Void)?
  private var listener: (any Channel)?
  private var connections: [ClientID: Connection] = [:]
  private var unflushed: Set<ClientID> = []
  private var lastNumber: UInt64 = 0
  private var backlogByteCount = 0
  private var wasFullReported = false
  private var isStopped = false

  /// - Parameters:
  ///   - eventLoop: Where everything happens.
  ///   - log: Told when there is no room for another client.
  ///   - onEvent: Told who comes, what they say and who leaves.
  init(
    on eventLoop: any EventLoop, log: (@Sendable (String) -> Void)?,
    onEvent: @escaping (OwnerMachine.Event) -> Void
  ) {
    self.eventLoop = eventLoop
    self.log = log
    self.onEvent = onEvent
  }

  /// Accepts whoever connects to a descriptor that listens, and owns it from now on.
  func start(_ descriptor: Int32) {
    let bound = NIOLoopBound(self, eventLoop: eventLoop)
    ServerBootstrap(group: eventLoop)
      .serverChannelInitializer { $0.prepareToAccept() }
      .childChannelOption(
        .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Limits.readByteCount)
      )
      .childChannelInitializer { channel in bound.value.adopt(channel) }
      .withBoundSocket(descriptor)
      .assumeIsolated()
      .whenComplete { [weak self] result in self?.started(result, descriptor) }
  }

  private func started(_ result: Result<any Channel, any Error>, _ descriptor: Int32) {
    switch result {
    case .success(let channel) where isStopped: channel.close(promise: nil)
    case .success(let channel):
      // NIO has lowered it.
      _ = listen(descriptor, SharingPlace.backlog)
      listener = channel
    case .failure(let error): log?("Other programs cannot share this one's Bonjour: \(error).")
    }
  }

  /// Lets go of everybody; each may look for another owner.
  func stop() {
    isStopped = true
    listener?.close(promise: nil)
    listener = nil
    let all = connections
    connections = [:]
    for connection in all.values { connection.close() }
  }

  // MARK: Coming

  private func adopt(_ channel: any Channel) -> EventLoopFuture<Void> {
    guard let options = channel as? any SocketOptionProvider else {
      return channel.eventLoop.makeFailedFuture(SystemError(number: ENOTSOCK))
    }
    let bound = NIOLoopBound(self, eventLoop: eventLoop)
    // Not memory-safe, says NIO, if the type is not the one that the kernel gives for the option.
    let credentials: EventLoopFuture<SharingPlace.Credentials> = options.unsafeGetSocketOption(
      level: .socket, name: .init(rawValue: SO_PEERCRED))
    return credentials.flatMapThrowing { credentials in
      channel.closeOnExec()
      try channel.pipeline.syncOperations.addHandler(
        bound.value.handler(userID: credentials.userID))
    }
  }

  private func handler(userID: UInt32) -> any ChannelHandler {
    lastNumber += 1
    let id = ClientID(rawValue: lastNumber)
    return Connection.handler { [weak self] connection, event in
      self?.handle(event, id, connection, userID: userID)
    }
  }

  private func handle(
    _ event: Connection.Event, _ id: ClientID, _ connection: Connection, userID: UInt32
  ) {
    switch event {
    case .opened: opened(id, connection, userID: userID)
    case .message(let message): onEvent(.received(message, from: id))
    case .began(let byteCount): onEvent(.began(id, byteCount: byteCount))
    case .misunderstood: onEvent(.misunderstood(id))
    case .closed:
      if connections.removeValue(forKey: id) != nil { onEvent(.left(id)) }
    }
  }

  private func opened(_ id: ClientID, _ connection: Connection, userID: UInt32) {
    guard !isStopped else { return connection.close() }
    guard DescriptorLimit.hasRoom() else {
      reportFull()
      _ = connection.send(OwnerMessage.turnedAway(.tooManyClients))
      return connection.close()
    }
    connections[id] = connection
    connection.onBacklogChange = { [weak self] in self?.backlogChanged(by: $0) }
    onEvent(.arrived(id, userID: userID))
  }

  private func reportFull() {
    guard !wasFullReported else { return }
    wasFullReported = true
    log?(
      "This program shares its Bonjour with \(connections.count) others and has no room for more: "
        + "the limit of \(DescriptorLimit.hardLimit) open files is reached (ulimit -Hn). The others "
        + "work by themselves.")
  }

  // MARK: Sending

  /// Sends a message with the next ``flush()``.
  func send(_ message: OwnerMessage, to id: ClientID) {
    guard let connection = connections[id] else { return }
    // What is too long to be told about is not told; nothing that was heard on the network is.
    if connection.send(message) { unflushed.insert(id) }
  }

  /// Closes a client's connection, about which nothing more is said.
  func close(_ id: ClientID) {
    connections.removeValue(forKey: id)?.close()
  }

  /// Sends what was given to `send`, all at once.
  func flush() {
    guard !unflushed.isEmpty else { return }
    let ids = unflushed
    unflushed.removeAll(keepingCapacity: true)
    for id in ids { connections[id]?.flush() }
    for id in ids
    where connections[id].map({ $0.backlogByteCount }) ?? 0 > Limits.backlogByteCountMax {
      drop(id)
    }
    let excess = backlogByteCount - Limits.totalBacklogByteCountMax
    if excess > 0 {
      onEvent(.congested(connections.mapValues { $0.backlogByteCount }, excess: excess))
    }
  }

  private func backlogChanged(by byteCount: Int) { backlogByteCount += byteCount }

  private func drop(_ id: ClientID) {
    guard let connection = connections.removeValue(forKey: id) else { return }
    connection.close()
    onEvent(.left(id))
  }
}
