#if Messaging
  internal import Essentials
  internal import XMPPWire

  /// From an open connection to a session.
  extension StreamMachine {
    mutating func opened(isEncrypted: Bool, _ bindings: ChannelBindings, nonce: String) {
      guard case .connecting = phase else { return }
      phase = .connected(
        StreamConnection(
          stage: .opening(isAuthenticated: false), isEncrypted: isEncrypted, bindings: bindings,
          nonce: nonce, deadline: now + configuration.times.negotiation, lastReceived: now))
      writeHeader()
    }

    mutating func encrypted(_ bindings: ChannelBindings) {
      guard case .connected(var connection) = phase, case .establishingTLS = connection.stage else {
        return
      }
      connection.isEncrypted = true
      connection.bindings = bindings
      connection.stage = .opening(isAuthenticated: false)
      connection.lastStep = now
      phase = .connected(connection)
      writeHeader()
    }

    /// The account is named under TLS only (RFC 6120, §4.7.1).
    mutating func writeHeader() {
      guard case .connected(let connection) = phase else { return }
      let account = configuration.account
      perform(
        .write(
          XMLWriter.opening(
            StreamHeader(
              from: connection.isEncrypted ? account.description : nil, to: account.domain))))
    }

    /// Moves the negotiation on.
    mutating func advance(to stage: StreamConnection.Stage) {
      guard case .connected(var connection) = phase else { return }
      connection.stage = stage
      connection.lastStep = now
      if case .computing = stage {
        connection.deadline = nil
      } else if connection.deadline == nil {
        connection.deadline = now + configuration.times.negotiation
      }
      phase = .connected(connection)
    }

    mutating func received(_ element: XMLElement, _ connection: StreamConnection) {
      switch connection.stage {
      case .opening(let isAuthenticated):
        guard let features = StreamFeatures(element) else { return unexpected(element) }
        take(features, isAuthenticated: isAuthenticated)
      case .startingTLS:
        guard element.has("proceed", Namespace.tls) else {
          return element.has("failure", Namespace.tls) ? fail(.noTLS) : unexpected(element)
        }
        advance(to: .establishingTLS)
        perform(.startTLS)
      // In clear text after the consent: never a part of the protected stream.
      case .establishingTLS: break
      case .computing, .authenticating, .proving, .provingToken: authenticate(element, connection)
      case .bound(let jid, let enabled): receivedWhenBound(element, jid, enabled)
      case .resuming:
        guard let answer = StreamManagement(element) else { return unexpected(element) }
        resumed(answer, element)
      case .binding(let id): bound(element, request: id)
      case .enabling(let jid, let early): enabled(element, jid, early: early)
      case .online, .ending: receivedInSession(element)
      }
    }

    mutating func unexpected(_ element: XMLElement) {
      fail(.unexpected(String(element.name.prefix(64))))
    }

    private mutating func take(_ features: StreamFeatures, isAuthenticated: Bool) {
      guard case .connected(var connection) = phase else { return }
      connection.features = features
      phase = .connected(connection)
      guard connection.isEncrypted else {
        guard features.offersTLS else { return fail(.noTLS) }
        advance(to: .startingTLS)
        return write(XMLElement("starttls", Namespace.tls))
      }
      guard isAuthenticated else { return beginAuthentication(connection) }
      guard features.offersStreamManagement, let resumption = beginResumption() else {
        return bind()
      }
      advance(to: .resuming)
      write(resumption.element)
    }

    private mutating func resumed(_ answer: StreamManagement, _ element: XMLElement) {
      guard let session else { return unexpected(element) }
      switch answer {
      case .resumed(let previous, let handled) where previous == session.id:
        resume(handled: handled)
      case .failed(_, let handled):
        if let handled, !acknowledge(handled) { return }
        dropSession()
        bind()
      default: unexpected(element)
      }
    }

    /// Goes on with the session from the server's count.
    mutating func resume(handled: UInt32) {
      guard acknowledge(handled), var session else { return }
      let stanzas = session.takeUnsent()
      self.session = session
      enterSession()
      transmit(stanzas)
      announceClientState()
      online(
        StreamOnline(jid: session.jid, session: session.number, isResumed: true, isManaged: true))
    }

    private mutating func bind() {
      // The server has forgotten the session, or can't resume any.
      dropSession()
      let id = makeRequestID()
      advance(to: .binding(id))
      let resource = isResourceRefused ? nil : configuration.resource
      write(
        IQStanza(.set, id: id, payload: [ResourceBinding.wish(resource: resource).element]).element)
    }

    private mutating func bound(_ element: XMLElement, request: StanzaID) {
      guard let iq = IQStanza(element) else { return unexpected(element) }
      guard iq.id == request else { return }
      if let error = iq.error {
        guard !isResourceRefused, configuration.resource != nil else {
          return fail(.bindingRefused(error))
        }
        isResourceRefused = true
        return bind()
      }
      guard iq.kind == .result, case .assigned(let jid)? = iq[ResourceBinding.self], !jid.isBare
      else { return unexpected(element) }
      guard case .connected(let connection) = phase, connection.features.offersStreamManagement
      else { return beginSession(jid, nil, early: []) }
      advance(to: .enabling(jid, early: []))
      write(StreamManagement.enable(resumes: true).element)
    }

    /// Stanzas that come before the session are few: nothing has announced it.
    private static let earlyCountMax = 16

    private mutating func enabled(_ element: XMLElement, _ jid: JID, early: [XMLElement]) {
      switch StreamManagement(element) {
      case .enabled(let values): beginSession(jid, values, early: early)
      case .failed: beginSession(jid, nil, early: early)
      // Counts begin with the session.
      case .request: break
      default:
        guard Stanza.isCounted(element), early.count < Self.earlyCountMax else {
          return unexpected(element)
        }
        advance(to: .enabling(jid, early: early + [element]))
      }
    }

    mutating func beginSession(
      _ jid: JID, _ enabled: StreamManagement.Enabled?, early: [XMLElement]
    ) {
      lastSession += 1
      let session = StreamSessionState(number: lastSession, jid: jid, enabled)
      self.session = session
      perform(.record(.began(session.stored)))
      var requested = StreamConnection.InlineRequests()
      if case .connected(let connection) = phase { requested = connection.requested }
      enterSession()
      var stanzas: [OutgoingStanza] = []
      if configuration.enablesCarbons, !requested.hasCarbons {
        stanzas.append(
          OutgoingStanza(
            row: nil, IQStanza(.set, id: makeRequestID(), payload: [Carbon.enable]).element))
      }
      if let presence = configuration.presence {
        stanzas.append(OutgoingStanza(row: nil, presence.element))
      }
      transmit(stanzas)
      if let state = requested.clientState {
        // The app may have changed it since.
        if state != clientState { write(clientState.element) }
      } else {
        announceClientState()
      }
      online(
        StreamOnline(
          jid: jid, session: session.number, isResumed: false, isManaged: session.isManaged))
      for element in early { perform(.deliver(element, count: 0)) }
    }

    private mutating func online(_ online: StreamOnline) {
      guard case .connected(let connection) = phase else { return }
      var online = online
      online.offersRosterVersions = connection.features.offersRosterVersions
      online.offersPreApproval = connection.features.offersPreApproval
      perform(.online(online))
    }

    private mutating func enterSession() {
      guard case .connected(var connection) = phase else { return }
      connection.stage = .online
      connection.deadline = nil
      connection.onlineSince = now
      phase = .connected(connection)
      redirectCount = 0
      triedLocation = false
      if connection.profile == .extensible { extensibleFailureCount = 0 }
    }

    mutating func makeRequestID() -> StanzaID {
      requestCount += 1
      guard let id = StanzaID("\(Self.requestPrefix)\(lastSession)-\(requestCount)") else {
        preconditionFailure("an identifier of the machine is too long")
      }
      return id
    }

    /// How the identifiers of the machine's own requests begin.
    package static let requestPrefix = "ambit-stream-"
  }
#endif
