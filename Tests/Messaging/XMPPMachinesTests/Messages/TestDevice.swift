#if Messaging
  import Essentials

  @testable import XMPPMachines
  import XMPPWire

  /// A process with a store, or the store alone while no process runs.
  struct TestDevice: Sendable {
    struct PendingCommit: Sendable {
      var changes: [MessageChange]
      var actions: [(action: MessageAction, position: UInt64?, epoch: Int)]
    }

    let index: Int
    let account: String
    var store = TestStore()
    var snapshot: (store: TestStore, acceptedCount: Int, taken: [Int64])?
    var machine: MessageMachine?
    /// Grows when the process ends.
    var life = 0
    var pending: [PendingCommit] = []
    var connection: Int?
    /// The session of this process, and what the server has not confirmed of it.
    var session: String?
    var epoch = 0
    var position: UInt64 = 0
    var unconfirmed: [(position: UInt64, stanza: TestStanza)] = []
    var wake: Instant?
    /// The sequences that the app has taken, in its own log.
    var taken: [Int64] = []
    var texts: [UInt64: String] = [:]
    var lastTicket: UInt64 = 0
    var caughtUpCount = 0
  }

  extension MessageWorld {
    // MARK: The driver

    mutating func handle(_ device: Int, _ events: MessageEvent...) {
      guard devices[device].machine != nil else { return }
      var commit = MessageCommit()
      for event in events { devices[device].machine?.handle(event, now: now, into: &commit) }
      enqueue(commit, device)
    }

    mutating func wake(_ device: Int) {
      devices[device].wake = nil
      var commit = MessageCommit()
      devices[device].machine?.wake(now: now, into: &commit)
      enqueue(commit, device)
    }

    mutating func enqueue(_ commit: MessageCommit, _ device: Int) {
      var pending = TestDevice.PendingCommit(changes: commit.changes, actions: [])
      for action in commit.then {
        var position: UInt64?
        if case .transmit(let stanza) = action {
          devices[device].position += 1
          position = devices[device].position
          if let row = stanza.row { pending.changes.append(.setPosition(row, position)) }
        }
        pending.actions.append((action, position, devices[device].epoch))
      }
      let life = devices[device].life
      if !commit.isEmpty {
        devices[device].pending.append(pending)
        let delay = inOrder("disk \(device) \(life)", milliseconds: 8)
        at(delay, .write(device: device, life: life))
      }
      if let due = devices[device].machine?.nextWake, due < devices[device].wake ?? .distantFuture {
        devices[device].wake = due
        at(max(.zero, due - now), .wake(device: device, life: life))
      }
    }

    mutating func write(_ device: Int) {
      guard !devices[device].pending.isEmpty else { return }
      let commit = devices[device].pending.removeFirst()
      devices[device].store.apply(commit.changes)
      for (action, position, epoch) in commit.actions { perform(action, position, epoch, device) }
    }

    private mutating func perform(
      _ action: MessageAction, _ position: UInt64?, _ epoch: Int, _ device: Int
    ) {
      let life = devices[device].life
      switch action {
      case .accepted(let ticket, let row):
        guard let text = devices[device].texts[ticket],
          let peer = devices[device].store.outgoing[row]?.peer
        else { return }
        accepted.append(Accepted(device: device, peer: peer, text: text, row: row))
      case .transmit(let stanza):
        guard epoch == devices[device].epoch, let position else { return }
        let sent = TestStanza(sender: devices[device].account, stanza: stanza)
        devices[device].unconfirmed.append((position, sent))
        transmit(sent, position, device)
      case .query(let query):
        guard devices[device].connection != nil, epoch == devices[device].epoch else { return }
        at(.milliseconds(Int64(5 + random.below(400))), .page(device: device, life: life, query))
      case .deliver:
        at(.milliseconds(Int64(random.below(300))), .appTakes(device: device, life: life))
      case .confirm(let count):
        guard let connection = devices[device].connection, epoch == devices[device].epoch else {
          return
        }
        at(inOrder("up \(connection)"), .deviceConfirms(connection: connection, count: count))
      case .load(let stream, let range):
        handle(device, .loaded(devices[device].store.outgoing(of: stream, range)))
      case .caughtUp: devices[device].caughtUpCount += 1
      case .refused: findings.append("a message was refused")
      case .report(let report):
        let name = "\(report)".prefix { $0 != "(" }
        reports[String(name), default: 0] += 1
      case .fate, .pushed, .confirmed: break
      }
    }

    private mutating func transmit(_ stanza: TestStanza, _ position: UInt64, _ device: Int) {
      guard let connection = devices[device].connection else { return }
      at(
        inOrder("up \(connection)"),
        .toServer(connection: connection, position: position, stanza))
    }

    // MARK: The app

    mutating func appSends(_ device: Int, peer: String) {
      guard devices[device].machine != nil else { return }
      devices[device].lastTicket += 1
      let ticket = devices[device].lastTicket
      number += 1
      let text = "\(device) \(peer) \(number)"
      devices[device].texts[ticket] = text
      handle(
        device,
        .send(
          ticket: ticket, peer: peer, originID: "id-\(number)", MessageContent(body: text),
          patience: nil, wall: wall))
    }

    /// The app takes the next row, writes it into its own log, and acknowledges it.
    mutating func appTakes(_ device: Int) {
      let store = devices[device].store
      var sequence = (devices[device].taken.last ?? 0) + 1
      // It was taken by a process that ended before the acknowledgement was on disk.
      while let last = devices[device].taken.last, sequence <= last { sequence += 1 }
      while store.rowOfSequence[sequence] != nil {
        devices[device].taken.append(sequence)
        handle(device, .acknowledge(sequence: sequence))
        sequence += 1
      }
    }

    // MARK: The life of a process

    mutating func start(_ device: Int) {
      guard devices[device].machine == nil else { return }
      let stored = devices[device].store.stored
      devices[device].machine = MessageMachine(
        account: devices[device].account, stored: stored, limits: limits, seed: random.next(),
        now: now, wall: wall)
      devices[device].session = stored.session?.id
      devices[device].unconfirmed = []
      let life = devices[device].life
      enqueue(MessageCommit(), device)
      at(.milliseconds(Int64(1 + random.below(2_000))), .connect(device: device, life: life))
      at(.milliseconds(1), .appTakes(device: device, life: life))
    }

    mutating func kill(_ device: Int) {
      guard devices[device].machine != nil else { return }
      // Between the changes and what follows from them.
      for _ in 0..<min(devices[device].pending.count, random.below(3)) {
        devices[device].store.apply(devices[device].pending.removeFirst().changes)
      }
      killedCount += 1
      endConnection(of: device)
      devices[device].pending = []
      devices[device].machine = nil
      devices[device].session = nil
      devices[device].life += 1
      devices[device].epoch += 1
      devices[device].wake = nil
      at(.milliseconds(Int64(100 + random.below(8_000))), .start(device: device))
    }

    /// The connection ends; the server keeps the session for a while.
    mutating func endConnection(of device: Int) {
      guard let connection = devices[device].connection else { return }
      devices[device].connection = nil
      if let session = connections.removeValue(forKey: connection)?.session {
        at(
          .milliseconds(Int64(random.below(30_000))),
          .expire(session: session, connection: connection))
      }
    }

    mutating func cut(_ device: Int) {
      guard devices[device].connection != nil else { return }
      endConnection(of: device)
      handle(device, .disconnected(streamError: nil))
      let life = devices[device].life
      at(.milliseconds(Int64(50 + random.below(5_000))), .connect(device: device, life: life))
    }

    mutating func connect(_ device: Int) {
      guard devices[device].connection == nil else { return }
      lastConnection += 1
      let connection = lastConnection
      let account = devices[device].account
      if let id = devices[device].session, server.sessions[id]?.device == device {
        resume(device, id, connection)
        return
      }
      server.lastSession += 1
      let id = "session-\(server.lastSession)"
      for (old, session) in server.sessions where session.device == device {
        server.sessions[old] = nil
      }
      server.sessions[id] = TestSession(device: device, connection: connection)
      connections[connection] = (device, id)
      devices[device].connection = connection
      devices[device].session = id
      devices[device].epoch += 1
      devices[device].position = 0
      devices[device].unconfirmed = []
      let session = StoredSession(
        id: id, jid: account, location: nil, inboundCount: 0, outboundCount: 0)
      handle(
        device, .session(session),
        .connected(isResumed: false, hasArchive: true, wall: wall))
      if faults.contains(.doubleDelivery), random.below(2) == 0 {
        for entry in (server.archives[account] ?? []).suffix(random.below(6)) {
          deliver(entry.stanza, id: entry.id, session: id)
        }
      }
    }

    private mutating func resume(_ device: Int, _ id: String, _ connection: Int) {
      guard var session = server.sessions[id] else { return }
      resumedCount += 1
      session.connection = connection
      connections[connection] = (device, id)
      devices[device].connection = connection
      let handled = session.inboundCount
      let isNewProcess = devices[device].unconfirmed.isEmpty
      if isNewProcess, devices[device].position == 0 || devices[device].epoch > 0 {
        rebuildUnconfirmed(device, after: handled)
      }
      let rows = devices[device].unconfirmed.filter { $0.position <= handled }
        .compactMap(\.stanza.stanza.row)
      devices[device].unconfirmed.removeAll { $0.position <= handled }
      // What the client has handled is not sent again.
      let inbound = devices[device].machine?.session?.inboundCount ?? 0
      let done = min(
        session.unconfirmed.count, Int(max(inbound, session.outboundBase) - session.outboundBase))
      session.unconfirmed.removeFirst(done)
      session.outboundBase += UInt64(done)
      server.sessions[id] = session
      for (position, stanza) in devices[device].unconfirmed { transmit(stanza, position, device) }
      handle(
        device, .handled(rows),
        .connected(isResumed: true, hasArchive: true, wall: wall))
      for (index, stanza) in session.unconfirmed.enumerated() {
        at(
          inOrder("down \(connection)"),
          .toDevice(
            connection: connection, count: session.outboundBase + UInt64(index) + 1, stanza))
      }
    }

    /// The rows of the store that a killed process had sent. Other stanzas are gone, so that the rest
    /// gets new positions.
    private mutating func rebuildUnconfirmed(_ device: Int, after handled: UInt64) {
      guard let machine = devices[device].machine else { return }
      let rows = machine.underWay.sorted().compactMap { machine.entries[$0]?.row }
      var position = handled
      var changes: [MessageChange] = []
      defer { devices[device].position = position }
      for row in rows {
        guard let content = row.content, let old = row.position else { continue }
        let kind = OutboundStanza.Kind.message(
          originID: row.originID, row.order, content)
        let stanza = TestStanza(
          sender: devices[device].account,
          stanza: OutboundStanza(recipient: row.peer, kind: kind, row: row.id))
        if old <= handled {
          devices[device].unconfirmed.append((old, stanza))
        } else {
          position += 1
          devices[device].unconfirmed.append((position, stanza))
          changes.append(.setPosition(row.id, position))
        }
      }
      for receipt in devices[device].store.receipts.values.sorted(by: { $0.id < $1.id }) {
        guard let old = receipt.position else { continue }
        let stanza = TestStanza(
          sender: devices[device].account,
          stanza: OutboundStanza(
            recipient: receipt.recipient, kind: .receipt(receipt.name, receipt.order),
            row: receipt.id))
        if old <= handled {
          devices[device].unconfirmed.append((old, stanza))
        } else {
          position += 1
          devices[device].unconfirmed.append((position, stanza))
          changes.append(.setPosition(receipt.id, position))
        }
      }
      var commit = MessageCommit()
      commit.changes = changes
      enqueue(commit, device)
    }
  }
#endif
