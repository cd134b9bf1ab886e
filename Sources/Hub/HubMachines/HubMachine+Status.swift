import BluetoothInterface
import Essentials
import HubWire

// Questions for the state of the hub. The host's part of an answer is read apart from other messages, and one
// program is answered then: with 2,048 programs an answer takes longer than other messages.

extension HubMachine {
  /// A program has a question. It replaces an earlier one that is not answered.
  mutating func asked(
    _ number: UInt64, by id: HubConnectionID, now: Instant, into actions: inout [Action]
  ) {
    guard let asker = connections[id] else { return }
    guard asker.statusQuestion == nil else {
      connections[id]?.statusQuestion = number
      return
    }
    let user = asker.peer.userID
    if statusAskers.count(where: { connections[$0]?.peer.userID == user })
      >= limits.statusQuestionCountPerUserMax
    {
      let text = "The user's programs have asked for the hub's state too often to be answered soon."
      return refuse(id, HubRefusal(.limitReached, text), now: now, into: &actions)
    }
    connections[id]?.statusQuestion = number
    statusAskers.append(id)
    if statusAskers.count == 1 { actions.append(.readStatus) }
  }

  /// The host's part was read: answers one question. The others wait for the next reading.
  mutating func statusRead(
    _ host: HubHostStatus, now: Instant, into actions: inout [Action]
  ) {
    statusAskers = statusAskers.filter { connections[$0] != nil }
    if let id = takeStatusAsker(), let question = connections[id]?.statusQuestion {
      connections[id]?.statusQuestion = nil
      if let status = status(host, for: id, now: now) {
        connections[id]?.send(.status(question, status))
        changed(id, now: now, into: &actions)
      }
    }
    if !statusAskers.isEmpty { actions.append(.readStatus) }
  }

  /// The program whose turn it is: the first one in line of another user than the last answer was for, or else the
  /// first one. So one user's crowd doesn't keep others from an answer.
  private mutating func takeStatusAsker() -> HubConnectionID? {
    let other = statusAskers.firstIndex { connections[$0]?.peer.userID != lastStatusUser }
    guard let index = other ?? statusAskers.indices.first else { return nil }
    let id = statusAskers.remove(at: index)
    lastStatusUser = connections[id]?.peer.userID
    return id
  }

  /// The state of the hub, as far as the program on a connection may know it; nil without the connection.
  ///
  /// Root and the hub's user see all programs and links, other users their own, and how many there are.
  func status(
    _ host: HubHostStatus, for id: HubConnectionID, now: Instant
  ) -> HubStatus? {
    guard let asker = connections[id]?.peer else { return nil }
    let seesAll = asker.userID == 0 || asker.userID == configuration.userID
    let isSeen = { (userID: UInt32) in seesAll || userID == asker.userID }
    var status = HubStatus(
      version: host.version, processID: host.processID, uptime: host.uptime, radio: host.radio)
    status.counts.connectionCount = connections.count - 1
    status.counts.refusedCount = refusedCount
    status.counts.limitedRequestCount = limitedRequestCount
    status.counts.droppedValueCount = host.droppedValueCount
    status.counts.droppedReportCount = host.droppedReportCount
    status.counts.expiredRequestCount = host.expiredRequestCount
    status.counts.refusals.descriptorShortageCount = host.descriptorShortageCount
    status.counts.refusals.shortenedKeepingCount = totals.shortenedKeepingCount
    status.counts.refusals.unkeptSessionCount = totals.unkeptSessionCount
    for (other, connection) in connections.sorted(by: { $0.key < $1.key }) where other != id {
      guard let app = connection.app else { continue }
      guard isSeen(connection.peer.userID) else {
        status.counts.otherProgramCount += 1
        continue
      }
      status.programs.append(program(app, other, connection, host, now: now))
    }
    addKept(to: &status, seesAll: seesAll, asker, host, now: now)
    for link in host.links {
      if let seen = self.link(link, seesAll: seesAll, isSeen) {
        status.links.append(seen)
      } else {
        status.counts.otherLinkCount += 1
      }
    }
    addNetwork(host.network, to: &status, isSeen)
    status.networkProblem = host.networkProblem
    if seesAll { status.bondFile = host.bondFile }
    status.cut()
    return status
  }

