#if Messaging
  internal import Essentials
  internal import XMPPWire

  /// Stanzas and their counts (XEP-0198), both ways.
  extension StreamMachine {
    mutating func send(_ stanzas: [OutgoingStanza]) { transmit(Array(stanzas.prefix(room))) }

    /// Gives stanzas their positions, records those of rows, and writes all.
    mutating func transmit(_ stanzas: [OutgoingStanza]) {
      guard !stanzas.isEmpty, var session else { return }
      var bytes: [UInt8] = []
      for stanza in stanzas {
        let position = session.append(stanza)
        if let row = stanza.row { perform(.record(.sent(row: row, position: position))) }
        bytes += XMLWriter.bytes(of: stanza.element)
      }
      self.session = session
      perform(.write(bytes))
      requestAcknowledgement()
    }

    /// Requests an acknowledgement, unless one is awaited. Its answer also shows that the server is there.
    mutating func requestAcknowledgement() {
      guard case .connected(var connection) = phase, connection.request == nil, var session else {
        return
      }
      if session.isManaged {
        connection.request = StreamConnection.Request(sentAt: now)
        phase = .connected(connection)
        return write(StreamManagement.request.element)
      }
      // A server handles a client's stanzas in order: its answer to a ping acknowledges the stanzas before it.
      let id = makeRequestID()
      let ping = IQStanza(.get, id: id, payload: [Ping().element]).element
      let position = session.append(OutgoingStanza(row: nil, ping))
      self.session = session
      connection.request = StreamConnection.Request(sentAt: now, ping: (id, position))
      phase = .connected(connection)
      write(ping)
    }

    /// The last acknowledgement that the server is owed, by the committed count.
    mutating func writeAcknowledgement() {
      guard let session, session.isManaged else { return }
      write(StreamManagement.answer(handled: UInt32(truncatingIfNeeded: session.handled)).element)
    }

    mutating func handled(through count: UInt64, session number: UInt64) {
      guard var session, session.number == number else { return }
      session.commit(through: count)
      self.session = session
      guard case .connected(var connection) = phase, connection.stage.hasSession,
        let owed = connection.owedCount, session.handled >= owed
      else { return }
      connection.owedCount = nil
      phase = .connected(connection)
      writeAcknowledgement()
    }

    mutating func receivedInSession(_ element: XMLElement) {
      if let management = StreamManagement(element) { return take(management) }
      // They follow an authentication that has resumed the session.
      if let features = StreamFeatures(element) {
        takeSessionFeatures(features)
        return announceClientState()
      }
      guard Stanza.isCounted(element), var session else { return }
      let count = session.countReceived()
      self.session = session
      guard let count else { return }
      if element.name == "message" { pace.failureCount = 0 }
      perform(.deliver(element, count: count))
      if element.name == "iq", let iq = IQStanza(element) { take(iq) }
    }

    private mutating func take(_ management: StreamManagement) {
      guard case .connected(var connection) = phase, let session, session.isManaged else { return }
      switch management {
      case .request:
        // It is answered once, when what came before it is committed. A server that requests another one before that
        // gets the count so far: the stream may never pause.
        let isFirst = connection.owedCount == nil
        if session.uncommittedCount > 0 { connection.owedCount = session.received }
        phase = .connected(connection)
        if session.uncommittedCount == 0 || !isFirst { writeAcknowledgement() }
      case .answer(let handled):
        noteAnswer(to: connection.request)
        connection.request = nil
        phase = .connected(connection)
        guard acknowledge(handled) else { return }
        continueSession()
      case .enable, .enabled, .resume, .resumed, .failed: break
      }
    }

    /// After an acknowledgement: the next request, or the end that was waiting for it.
    private mutating func continueSession() {
      guard case .connected(let connection) = phase, let session else { return }
      let isAllAcknowledged = session.unacknowledged.isEmpty
      switch connection.stage {
      case .ending(_, isClosed: false) where isAllAcknowledged: closeStream()
      // Another ping would itself be unacknowledged, and so on for ever.
      case .online, .ending(_, isClosed: false):
        if !isAllAcknowledged, session.isManaged || !session.unacknowledgedRows.isEmpty {
          requestAcknowledgement()
        }
      default: break
      }
    }

    /// Takes the server's count of stanzas. False if it is impossible: then the connection has failed.
    mutating func acknowledge(_ h: UInt32) -> Bool {
      guard let session else { return false }
      guard let position = session.position(of: h) else {
        fail(
          .wrongAcknowledgement(h: h, acknowledged: session.acknowledged, sent: session.sent))
        return false
      }
      acknowledge(through: position)
      return true
    }

    private mutating func acknowledge(through position: UInt64) {
      guard var session, position > session.acknowledged else { return }
      blamingErrorCount = 0
      let rows = session.acknowledge(through: position)
      self.session = session
      if !rows.isEmpty {
        pace.failureCount = 0
        perform(.acknowledged(rows))
      }
      // Last, so that a process that is killed in between finds no row that only its position acknowledges.
      perform(.record(.acknowledged(through: position)))
    }

    private mutating func noteAnswer(to request: StreamConnection.Request?) {
      guard let request else { return }
      pace.noteAnswer(after: now - request.sentAt, configuration.times)
    }

    /// Answers requests that nothing above answers, and takes answers to the machine's own.
    private mutating func take(_ iq: IQStanza) {
      guard iq.isRequest else { return takeAnswer(iq) }
      let namespace = iq.payload.first?.namespace ?? ""
      guard !configuration.answeredAbove.contains(namespace) else { return }
      let answer: IQStanza
      if iq.kind == .get, iq[Ping.self] != nil {
        answer = iq.result()
      } else if iq.kind == .get, let query = iq[DiscoInfo.self] {
        var abilities = configuration.abilities
        abilities.node = query.node
        answer = iq.result(abilities.element)
      } else {
        answer = iq.refusal(StanzaError(.cancel, .serviceUnavailable))
      }
      // A server that acknowledges nothing gets no more answers than it gets messages.
      guard let session, session.unacknowledged.count < 2 * configuration.unacknowledgedMax else {
        return
      }
      transmit([OutgoingStanza(row: nil, answer.element)])
    }

    private mutating func takeAnswer(_ iq: IQStanza) {
      guard case .connected(var connection) = phase, let ping = connection.request?.ping,
        iq.id == ping.id, isOwnServer(iq.from)
      else { return }
      noteAnswer(to: connection.request)
      connection.request = nil
      phase = .connected(connection)
      acknowledge(through: ping.position)
      continueSession()
    }

    /// Whether a sender is one's own server or account, and no peer that guessed an identifier.
    private func isOwnServer(_ from: JID?) -> Bool {
      guard let from, let session else { return true }
      return from == session.jid || from == session.jid.bare
        || from == JID(local: nil, domain: session.jid.domain, resource: nil)
    }

    mutating func clientStateChanged(_ state: ClientState) {
      guard state != clientState else { return }
      clientState = state
      guard case .connected(let connection) = phase, connection.stage.isOnline else { return }
      if state == .inactive { writeAcknowledgement() }
      if connection.features.offersClientState { writeClientState() }
    }

    /// Prosody holds back what it has not written when it hears that the app isn't in use, also answers, up to the next
    /// element that it takes for important: that is an acknowledgement.
    private mutating func writeClientState() {
      write(clientState.element)
      guard clientState == .inactive, session?.isManaged == true else { return }
      write(StreamManagement.request.element)
    }

    /// A new connection begins as active (XEP-0352, §5).
    mutating func announceClientState() {
      guard clientState == .inactive, case .connected(let connection) = phase,
        connection.features.offersClientState
      else { return }
      writeClientState()
    }
  }
#endif
