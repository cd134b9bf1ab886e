import BluetoothInterface
import Essentials
import HubWire

/// What a session is for, the same in each run of its app.
///
/// The user is a part of it, so that no user can take what another user's app has. The app is known by the name
/// that it gives, because the user is the boundary between programs, as for files.
package struct SessionIdentity: Hashable, Sendable {
  package var userID: UInt32
  package var app: String
  /// Empty for a session without a name, whose identity is that of all such sessions of its app.
  package var manager: String

  package init(userID: UInt32, app: String, manager: String) {
    self.userID = userID
    self.app = app
    self.manager = manager
  }
}

// Several open sessions may have one identity, as two processes of a program do. The first one holds it until it
// is closed; the others never do, also when it is free again: an app hears once, when it opens a session, whether
// that has a claim on kept things.

extension HubMachine {
  /// The identity of a session of a program; nil for one without a name, or of a program without a greeting.
  func identity(_ manager: String, _ connection: ConnectionState) -> SessionIdentity? {
    guard !manager.isEmpty, let app = connection.app else { return nil }
    return SessionIdentity(userID: connection.peer.userID, app: app, manager: manager)
  }

  /// A session is opened; returns whether it holds its identity.
  mutating func hold(_ opening: SessionOpening, of id: HubConnectionID) -> Bool {
    guard let identity = connections[id].flatMap({ identity(opening.manager, $0) }),
      holders[identity] == nil
    else { return false }
    holders[identity] = HubSessionKey(id, opening.id)
    return true
  }

  /// A session of a connection is closed: the identity that it holds is free.
  mutating func release(_ session: SessionState, of connection: ConnectionState) {
    guard session.holdsName, let identity = identity(session.manager, connection) else { return }
    holders[identity] = nil
  }

  /// The answer to the opening of a session for which nothing was kept; nil if the program expects none.
  func attachment(
    _ opening: SessionOpening, _ session: SessionState, of id: HubConnectionID
  ) -> HubMessage? {
    guard !opening.manager.isEmpty, connections[id]?.abilities.contains(.identity) == true else {
      return nil
    }
    return .attached(
      opening.id, SessionAttachment(holdsName: session.holdsName, keptFor: session.keptFor))
  }

  // MARK: Invariants

  /// How the table of holders and the sessions contradict each other.
  func violationsOfIdentities(perTable limit: Int) -> [String] {
    var found: [String] = []
    for (identity, key) in holders.prefix(limit) {
      let connection = connections[key.connection]
      let session = connection?.sessions[key.session]
      guard let connection, let session, session.holdsName,
        self.identity(session.manager, connection) == identity
      else {
        found.append("\(identity.manager) is held by a session that is gone, or another one")
        continue
      }
    }
    for (id, connection) in connections.prefix(limit) {
      for (number, session) in connection.sessions.prefix(limit) where session.holdsName {
        let identity = identity(session.manager, connection)
        guard identity.flatMap({ holders[$0] }) == HubSessionKey(id, number) else {
          found.append("session \(number.rawValue) doesn't hold the name that it has alone")
          continue
        }
      }
    }
    return found
  }
}
