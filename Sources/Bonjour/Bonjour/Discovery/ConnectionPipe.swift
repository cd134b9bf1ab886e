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

  /// - Parameter onOpen: Makes the connection when one of the streams is opened, unless it is there.
  init(_ connection: TCPConnection, onOpen: Opening? = nil) {
    self.connection = connection
    opening = Mutex(onOpen)
  }

  func open() {
    let onOpen = opening.withLock { opening in
      defer { opening = nil }
      return opening
    }
    guard let onOpen else { return }
    let token = onOpen(connection)
    held.withLock { $0 = token }
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

  func read(_ count: Int) -> [UInt8] { connection.waitAndReceive(count) }
  func write(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
    connection.waitAndSend(UnsafeRawBufferPointer(bytes))
  }
  func close() { connection.close() }
  func observeInput(_ call: @escaping @Sendable () -> Void) { connection.observeInput(call) }
  func observeOutput(_ call: @escaping @Sendable () -> Void) { connection.observeOutput(call) }
}

extension SystemError {
  /// The error as Foundation has it.
  var posixError: POSIXError { POSIXError(POSIXErrorCode(rawValue: number) ?? .EIO) }
}
