#if Messaging
  package import Essentials
  package import XMPPWire

  /// The queue of a push gateway: messages of an app's server, each of which becomes a stanza and a notification with the
  /// same id.
  ///
  /// Each event adds changes of the store to a ``GatewayCommit``, and the actions after them. A stanza leaves again until
  /// the server has handled it, a notification until the manager of apps has taken or refused it, and neither after the
  /// message's expiration. Recipients know a stanza that comes twice by its id.
  package struct PushGatewayMachine: Sendable {
    /// The component's own address.
    package let domain: JID
    let limits: GatewayLimits
    var random: SeededGenerator

    var rows: [Int64: GatewayRow] = [:]
    var byID: [String: Int64] = [:]
    var openCount = 0
    var openByteCount = 0
    /// What the store had of both: the queue of an earlier version may be beyond the bounds, until it has left.
    let storedOpen: (count: Int, byteCount: Int)
    /// Rows that are settled, in the order in which they were.
    var settled: [Int64] = []
    /// Those of them whose texts are kept.
    var settledBodies: [Int64] = []
    var settledByteCount = 0
    var lastNumber: Int64

    // Stanzas.
    var isConnected = false
    /// Rows whose stanzas wait, by number.
    var stanzaQueue: [Int64] = []
    var underWay: [Int64] = []
    /// Rows whose stanzas came back, until they leave again, and how often they came.
    var bounced: [Int64: Instant] = [:]
    var bounceCounts: [Int64: Int] = [:]
    /// No bounced row leaves before this.
    var bounceWake: Instant?
    var ping: (id: String, due: Instant)?
    var pingCount: UInt64 = 0
    /// How the identifiers of this process's pings begin.
    let pingPrefix: String
    /// Pings of another program with this domain, in this connection.
    var foreignPingCount = 0

    // Notifications.
    var targets: [GatewayTarget: TargetQueue] = [:]
    /// Targets with something to send, in order.
    var ready: [GatewayTarget] = []
    /// Targets whose last notification is tried again later.
    var pausing: [GatewayTarget] = []
    var pushCount = 0
    var managerFailureCount = 0
    var managerRetry: Instant?
    var wakeCount = 0
    var gone: [String] = []

    var sweep: Instant?
    /// Nothing is due before this.
    package private(set) var nextWake: Instant?

    /// The notifications of a target, which leave one after the other.
    struct TargetQueue: Sendable {
      var rows: [Int64] = []
      var wantsWake = false
      var isBusy = false
      var isReady = false
      var failureCount = 0
      var retry: Instant?

      var isEmpty: Bool { rows.isEmpty && !wantsWake && !isBusy }
    }

    /// - Parameter stored: The rows of the store, by number.
    package init(
      domain: JID, stored: [GatewayRow], limits: GatewayLimits = GatewayLimits(), seed: UInt64
    ) {
      self.domain = domain
      self.limits = limits
      random = SeededGenerator(seed: seed)
      pingPrefix = "handled-\(random.next() >> 16)-"
      lastNumber = 0
      let open = stored.filter { !$0.isSettled }
      storedOpen = (open.count, open.reduce(0) { $0 + $1.message.byteCount })
      for row in stored {
        lastNumber = max(lastNumber, row.number)
        rows[row.number] = row
        byID[row.message.id] = row.number
        if row.stanza == .waiting { stanzaQueue.append(row.number) }
        if row.notification == .waiting { enqueueNotification(row) }
        if row.isSettled {
          settled.append(row.number)
          keepBody(row)
        } else {
          openCount += 1
          openByteCount += row.message.byteCount
        }
      }
      if !rows.isEmpty { sweep = .zero }
      nextWake = rows.isEmpty ? nil : .zero
    }

    /// The row of a message; nil if the id is unknown.
    package func row(of id: String) -> GatewayRow? { byID[id].flatMap { rows[$0] } }

    /// The number of messages whose stanza or notification waits.
    package var waitingCount: Int { openCount }

    package mutating func handle(
      _ event: GatewayEvent, now: Instant, wall: WallTime, into commit: inout GatewayCommit
    ) {
      switch event {
      case .submit(let ticket, let message): submit(ticket, message, now, wall, &commit)
      case .connected:
        isConnected = true
        foreignPingCount = 0
        returnUnderWay()
      case .disconnected:
        isConnected = false
        returnUnderWay()
      case .received(let stanza): receive(stanza, now, &commit)
      case .pushed(let push, let result): pushed(push, result, now, &commit)
      }
      settle(now, wall, &commit)
    }

    package mutating func wake(
      now: Instant, wall: WallTime, into commit: inout GatewayCommit
    ) {
      if let ping, ping.due <= now {
        self.ping = nil
        commit.then.append(.drop)
      }
      wakeNotifications(now)
      wakeBounced(now)
      if let sweep, sweep <= now { removeOld(wall, now, &commit) }
      settle(now, wall, &commit)
    }

    private mutating func settle(
      _ now: Instant, _ wall: WallTime, _ commit: inout GatewayCommit
    ) {
      forgetBodies(&commit)
      sendStanzas(now, wall, &commit)
      sendNotifications(now, wall, &commit)
      let pauses = pausing.compactMap { targets[$0]?.retry }
      nextWake = ([ping?.due, managerRetry, sweep, bounceWake].compactMap(\.self) + pauses).min()
      assert(violations().isEmpty, "\(violations())")
    }

    // MARK: Rows

    private mutating func submit(
      _ ticket: UInt64, _ message: GatewayMessage, _ now: Instant, _ wall: WallTime,
      _ commit: inout GatewayCommit
    ) {
      if let known = row(of: message.id) {
        commit.then.append(
          known.message.isRepeated(by: message)
            ? .accepted(ticket: ticket, isNew: false) : .refused(ticket: ticket, .otherContent))
        return
      }
      guard openCount < limits.openCountMax,
        openByteCount + message.byteCount <= limits.openByteCountMax
      else {
        commit.then.append(.refused(ticket: ticket, .full))
        return
      }
      lastNumber += 1
      let row = GatewayRow(
        number: lastNumber, message: message,
        notification: message.target == nil ? .done("none") : .waiting, date: wall)
      rows[row.number] = row
      byID[message.id] = row.number
      openCount += 1
      openByteCount += message.byteCount
      commit.changes.append(.insert(row))
      commit.then.append(.accepted(ticket: ticket, isNew: true))
      replaceCollapsed(by: row, &commit)
      stanzaQueue.append(row.number)
      if row.notification == .waiting { enqueueNotification(row) }
      if sweep == nil { sweep = now + limits.sweepInterval }
    }

    mutating func set(
      _ part: GatewayPart, of number: Int64, _ state: GatewayState,
      _ commit: inout GatewayCommit
    ) {
      guard let row = rows[number], row[part] != state else { return }
      rows[number]?[part] = state
      commit.changes.append(.setState(number, part, state))
      if case .failed(let reason) = state {
        commit.then.append(.failed(id: row.message.id, reason))
      }
      let isSettled = rows[number]?.isSettled ?? false
      if isSettled, !row.isSettled {
        openCount -= 1
        openByteCount -= row.message.byteCount
        settled.append(number)
        keepBody(row)
      } else if !isSettled, row.isSettled {
        openCount += 1
        openByteCount += row.message.byteCount
        settled.removeAll { $0 == number }
        dropBody(row)
      }
    }

    private mutating func keepBody(_ row: GatewayRow) {
      guard !row.message.body.isEmpty else { return }
      settledBodies.append(row.number)
      settledByteCount += row.message.byteCount
    }

    private mutating func dropBody(_ row: GatewayRow) {
      guard let place = settledBodies.firstIndex(of: row.number) else { return }
      settledBodies.remove(at: place)
      settledByteCount -= row.message.byteCount
    }

    /// Texts of settled messages are kept up to a bound, for stanzas that come back.
    private mutating func forgetBodies(_ commit: inout GatewayCommit) {
      while settledByteCount > limits.settledByteCountMax, let number = settledBodies.first,
        let row = rows[number]
      {
        dropBody(row)
        rows[number]?.message.body = ""
        commit.changes.append(.forgetBody(number, digest: row.message.digest))
      }
    }

    private mutating func removeOld(
      _ wall: WallTime, _ now: Instant, _ commit: inout GatewayCommit
    ) {
      let waiting = stanzaQueue + underWay + bounced.keys
      let expired = Set(waiting.filter { isExpired($0, wall) })
      stanzaQueue.removeAll(where: expired.contains)
      underWay.removeAll(where: expired.contains)
      for number in expired { bounced[number] = nil }
      for number in expired.sorted() { set(.stanza, of: number, .failed("expired"), &commit) }
      let late = targets.values.flatMap { $0.isBusy ? $0.rows.dropFirst() : $0.rows[...] }
      for number in late.sorted() where isExpired(number, wall) {
        dropNotification(number, .failed("expired"), &commit)
      }
      var count = max(0, settled.count - limits.settledCountMax)
      while count < settled.count, let row = rows[settled[count]],
        wall - row.date > limits.settledAge
      { count += 1 }
      for number in settled.prefix(count) {
        guard let row = rows.removeValue(forKey: number) else { continue }
        byID[row.message.id] = nil
        bounceCounts[number] = nil
        dropBody(row)
        commit.changes.append(.remove(number))
      }
      settled.removeFirst(count)
      sweep = rows.isEmpty ? nil : now + limits.sweepInterval
    }

    func isExpired(_ number: Int64, _ wall: WallTime) -> Bool {
      rows[number].map { $0.message.expiration <= wall } ?? true
    }
  }
#endif
