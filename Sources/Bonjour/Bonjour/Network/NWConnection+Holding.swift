extension NWConnection {
  /// Whether the system holds the connection while its app is suspended or doesn't run.
  ///
  /// Not in Apple's framework, which has no such sockets.
  public enum Holding: Hashable, Sendable {
    /// The parameters have no ``NWParameters/restoreIdentifier``, or the connection is not established.
    case notRequested
    /// It is a new connection, and is held.
    case held
    /// It is the connection of an earlier process of the app: bytes that it had not read follow.
    case restored
    /// It is a new connection. That of an earlier process, with this peer, could not be carried over.
    case replaces(peer: String)
    /// It is not held, for this reason, and ends with the process.
    case refused(String)
  }

  /// Whether the system holds the connection. It is known when the state becomes ``State/ready``.
  public var holding: Holding { driver.holding }
}
