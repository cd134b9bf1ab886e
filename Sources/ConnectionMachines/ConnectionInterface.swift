package import Essentials

extension ConnectionMachine {
  /// An operation that the application requested. The host chooses the number and doesn't use it
  /// again.
  package typealias OperationID = UInt64

  /// The life of a connection, as `NWConnection.State` has it.
  package enum State: Hashable, Sendable {
    /// Not started.
    case setup
    /// No address answers for now. It is tried again after ``Event/restart`` and when the network
    /// changes.
    case waiting(ConnectionError)
    /// Addresses are being resolved or connected to.
    case preparing
    /// Bytes can be sent and received.
    case ready
    /// Ended by an error, or impossible with these parameters.
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
    /// What the API shows of it.
    package var path: Path
    /// Whether bytes can get through.
    package var isViable: Bool
    /// Whether a connection that is made now would use another interface.
    package var hasBetterPath: Bool

    /// A path and what follows from it.
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
    /// The application asked for another attempt.
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
    /// No known address answered; the last one for this reason.
    case exhausted(ConnectionError)
    /// A socket is connected; with its path, nil if that is unknown.
    case connected(PathReport?)
    /// The system's routes or addresses changed.
    case networkChanged
    /// The answer to ``Action/evaluatePath``.
    case path(PathReport?)
    /// There may be something to read.
    case readable
    /// There may be room to write.
    case writable
    /// The answer to ``Action/write(_:)``: how many bytes the system took, 0 if there is no room.
    case wrote(Int)
    /// The answer to ``Action/read(byteCountMax:)``: empty if there is nothing now.
    case received([UInt8], isEnd: Bool, error: ConnectionError?)
    /// The socket is closed, for this reason.
    case ended(ConnectionError?)
  }

  /// Output of the machine: work for the driver, in this order.
  package enum Action: Sendable {
    /// Create the socket and observe the network; connect if it isn't connected already.
    case open
    /// Resolve and try addresses again, also those that did not answer before.
    case search
    /// Look up the path of the connection.
    case evaluatePath
    /// Write as many of these bytes as there is room for.
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

  /// Times and sizes.
  package enum Limits {
    /// For how long a cancelled connection may go on sending to a peer that reads slowly.
    package static var lingerMax: TimeSpan { .seconds(30) }
    /// The most bytes of one write, so that a large send does not keep receives waiting.
    package static var writeByteCountMax: Int { 262_144 }
    /// The most bytes of one read. A receive with this many is completed although more may come.
    package static var readByteCountMax: Int { 65_536 }
  }
}

/// Why a connection, or an operation on it, failed.
package enum ConnectionError: Error, Hashable, Sendable {
  /// An error number of the system.
  case posix(Int32)
  /// An error number of DNS Service Discovery.
  case dns(Int32)
  /// A status of TLS.
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
