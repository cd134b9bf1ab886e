#if Messaging
  import Essentials

  @testable import XMPPMachines
  import XMPPWire

  /// What the server and the network do.
  extension MessageWorld {
    mutating func reachServer(_ connection: Int, _ position: UInt64, _ stanza: TestStanza) {
      guard let (device, id) = connections[connection], var session = server.sessions[id] else {
        return
      }
      session.inboundCount += 1
      if session.inboundCount != position {
        findings.append("the server counts \(session.inboundCount), the client \(position)")
      }
      server.sessions[id] = session
      at(
        inOrder("down \(connection)"),
        .confirmed(connection: connection, count: session.inboundCount))
      let delay = inOrder("route \(stanza.sender) \(stanza.stanza.recipient)", milliseconds: 100)
      at(delay, .route(stanza, from: device, serverLife: serverLife))
    }

    /// Whether a crash has taken what the server had confirmed and not yet written.
    mutating func isLost(_ life: Int) -> Bool {
      life != serverLife && faults.contains(.loseConfirmed) && random.below(2) == 0
    }

    mutating func route(_ stanza: TestStanza, from device: Int, _ life: Int) {
      let isLostToSender = isLost(life)
      let isLostToRecipient = isLost(life)
      if stanza.isStored, !isLostToSender {
        archive(stanza, for: stanza.sender)
        for (id, session) in server.sessions.sorted(by: { $0.key < $1.key })
        where session.device != device && devices[session.device].account == stanza.sender {
          var carbon = stanza
          carbon.isCarbon = true
          deliver(carbon, id: nil, session: id)
        }
      }
      guard !isLostToRecipient else { return }
      let archiveID = stanza.isStored ? archive(stanza, for: stanza.stanza.recipient) : nil
      for (id, session) in server.sessions.sorted(by: { $0.key < $1.key })
      where devices[session.device].account == stanza.stanza.recipient {
        deliver(stanza, id: archiveID, session: id)
      }
    }

    /// Nil if the archive is slow, so that the live stanza has no id.
    @discardableResult
    private mutating func archive(_ stanza: TestStanza, for account: String) -> String? {
      if faults.contains(.slowArchive), random.below(3) == 0 {
        at(
          .milliseconds(Int64(random.below(3_000))),
          .archive(stanza, account: account, serverLife: serverLife))
        return nil
      }
      return server.archive(stanza, for: account, date: wall)
    }

    mutating func deliver(_ stanza: TestStanza, id: String?, session name: String) {
      guard var session = server.sessions[name] else { return }
      var stanza = stanza
      stanza.archiveID = id
      session.unconfirmed.append(stanza)
      server.sessions[name] = session
      guard connections[session.connection] != nil else { return }
      let count = session.outboundBase + UInt64(session.unconfirmed.count)
      at(
        inOrder("down \(session.connection)"),
        .toDevice(connection: session.connection, count: count, stanza))
    }

    mutating func reachDevice(_ connection: Int, _ count: UInt64, _ stanza: TestStanza) {
      guard let (device, _) = connections[connection] else { return }
      var message = stanza.inbound(date: wall)
      if stanza.isCarbon { message.wrapper = .carbon(from: devices[device].account) }
      let item = devices[device].store.lookUp(message, account: devices[device].account)
      handle(device, .received(item, count: count))
    }

    mutating func confirmed(_ connection: Int, _ count: UInt64) {
      guard let (device, _) = connections[connection] else { return }
      let rows = devices[device].unconfirmed.filter { $0.position <= count }
        .compactMap(\.stanza.stanza.row)
      devices[device].unconfirmed.removeAll { $0.position <= count }
      handle(device, .handled(rows))
    }

    mutating func deviceConfirms(_ connection: Int, _ count: UInt64) {
      guard let name = connections[connection]?.session, var session = server.sessions[name],
        count > session.outboundBase
      else { return }
      let done = min(Int(count - session.outboundBase), session.unconfirmed.count)
      session.unconfirmed.removeFirst(done)
      session.outboundBase += UInt64(done)
      server.sessions[name] = session
    }

    mutating func answer(_ query: ArchiveRequest, _ device: Int, _ life: Int) {
      guard devices[device].life == life, devices[device].connection != nil else { return }
      let account = devices[device].account
      guard let page = server.page(query, for: account) else {
        handle(device, .queryFailed(query.id, isUnknownItem: true))
        return
      }
      let store = devices[device].store
      let entries = page.entries.map { entry in
        ArchivePage.Entry(
          mark: ArchiveMark(id: entry.id, date: entry.date),
          message: lookUp(entry, store, account))
      }
      handle(
        device,
        .page(ArchivePage(query: query.id, entries: entries, isComplete: page.isComplete)))
    }

    private func lookUp(
      _ entry: TestServer.Entry, _ store: TestStore, _ account: String
    ) -> LookedUp {
      var message = entry.stanza.inbound(date: entry.date)
      message.archiveID = entry.id
      return store.lookUp(message, account: account)
    }

    // MARK: Faults

    mutating func fault() {
      guard now < faultEnd else { return }
      at(.milliseconds(Int64(1_000 + random.below(12_000))), .fault)
      let device = random.below(devices.count)
      let all = faults.sorted { "\($0)" < "\($1)" }
      switch all[random.below(all.count)] {
      case .cut: cut(device)
      case .killDevice: kill(device)
      case .killServer, .loseConfirmed: killServer()
      case .restoreCopy:
        guard devices[device].machine != nil else { return }
        if let snapshot = devices[device].snapshot {
          kill(device)
          devices[device].store = snapshot.store
          devices[device].taken = snapshot.taken
          devices[device].snapshot = nil
          restoredCount += 1
          for index in accepted.indices.dropFirst(snapshot.acceptedCount)
          where accepted[index].device == device {
            accepted[index].isOptional = true
          }
        } else {
          devices[device].snapshot = (
            devices[device].store, accepted.count, devices[device].taken
          )
        }
      case .doubleDelivery, .slowArchive: cut(device)
      }
    }

    private mutating func killServer() {
      server.sessions = [:]
      serverLife += 1
      for device in devices.indices { cut(device) }
    }
  }
#endif
