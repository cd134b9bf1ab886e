import BluetoothInterface
import Essentials
import HubWire

extension HubMachine {
  /// What does not hold though it must.
  ///
  /// - Parameter limit: How many entries of each table are checked. Sums are where there are no more.
  package func violations(perTable limit: Int = .max) -> [String] {
    var found: [String] = []
    for (id, connection) in connections.prefix(limit) {
      found += violations(of: connection, id).map { "connection \(id.rawValue): \($0)" }
    }
    if !unwritten.prefix(limit).allSatisfy({ connections[$0] != nil }) {
      found.append("there is something to write for a connection that is gone")
    }
    if !greetings.deadlines.prefix(limit).allSatisfy({ connections[$0.key] != nil }) {
      found.append("a greeting is expected on a connection that is gone")
    }
    if greetings.next == nil, !greetings.deadlines.isEmpty {
      found.append("a greeting is expected without a time")
    }
    if !openings.waiting.prefix(limit).allSatisfy({ connections[$0]?.app != nil }) {
      found.append("a program is to be reported that is not served")
    }
    let asking = connections.prefix(limit).filter { $0.value.statusQuestion != nil }
    if !asking.allSatisfy({ statusAskers.contains($0.key) }) {
      found.append("a program gets no answer to its question for the hub's state")
    }
    if isEnding, !connections.isEmpty { found.append("a hub that ends has connections") }
    found += violationsOfIdentities(perTable: limit)
    found += violationsOfKeeping(perTable: limit)
    if connections.count <= limit, keptSessions.count <= limit { found += violationsOfSums() }
    return found
  }

  private func violations(of connection: ConnectionState, _ id: HubConnectionID) -> [String] {
    var found: [String] = []
    switch connection.phase {
    case .greeting(let deadline):
      if greetings[id] != deadline { found.append("it has no time for its greeting") }
      if !connection.sessions.isEmpty { found.append("it has sessions without a greeting") }
    case .served:
      if greetings[id] != nil { found.append("a second greeting is expected") }
    }
    if connection.writer.byteCount > 0, !unwritten.contains(id) {
      found.append("its bytes are not written")
    }
    if connection.counted != connection.load { found.append("its load is not counted") }
    // Without those that the system is just being asked to take.
    let byteCount = connection.untakenByteCount + connection.writer.byteCount
    if byteCount > connection.limits.waitingByteCountMax {
      found.append("more bytes wait than may")
    }
    if connection.sessions.count > limits.sessionCountMax { found.append("too many sessions") }
    let sum = connection.sessions.values.reduce(into: SessionState.Load()) { $0 += $1.load }
    if sum != connection.sessionLoad { found.append("the load of its sessions is not their sum") }
    let ownCount = connection.sessions.values.reduce(0) { $0 + $1.ledger.ownCount }
    if ownCount != connection.ownCompletionCount { found.append("its completions are miscounted") }
    for session in connection.sessions.values { found += session.violations() }
    return found
  }

  private func violationsOfSums() -> [String] {
    var found: [String] = []
    var sums: [UInt32: UserLoad] = [:]
    var counts: [Int32: Int] = [:]
    for connection in connections.values {
      sums[connection.peer.userID, default: UserLoad()] += connection.counted
      counts[connection.peer.processID, default: 0] += 1
    }
    for (identity, kept) in keptSessions {
      sums[identity.userID, default: UserLoad()] += kept.load
    }
    if sums != users { found.append("the loads of users are \(users), and should be \(sums)") }
    if counts != processes { found.append("the connections of processes are miscounted") }
    for load in users.values {
      if load.connectionCount > limits.connectionCountPerUserMax {
        found.append("a user has too many connections")
      }
      if load.waitingByteCount > limits.waitingByteCountPerUserMax {
        found.append("too many bytes wait for a user")
      }
      if load.sessions.requestCount > limits.requestCountPerUserMax
        || load.sessions.requestByteCount > limits.requestByteCountPerUserMax
      {
        found.append("a user has too many requests")
      }
    }
    return found
  }
}
