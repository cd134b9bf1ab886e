package import Essentials

extension ConnectionMachine {
  /// The identifier of an operation that the application requested. The host chooses it and must
  /// not reuse it.
  package typealias OperationID = UInt64

  /// The state of a connection, as in `NWConnection.State`.
  package enum State: Hashable, Sendable {
    /// Not started.
    case setup
    /// No address answers at the moment. It is retried after ``Event/restart`` and when the network
    /// changes.
    case waiting(ConnectionError)
    /// Addresses are being resolved or connected to.
    case preparing
    /// Bytes can be sent and received.
    case ready
    /// The connection ended with an error, or is impossible with these parameters.
    case failed(ConnectionError)
    /// Ended by the application.
    case cancelled

    /// Whether this is a final state.
    package var isFinal: Bool {
      switch self {
      case .failed, .cancelled: true
      case .setup, .waiting, .preparing, .ready: false
      }
    }
  }

  /// The network path of an established connection.
  package struct PathReport: Hashable, Sendable {
    /// The path that the API reports.
    package var path: Path
    /// Whether the connection is viable.
    package var isViable: Bool
    /// Whether a new connection would use another interface.
    package var hasBetterPath: Bool

    /// Creates a report.
    package init(_ path: Path, isViable: Bool, hasBetterPath: Bool) {
      self.path = path
      self.isViable = isViable
      self.hasBetterPath = hasBetterPath
    }
  }

  /// Input of the machine.
  package enum Event: Sendable {
    // From the application.
    /// The first call of `start(queue:)`.
    case start
    /// The application called `restart()`.
    case restart
    /// Ends the connection after pending sends.
    case cancel
    /// Ends the connection at once.
    case forceCancel
    /// Bytes to send; `isFinal` if no more follow, so that output is closed after them.
    case send(OperationID, [UInt8], isFinal: Bool)
    /// Bytes to receive: from `minimum` to `maximum`, fewer at the end of input.
    case receive(OperationID, minimum: Int, maximum: Int)
    /// Receive everything up to the end of input, at most `byteCountMax` bytes.
    case receiveMessage(OperationID, byteCountMax: Int)

    // From the socket, and from the search for addresses.
    /// The parameters or the endpoint can't be used.
    case rejected(ConnectionError)
    /// All known addresses were tried without success; this is the last error.
    case exhausted(ConnectionError)
    /// A socket is connected. The path is nil if it is unknown.
    case connected(PathReport?)
    /// Routes or addresses of the system changed.
    case networkChanged
    /// The result of ``Action/evaluatePath``.
    case path(PathReport?)
    /// The socket may be readable.
    case readable
    /// The socket may be writable.
    case writable
    /// The result of ``Action/write(_:)``: the number of bytes that the system accepted; 0 if there
    /// is no space.
    case wrote(Int)
    /// The result of ``Action/read(byteCountMax:)``; empty if no bytes are available.
    case received([UInt8], isEnd: Bool, error: ConnectionError?)
    /// The socket is closed, for this reason.
    case ended(ConnectionError?)
  }

  /// Output of the machine: work for the driver, in this order.
  package enum Action: Sendable {
    /// Create the socket and observe the network; connect if it isn't connected already.
    case open
    /// Resolve and try addresses again, including those that did not answer before.
    case search
    /// Look up the path of the connection.
    case evaluatePath
    /// Write as many of these bytes as possible.
    case write(ArraySlice<UInt8>)
    /// Close the output side of the socket.
    case closeOutput
    /// Read up to `byteCountMax` bytes.
    case read(byteCountMax: Int)
    /// Close the socket, stop resolving and observing the network.
    case close
    /// Call the handler for states.
    case stateChanged(State)
    /// Call the handler for paths.
    case pathChanged(Path)
    /// Call the handler for viability.
    case viabilityChanged(Bool)
    /// Call the handler for better paths.
    case betterPathChanged(Bool)
    /// Call the completion of a send.
    case completeSend(OperationID, ConnectionError?)
    /// Call the completion of a receive. `content` is nil without bytes; `isComplete` is set at the
    /// end of input.
    case completeReceive(
      OperationID, content: [UInt8]?, isComplete: Bool, error: ConnectionError?)
  }

  /// Limits.
  package enum Limits {
    /// The time that a cancelled connection may continue to send to a slow peer.
    package static var lingerMax: TimeSpan { .seconds(30) }
    /// The maximum size of one write, so that a large send does not delay receives.
    package static var writeByteCountMax: Int { 262_144 }
    /// The maximum size of one read. A receive with this many bytes is completed even if more are
    /// available.
    package static var readByteCountMax: Int { 65_536 }
  }
}

/// The reason why a connection, or an operation on it, failed.
package enum ConnectionError: Error, Hashable, Sendable {
  /// An `errno` value.
  case posix(Int32)
  /// An error code of DNS Service Discovery.
  case dns(Int32)
  /// A TLS status.
  case tls(Int32)

  // The numbers of Linux; machines don't import the C library.
  /// EPIPE: output was closed.
  package static let brokenPipe = ConnectionError.posix(32)
  /// EMSGSIZE: a message is longer than the receiver allows.
  package static let messageTooLong = ConnectionError.posix(90)
  /// ENOTCONN: the connection has ended.
  package static let notConnected = ConnectionError.posix(107)
  /// ECANCELED: the application cancelled the connection.
  package static let cancelled = ConnectionError.posix(125)
}
