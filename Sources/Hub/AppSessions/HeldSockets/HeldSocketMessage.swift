package import AppMachines

/// A request of a process about a held socket: the one message of a connection, with the descriptor beside its first
/// byte. It has the form of ``AppFrame``.
package enum HeldSocketRequest: Hashable, Codable, Sendable {
  /// With the descriptor of a connected TCP socket.
  case hold(version: Int, identifier: String, isPlain: Bool)
  /// Take a socket back that an earlier process of the app had.
  case take(version: Int, identifier: String)
  /// Wake the app to connect, until it hands over a socket by this name. The answer is that of `hold`.
  case reconnect(version: Int, identifier: String)

  /// The version of these messages. Another one, and a kind that isn't known, is refused with `unavailable`.
  package static let version = 1
  /// The maximum length of a message's text.
  package static let byteCountMax = 4_096
}

/// The manager's answer.
package enum HeldSocketReply: Hashable, Codable, Sendable {
  /// The number of the receiver of its events.
  case held(UInt64)
  /// With the descriptor if the connection is plain; else it was this peer's, and has to be made anew.
  case given(UInt64, isPlain: Bool, peer: String)
  /// There is no such socket.
  case none
  case refused(HeldSocketRefusal)
}
