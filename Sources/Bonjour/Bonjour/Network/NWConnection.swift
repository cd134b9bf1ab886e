internal import ConnectionMachines
internal import Connections

/// A TCP connection to a host or a service, or one that a listener accepted.
///
/// A service is resolved when the connection is started; ``currentPath`` has its address. The
/// handlers are called on the queue with which the connection was started.
///
/// A connection that can't be established waits, and is tried again whenever the network changes or
/// another address of the service becomes known. UDP is not supported: such a connection fails.
public final class NWConnection: Sendable, CustomDebugStringConvertible {
  /// The state of a connection.
  public enum State: Hashable, Sendable {
    /// Not started.
    case setup
    /// The connection can't be established at the moment. It is retried when the network changes,
    /// and by ``NWConnection/restart()``.
    case waiting(NWError)
    /// The connection is being established.
    case preparing
    /// Bytes can be sent and received.
    case ready
    /// The connection ended with an error, or can't be established with these parameters.
    case failed(NWError)
    /// It was cancelled.
    case cancelled
  }

  /// The way in which the sender is notified that content was sent.
  public enum SendCompletion {
    /// A closure that is called when the system has accepted the bytes, or with an error. Wait for
    /// it before sending more, to bound the memory that a slow peer costs.
    case contentProcessed(@Sendable (NWError?) -> Void)
    /// No notification.
    case idempotent
  }

  /// The remote end.
  public let endpoint: NWEndpoint
  /// The parameters of the connection.
  public let parameters: NWParameters

  let driver: ConnectionDriver

  /// Creates a connection that is not started.
  public init(to endpoint: NWEndpoint, using parameters: NWParameters) {
    self.endpoint = endpoint
    self.parameters = parameters
    driver = ConnectionDriver(to: endpoint, using: parameters, accepted: nil)
  }

  /// Creates a connection that is not started.
  public convenience init(
    host: NWEndpoint.Host, port: NWEndpoint.Port, using parameters: NWParameters
  ) {
    self.init(to: .hostPort(host: host, port: port), using: parameters)
  }

  init(accepted connection: TCPConnection, using parameters: NWParameters) {
    endpoint = connection.remoteEndpoint.map { NWEndpoint($0) } ?? .opaque("closed")
    self.parameters = parameters
    driver = ConnectionDriver(to: endpoint, using: parameters, accepted: connection)
  }

  deinit { driver.release() }

  // MARK: Properties

  /// Called when the state changes.
  @preconcurrency public var stateUpdateHandler: (@Sendable (State) -> Void)? {
    get { driver.handlers.onState }
    set { driver.setHandler(\.onState, newValue) }
  }

  /// Called with the path of the connection: when it is established, and when the path changes.
  @preconcurrency public var pathUpdateHandler: (@Sendable (NWPath) -> Void)? {
    get { driver.handlers.onPath }
    set { driver.setHandler(\.onPath, newValue) }
  }

  /// Called when the connection becomes viable or stops being so, and initially when it is
  /// established. It is not viable while no working interface has the local address, or no route
  /// leads to the remote endpoint.
  @preconcurrency public var viabilityUpdateHandler: (@Sendable (Bool) -> Void)? {
    get { driver.handlers.onViability }
    set { driver.setHandler(\.onViability, newValue) }
  }

  /// Called when this changes: whether a new connection would use another interface than this one.
  @preconcurrency public var betterPathUpdateHandler: (@Sendable (Bool) -> Void)? {
    get { driver.handlers.onBetterPath }
    set { driver.setHandler(\.onBetterPath, newValue) }
  }

  /// The current state.
  public var state: State { driver.connectionState }
  /// The queue on which the handlers are called; nil before the start.
  public var queue: DispatchQueue? { driver.queue }

  /// The path of the connection; nil while it is not established.
  public var currentPath: NWPath? { driver.path }

  /// Endpoint and state, for logs.
  public var debugDescription: String { "\(endpoint) \(state)" }

  // MARK: Starting and ending

  /// Starts to connect. Only the first call has an effect.
  ///
  /// - Parameter queue: The queue on which all handlers and completions are called.
  public func start(queue: DispatchQueue) { driver.start(queue: queue) }

  /// Retries to establish a waiting connection. No effect in any other state.
  public func restart() { driver.handle(.restart) }

  /// Cancels the connection once pending sends are completed, or after 30 seconds; at once if it is
  /// not established. Pending receives and later sends fail with `ECANCELED`.
  public func cancel() { driver.handle(.cancel) }

  /// Cancels the connection at once. Pending sends and receives fail with `ECANCELED`.
  public func forceCancel() { driver.handle(.forceCancel) }

  // MARK: Bytes

  /// Sends bytes, after those of earlier calls.
  ///
  /// After the final message further calls fail with `EPIPE`.
  ///
  /// - Parameters:
  ///   - content: The bytes; nil to send nothing.
  ///   - contentContext: ``ContentContext/finalMessage`` if nothing more will be sent.
  ///   - isComplete: Significant for messages, which TCP doesn't have, and for the final one.
  ///   - completion: The way in which the caller is notified.
  @preconcurrency
  public func send(
    content: Data?, contentContext: ContentContext = .defaultMessage, isComplete: Bool = true,
    completion: SendCompletion
  ) {
    let onDone: (@Sendable (NWError?) -> Void)? =
      if case .contentProcessed(let call) = completion { call } else { nil }
    driver.send(
      content.map { [UInt8]($0) } ?? [], isFinal: contentContext.isFinal && isComplete, onDone)
  }

  /// Receives bytes, after those of earlier calls.
  ///
  /// - Parameters:
  ///   - minimumIncompleteLength: The number of bytes to wait for; fewer are delivered only at the
  ///     end.
  ///   - maximumLength: The largest number of bytes to deliver.
  ///   - completion: Called with the bytes, whether they were the last, and the error if the input
  ///     ended with one.
  @preconcurrency
  public func receive(
    minimumIncompleteLength: Int, maximumLength: Int,
    completion:
      @escaping @Sendable (
        _ content: Data?, _ contentContext: ContentContext?, _ isComplete: Bool, _ error: NWError?
      ) -> Void
  ) {
    driver.receive(completion) {
      .receive($0, minimum: minimumIncompleteLength, maximum: maximumLength)
    }
  }

  /// Receives a message. Over TCP, that is everything up to the end of input. A message of more
  /// than 16 MiB fails with `EMSGSIZE`.
  ///
  /// - Parameter completion: Called with the bytes when the remote end has closed its output.
  @preconcurrency
  public func receiveMessage(
    completion:
      @escaping @Sendable (
        _ completeContent: Data?, _ contentContext: ContentContext?, _ isComplete: Bool,
        _ error: NWError?
      ) -> Void
  ) {
    driver.receive(completion) { .receiveMessage($0, byteCountMax: Self.messageByteCountMax) }
  }

  private static let messageByteCountMax = 16 << 20
}