  /// Adds the programs of Multicast DNS whose users may be seen, and counts the others.
  private func addNetwork(
    _ network: HubNetworkStatus?, to status: inout HubStatus, _ isSeen: (UInt32) -> Bool
  ) {
    guard let network else { return }
    status.networkPrograms = network.programs.filter { isSeen($0.userID) }
    status.counts.refusals.otherNetworkProgramCount =
      network.programs.count - status.networkPrograms.count
    status.counts.refusals.networkConnectionCount = network.refusalCounts.values.reduce(0, +)
    status.counts.refusals.networkRequestCount = network.limitedRequestCount
  }

  private func program(
    _ app: String, _ id: HubConnectionID, _ connection: ConnectionState, _ host: HubHostStatus,
    now: Instant
  ) -> HubStatus.Program {
    var program = HubStatus.Program(
      connection: id.rawValue, app: app, processID: Int(connection.peer.processID),
      userID: connection.peer.userID, age: now - (connection.servedSince ?? now))
    let load = connection.sessionLoad
    program.sessionCount = connection.sessions.count
    program.linkCount = load.linkCount
    program.serviceCount = load.serviceCount
    program.listenerCount = load.listenerCount
    program.requestCount = load.requestCount
    program.waitingByteCount = connection.waitingByteCount
    program.isHeldBack = connection.isPaused
    program.lastUse = connection.lastUse.map { RadioUse($0.reason, age: now - $0.time) }
    program.unit = connection.peer.units?.last
    for state in connection.sessions.values {
      program.unhandledEventCount += state.ledger.unhandledCount
      program.droppedCount += state.droppedCount
      if let use = host.sessions[state.hostKey] { program.add(use) }
    }
    return program
  }

  /// Adds the sessions that are kept, as programs with the number of the connection that had them first.
  private func addKept(
    to status: inout HubStatus, seesAll: Bool, _ asker: HubPeer, _ host: HubHostStatus, now: Instant
  ) {
    let kept = keptSessions.sorted {
      let (a, b) = ($0.value.state.hostKey, $1.value.state.hostKey)
      return (a.connection.rawValue, a.session.rawValue) < (
        b.connection.rawValue, b.session.rawValue
      )
    }
    for (identity, session) in kept {
      guard seesAll || identity.userID == asker.userID else {
        status.counts.otherProgramCount += 1
        continue
      }
      let key = session.state.hostKey
      var program = HubStatus.Program(
        connection: key.connection.rawValue, app: identity.app,
        processID: Int(session.processID), userID: identity.userID, age: now - session.since)
      let load = session.state.load
      program.sessionCount = 1
      program.linkCount = load.linkCount
      program.serviceCount = load.serviceCount
      program.listenerCount = load.listenerCount
      program.requestCount = load.requestCount
      program.unhandledEventCount = session.events.events.count
      program.droppedCount = session.state.droppedCount + session.events.droppedCount
      program.keptFor = session.deadline - now
      if let use = host.sessions[key] { program.add(use) }
      status.programs.append(program)
    }
  }

  /// The connection that has a session of the host; for a kept one, the first that had it.
  private func connection(of key: HubSessionKey) -> HubConnectionID {
    movedSessions[key]?.connection ?? key.connection
  }

  /// The user of a session of the host; nil if its connection has ended since the host was read.
  private func user(of key: HubSessionKey) -> UInt32? {
    keptIdentities[key]?.userID ?? connections[connection(of: key)]?.peer.userID
  }

  /// A link with the users that may be seen; nil for a link of other users alone.
  private func link(
    _ link: HubHostStatus.Link, seesAll: Bool, _ isSeen: (UInt32) -> Bool
  ) -> HubStatus.Link? {
    // A connection that has ended since the host was read is no user.
    let users = Set(
      link.users.filter { user(of: $0).map(isSeen) ?? false }.map { connection(of: $0) })
    if users.isEmpty, !seesAll { return nil }
    var seen = link.link
    seen.users = users.sorted().map(\.rawValue)
    seen.userCount = users.count
    return seen
  }
}

extension HubStatus.Program {
  /// Adds what the host does for a session.
  fileprivate mutating func add(_ use: HubHostStatus.Session) {
    scanCount += use.isScanning ? 1 : 0
    advertisementCount += use.isAdvertising ? 1 : 0
    lateCount += use.isLate ? 1 : 0
    subscriptionCount += use.subscriptionCount
    channelCount += use.channelCount
  }
}
