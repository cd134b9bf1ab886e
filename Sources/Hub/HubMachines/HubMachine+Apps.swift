package import BluetoothInterface
package import HubWire

// For a system that decides itself how long sessions of its apps are kept.

extension HubMachine {
  /// An open session of a program.
  package struct OpenSession: Hashable, Sendable {
    /// The name of its manager; empty without one.
    package var manager: String
    /// The host's session.
    package var hostKey: HubSessionKey
  }

  /// The open sessions of a connection.
  package func sessions(of id: HubConnectionID) -> [HubSessionID: OpenSession] {
    connections[id]?.sessions.mapValues {
      OpenSession(manager: $0.manager, hostKey: $0.hostKey)
    } ?? [:]
  }

  /// What a session wants and holds, as far as its program has heard of it; nil for a session that is gone, or that
  /// ends with its program.
  package func holdings(of hostKey: HubSessionKey) -> SessionHoldings? {
    if let identity = keptIdentities[hostKey] { return keptSessions[identity]?.holdings }
    let key = movedSessions[hostKey] ?? hostKey
    return connections[key.connection]?.sessions[key.session]?.notes?.holdings
  }

  /// Whether a session is kept for the next process of its program.
  package func isKept(_ hostKey: HubSessionKey) -> Bool { keptIdentities[hostKey] != nil }

  /// Notes an event of a kept session that no process is given, in what the next one gets.
  package mutating func note(_ event: HostEvent, of hostKey: HubSessionKey) {
    guard let identity = keptIdentities[hostKey], let before = keptSessions[identity]?.load else {
      return
    }
    _ = keptSessions[identity]?.state.receivedUntold(event)
    keptSessions[identity]?.state.told(event)
    guard let after = keptSessions[identity]?.load, after != before else { return }
    users[identity.userID, default: UserLoad()] += after - before
  }

  /// Sends a request of a session that its program has not made.
  mutating func request(
    _ request: HostRequest, of hostKey: HubSessionKey, into actions: inout [Action]
  ) {
    if let identity = keptIdentities[hostKey], let before = keptSessions[identity]?.load {
      keptSessions[identity]?.state.sentUntold(request)
      let after = keptSessions[identity]?.load ?? before
      users[identity.userID, default: UserLoad()] += after - before
    } else {
      let key = movedSessions[hostKey] ?? hostKey
      guard connections[key.connection]?.sessions[key.session] != nil else { return }
      connections[key.connection]?.sent(request, byteCount: 0, of: key.session)
      count(key.connection)
    }
    actions.append(.send(hostKey, request))
  }

  /// Closes a kept session.
  mutating func endKeeping(_ hostKey: HubSessionKey, into actions: inout [Action]) {
    closeKept(into: &actions) { $1.state.hostKey == hostKey }
  }
}
