#if Messaging
  package import Essentials
  package import XMPPWire

  /// The stream of an external component (XEP-0114), which is established again after each end.
  package struct ComponentMachine: Sendable {
    package struct Times: Hashable, Sendable {
      /// For the connection, and for each answer of the server.
      package var answer: TimeSpan = .seconds(20)
      /// The silence after which the server has to answer.
      package var silence: TimeSpan = .seconds(60)
      package var firstPause: TimeSpan = .seconds(1)
      package var longestPause: TimeSpan = .seconds(60)
      /// A connection that has lasted for this long is followed by the shortest pause.
      package var stable: TimeSpan = .seconds(30)
      /// The pause when another program has the domain; it doubles up to the longer one.
      package var firstConflictPause: TimeSpan = .seconds(5)
      package var longestConflictPause: TimeSpan = .seconds(900)

      package init() {}
    }

    package enum Event: Sendable {
      case start
      case stop
      /// The connection that was wanted is open.
      case opened
      /// It has failed or ended, for this reason.
      case closed(String)
      case received(StreamItem)
      case invalid(XMLStreamError)
      /// The digest that was wanted.
      case computed([UInt8])
      case send(XMLElement)
      /// Another program is connected with the domain.
      case conflict
    }

    /// Why a connection has ended.
    package enum End: Hashable, Sendable {
      /// Another program is connected with the domain, and the next attempt follows after this time.
      case conflict(retryAfter: TimeSpan)
      case failed(String)
      case stopped
    }

    package enum Action: Hashable, Sendable {
      case open
      case close
      case write([UInt8])
      /// Compute the SHA-1 digest of the stream's id and the secret.
      case compute(streamID: String)
      case online
      case deliver(Stanza)
      /// The connection has ended. Another one follows, unless it was stopped.
      case offline(End)
    }

    private enum State: Hashable, Sendable {
      case stopped
      case pausing(until: Instant)
      /// Connecting, opening the stream, or waiting for the server's word on the handshake.
      case negotiating(until: Instant)
      case online(quietAt: Instant, isAsked: Bool)
    }

    package let domain: JID
    private let times: Times
    private var random: SeededGenerator
    private var state = State.stopped
    private var failureCount = 0
    private var conflictCount = 0
    private var onlineSince: Instant?
    private var pingCount: UInt64 = 0
    /// How the identifiers of this process's pings begin.
    private let pingPrefix: String

    package init(domain: JID, times: Times = Times(), seed: UInt64) {
      self.domain = domain
      self.times = times
      random = SeededGenerator(seed: seed)
      pingPrefix = "live-\(random.next() >> 16)-"
    }

    package var nextWake: Instant? {
      switch state {
      case .stopped: nil
      case .pausing(let due), .negotiating(let due), .online(let due, _): due
      }
    }

    package var isOnline: Bool { if case .online = state { true } else { false } }

    package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
      switch event {
      case .start: if state == .stopped { connect(now, &actions) }
      case .stop:
        guard state != .stopped else { return }
        if isOnline { actions += [.write(XMLWriter.closing), .offline(.stopped)] }
        state = .stopped
        actions.append(.close)
      case .opened:
        guard isNegotiating else { return }
        state = .negotiating(until: now + times.answer)
        actions.append(.write(ComponentStream.opening(domain: domain.description)))
      case .closed(let reason): fail(reason, now, &actions)
      case .conflict: giveWay(now, &actions)
      case .invalid: fail("the server sends no XML that XMPP allows", now, &actions)
      case .received(let item): receive(item, now, &actions)
      case .computed(let digest):
        if isNegotiating { actions.append(.write(ComponentStream.handshake(digest))) }
      case .send(let element):
        if isOnline { actions.append(.write(ComponentStream.bytes(of: element))) }
      }
    }

    package mutating func wake(now: Instant, into actions: inout [Action]) {
      guard let due = nextWake, due <= now else { return }
      switch state {
      case .stopped: break
      case .pausing: connect(now, &actions)
      case .negotiating: fail("the server doesn't answer in time", now, &actions)
      case .online(_, isAsked: true): fail("the server is silent", now, &actions)
      case .online(_, isAsked: false):
        state = .online(quietAt: now + times.answer, isAsked: true)
        pingCount += 1
        guard let id = StanzaID(pingPrefix + "\(pingCount)") else { return }
        let ping = IQStanza(.get, id: id, from: domain, to: domain, payload: [Ping().element])
        actions.append(.write(ComponentStream.bytes(of: ping.element)))
      }
    }

    private var isNegotiating: Bool { if case .negotiating = state { true } else { false } }

    private mutating func connect(_ now: Instant, _ actions: inout [Action]) {
      state = .negotiating(until: now + times.answer)
      actions.append(.open)
    }

    private mutating func receive(
      _ item: StreamItem, _ now: Instant, _ actions: inout [Action]
    ) {
      guard isNegotiating || isOnline else { return }
      switch item {
      case .header(let header):
        guard isNegotiating, let id = header.id, !id.isEmpty else {
          return fail("the server begins no stream for components", now, &actions)
        }
        actions.append(.compute(streamID: id))
      case .end: fail("the server has closed the stream", now, &actions)
      case .element(let element):
        if let error = StreamError(element) {
          if error.condition == .conflict { return giveWay(now, &actions) }
          let text = error.text.map { ": \($0)" } ?? ""
          return fail("\(error.condition.rawValue)\(text)", now, &actions)
        }
        if isNegotiating {
          guard ComponentStream.isAcceptance(element) else {
            return fail("the server doesn't answer the handshake", now, &actions)
          }
          onlineSince = now
          state = .online(quietAt: now + times.silence, isAsked: false)
          actions.append(.online)
          return
        }
        state = .online(quietAt: now + times.silence, isAsked: false)
        // The machine's own ping has done its work.
        if element["id"]?.hasPrefix(pingPrefix) == true, element["from"] == domain.description {
          return
        }
        if let stanza = Stanza(ComponentStream.clientElement(element)) {
          actions.append(.deliver(stanza))
        }
      }
    }

    private mutating func fail(_ reason: String, _ now: Instant, _ actions: inout [Action]) {
      guard isNegotiating || isOnline else { return }
      noteEnd(now)
      failureCount += 1
      let pause = pause(times.firstPause, times.longestPause, failureCount)
      end(.failed(reason), pause, now, &actions)
    }

    /// Another program with the domain would lose its connection again and again, and take this one's.
    private mutating func giveWay(_ now: Instant, _ actions: inout [Action]) {
      guard isNegotiating || isOnline else { return }
      noteEnd(now)
      conflictCount += 1
      let pause = pause(times.firstConflictPause, times.longestConflictPause, conflictCount)
      end(.conflict(retryAfter: pause), pause, now, &actions)
    }

    private mutating func noteEnd(_ now: Instant) {
      defer { onlineSince = nil }
      guard let onlineSince else { return }
      if now - onlineSince >= times.stable { failureCount = 0 }
      if now - onlineSince >= times.longestConflictPause { conflictCount = 0 }
    }

    private mutating func end(
      _ end: End, _ pause: TimeSpan, _ now: Instant, _ actions: inout [Action]
    ) {
      actions += [.close, .offline(end)]
      state = .pausing(until: now + pause)
    }

    /// Doubled with each failure, and shorter by up to a quarter, so that programs don't come together.
    private mutating func pause(
      _ first: TimeSpan, _ longest: TimeSpan, _ count: Int
    ) -> TimeSpan {
      let pause = min(longest, first * (1 << Int64(min(20, count - 1))))
      return TimeSpan(nanoseconds: Int64(Double(pause.nanoseconds) * (1 - random.unit() / 4)))
    }
  }
#endif
