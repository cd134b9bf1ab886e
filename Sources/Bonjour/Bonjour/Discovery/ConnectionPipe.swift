internal import Connections
internal import RunLoopSupport
internal import EventLoop
internal import Synchronization

/// A TCP connection behind a pair of streams.
final class ConnectionPipe: BytePipe {
  typealias Opening = @Sendable (TCPConnection) -> (any Sendable & AnyObject)?

  private let connection: TCPConnection
  /// Opens the connection when a stream is opened; used once.
  private let opening: Mutex<Opening?>
  /// Keeps the search for an address alive.
  private let held = Mutex<(any Sendable & AnyObject)?>(nil)
  /// The name by which the system may hold the connection; nil if it can't be held.
  private let identifier: String?
  private let holding = Mutex(Holding())
  private let observers = Mutex(Observers())

  private struct Observers {
    var input: (@Sendable () -> Void)?
    var output: (@Sendable () -> Void)?
  }

  private struct Holding {
    var holder: SocketHolder?
    var hasBegun = false
    /// Whether the holder gets the connection once it is established.
    var awaitsOpening = false
    /// How many bytes the streams have read.
    var readCount = 0
    /// Looks again whether they have read what woke the app.
    var wakeTimer: OneShotTimer?
  }

  /// - Parameters:
  ///   - identifier: The name by which the system holds the connection once a stream has the service type `voIP`.
  ///   - onOpen: Makes the connection when one of the streams is opened, unless it is there.
  init(_ connection: TCPConnection, identifier: String? = nil, onOpen: Opening? = nil) {
    self.connection = connection
    self.identifier = identifier
    opening = Mutex(onOpen)
    connection.observeOpening { [weak self] in self?.handleOpening() }
  }

  func open() {
    if holding.withLock({ $0.holder }) != nil { beginHolding() }
    let onOpen = opening.withLock { opening in
      defer { opening = nil }
      return opening
    }
    guard let onOpen, !connection.isConnected else { return }
    let token = onOpen(connection)
    held.withLock { $0 = token }
  }

  /// Has both streams report that they are open: the socket of a silent peer never becomes readable.
  private func handleOpening() {
    let observers = observers.withLock { $0 }
    observers.input?()
    observers.output?()
    handOver()
  }

  var isConnected: Bool { connection.isConnected }
  var hasBytes: Bool { connection.hasBytes }
  var hasSpace: Bool { connection.hasSpace }
  /// The system has taken all bytes that were written.
  var unsentByteCount: Int { 0 }
  var inputEnding: PipeEnding? { connection.isInputEnded ? ending ?? .closed : nil }
  var ending: PipeEnding? {
    guard connection.isEnded else { return nil }
    return connection.error.map { .failed($0.posixError) } ?? .closed
  }

  func read(_ count: Int) -> [UInt8] {
    let bytes = connection.waitAndReceive(count)
    holding.withLock { $0.readCount &+= bytes.count }
    return bytes
  }
  func write(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
    connection.waitAndSend(UnsafeRawBufferPointer(bytes))
  }
  func close() {
    connection.close()
    // Behind what the application is just doing: the system may suspend it then.
    if let holder = holding.withLock({ $0.holder }) {
      OperationQueue.main.addOperation { holder.close() }
    }
  }
  func observeInput(_ call: @escaping @Sendable () -> Void) {
    observers.withLock { $0.input = call }
    connection.observeInput(call)
  }
  func observeOutput(_ call: @escaping @Sendable () -> Void) {
    observers.withLock { $0.output = call }
    connection.observeOutput(call)
  }
}

// Held by the system while the app is suspended.
extension ConnectionPipe {
  func property(for key: Stream.PropertyKey) -> AnyObject? {
    guard key == .networkServiceType, holding.withLock({ $0.holder }) != nil else { return nil }
    return NSString(string: StreamNetworkServiceTypeValue.voIP.rawValue)
  }

  func setProperty(_ property: AnyObject?, for key: Stream.PropertyKey) -> Bool {
    guard key == .networkServiceType, let identifier, Self.isVoIP(property) else { return false }
    let isNew = holding.withLock { holding in
      guard holding.holder == nil else { return false }
      holding.holder = SocketHolder(identifier, isPlain: true) { [weak self] done in
        guard let self else { return OperationQueue.main.addOperation(done) }
        handleWake(readCount: nil, turnCount: 0, done)
      }
      return true
    }
    // Both streams have the property, and the second one sets it again.
    if isNew, opening.withLock({ $0 == nil }) { beginHolding() }
    return true
  }

  private static func isVoIP(_ property: AnyObject?) -> Bool {
    let value = (property as? StreamNetworkServiceTypeValue)?.rawValue ?? property as? String
    return value == StreamNetworkServiceTypeValue.voIP.rawValue
  }

  /// Takes the connection of an earlier process over, or hands over the new one once it is established.
  private func beginHolding() {
    let holder = holding.withLock { holding -> SocketHolder? in
      guard !holding.hasBegun else { return nil }
      holding.hasBegun = true
      return holding.holder
    }
    guard let holder else { return }
    if connection.isConnected { return holder.hold(connection) }
    holder.restore(connection)
    holding.withLock { $0.awaitsOpening = true }
    // Restored, or established meanwhile.
    if connection.isConnected { handOver() }
  }

  /// Has the system hold the connection that was just established, if it is to be held.
  private func handOver() {
    let holder = holding.withLock { holding -> SocketHolder? in
      guard holding.awaitsOpening else { return nil }
      holding.awaitsOpening = false
      return holding.holder
    }
    guard let holder else { return }
    // Not on the event loop, which must not wait for the system's answer.
    DispatchQueue.global().async { [connection] in
      holder.hold(connection)
      // Behind the call of the delegate for the opened streams.
      OperationQueue.main.addOperation { holder.endConnecting() }
    }
  }

  /// Calls `done` when the streams' delegate has read what came, or reads no more.
  private func handleWake(
    readCount: Int?, turnCount: Int, _ done: @escaping @Sendable () -> Void
  ) {
    let count = holding.withLock { $0.readCount }
    let turnCount = count == readCount ? turnCount + 1 : 0
    guard connection.hasBytes, turnCount < Self.idleTurnCountMax else {
      // Behind the delegate's call that has read the last bytes.
      return OperationQueue.main.addOperation(done)
    }
    let timer = OneShotTimer(afterSeconds: Self.turnSeconds) { [weak self] in
      guard let self else { return done() }
      handleWake(readCount: count, turnCount: turnCount, done)
    }
    holding.withLock { $0.wakeTimer = timer }
  }

  /// A delegate that reads nothing for 0.2 s is not waited for: the rest of the bytes wake the app again once it reads.
  private static let turnSeconds = 0.005
  private static let idleTurnCountMax = 40
}

extension SystemError {
  /// The error as Foundation has it.
  var posixError: POSIXError { POSIXError(POSIXErrorCode(rawValue: number) ?? .EIO) }
}
