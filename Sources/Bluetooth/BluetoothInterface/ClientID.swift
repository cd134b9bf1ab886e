/// The identifier of a client, such as an app's manager. The host assigns it.
@frozen
public struct ClientID: Hashable, Sendable {
  /// The number, unique among the clients of a host.
  public let rawValue: UInt32

  /// Creates an identifier from its number.
  @inlinable
  public init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// The identifier of a program whose clients a host serves, such as a connection with the hub. The owner of the
/// host assigns it.
package struct ProgramID: Hashable, Sendable {
  /// The number, unique among the programs that a host ever serves.
  package let rawValue: UInt64

  /// Creates an identifier from its number.
  package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The app and the manager of a client of another process, the same in each run of the app. The owner of the host
/// knows them.
package struct PublisherID: Hashable, Sendable {
  /// The user, as the kernel knows it.
  package let userID: UInt32
  /// The name that the app gave.
  package let app: String
  /// The name of the manager; empty without one.
  package let manager: String

  /// Creates an identifier.
  package init(userID: UInt32, app: String, manager: String) {
    self.userID = userID
    self.app = app
    self.manager = manager
  }
}
