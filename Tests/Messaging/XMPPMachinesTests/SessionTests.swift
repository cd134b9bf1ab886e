#if Messaging
  import Essentials
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  @Suite("Sessions of a stream")
  struct SessionTests {
    @Test("a session is recorded before it is used, with carbons and presence")
    func began() throws {
      var stream = try ScriptedStream {
        $0.enablesCarbons = true
        $0.presence = PresenceStanza()
      }
      stream.goOnline()
      let jid = try #require(JID("me@a/r"))
      #expect(stream.records == [.began(StreamSession(number: 1, id: "id1", jid: jid))])
      guard case .record? = stream.actions.first, case .online(let online)? = stream.actions.last
      else {
        Issue.record("\(stream.actions)")
        return
      }
      #expect(online == StreamOnline(jid: jid, session: 1, isResumed: false, isManaged: true))
      #expect(stream.written.map(\.name) == ["iq", "presence", "r"])
      #expect(stream.machine.room == 254)
    }

    @Test("positions are recorded before bytes leave, and an acknowledgement names its rows")
    func positions() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.send(1...3)
      #expect(
        Array(stream.actions.prefix(3))
          == (1...3).map { .record(.sent(row: UInt64($0), position: UInt64($0))) })
      #expect(stream.written.map(\.name) == ["message", "message", "message", "r"])
      stream.receive(.answer(handled: 2))
      #expect(
        Array(stream.actions.prefix(2))
          == [.acknowledged([1, 2]), .record(.acknowledged(through: 2))])
      // One is open: the next request follows.
      #expect(stream.written == [StreamManagement.request.element])
      stream.receive(.answer(handled: 3))
      #expect(stream.actions == [.acknowledged([3]), .record(.acknowledged(through: 3))])
    }

    @Test("a resumed session sends what the server lacks, with new positions, before anything new")
    func resumption() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.send(1...4)
      stream.receive(ScriptedStream.incoming("x"))
      stream.handle(.handled(through: 1, session: 1))
      stream.handle(.closed(.transport("reset")))
      #expect(stream.machine.room == 0)
      stream.reconnect()
      #expect(stream.written == [StreamManagement.resume(previous: "id1", handled: 1).element])
      stream.receive(.resumed(previous: "id1", handled: 2))
      #expect(
        stream.records == [
          .acknowledged(through: 2), .sent(row: 3, position: 3), .sent(row: 4, position: 4),
        ])
      #expect(stream.written.compactMap { $0["id"] } == ["3", "4"])
      #expect(stream.online?.isResumed == true && stream.machine.room == 254)
      stream.send(5...5)
      #expect(stream.records == [.sent(row: 5, position: 5)])
    }

    @Test("a resumption that fails tells which rows the server has and which have an unknown fate")
    func failedResumption() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.send(1...4)
      stream.handle(.closed(.transport("reset")))
      stream.reconnect()
      stream.receive(.failed(.itemNotFound, handled: 3))
      #expect(
        Array(stream.actions.prefix(4)) == [
          .acknowledged([1, 2, 3]), .record(.acknowledged(through: 3)), .record(.ended), .lost([4]),
        ])
      stream.bind()
      stream.receive(.enabled(.init(id: "id2")))
      #expect(stream.online?.session == 2 && stream.online?.isResumed == false)
      // Nothing is sent again by itself.
      #expect(stream.written.isEmpty)
    }

    @Test("a new process resumes with what the store has, also if requests had moved the count")
    func newProcess() throws {
      let jid = try #require(JID("me@a/r"))
      var stored = StreamSession(number: 7, id: "id1", jid: jid)
      (stored.acknowledged, stored.handled) = (3, 9)
      let sent = [(5, 50), (6, 60), (2, 20)].map { position, row in
        SentStanza(position: UInt64(position), ScriptedStream.message(UInt64(row)))
      }
      var stream = ScriptedStream(
        StreamMachine(try ScriptedStream.configuration(), session: stored, unacknowledged: sent))
      stream.handle(.start)
      // A row whose position was acknowledged before the process ended.
      #expect(stream.actions.first == .acknowledged([20]))
      stream.reconnect()
      #expect(stream.written == [StreamManagement.resume(previous: "id1", handled: 9).element])
      stream.receive(.resumed(previous: "id1", handled: 5))
      #expect(stream.records == [.acknowledged(through: 5), .sent(row: 60, position: 6)])
      #expect(stream.online?.session == 7)
      stream.receive(ScriptedStream.incoming("x"))
      #expect(stream.actions == [.deliver(ScriptedStream.incoming("x"), count: 10)])
    }

    @Test("counts go on beyond 2^32")
    func wrapping() throws {
      let jid = try #require(JID("me@a/r"))
      var stored = StreamSession(number: 1, id: "id1", jid: jid)
      let base = UInt64(UInt32.max)
      (stored.acknowledged, stored.handled) = (base - 1, base)
      let sent = (0..<3).map { SentStanza(position: base + $0, ScriptedStream.message($0 + 1)) }
      var stream = ScriptedStream(
        StreamMachine(try ScriptedStream.configuration(), session: stored, unacknowledged: sent))
      stream.handle(.start)
      stream.reconnect()
      #expect(stream.written == [StreamManagement.resume(previous: "id1", handled: .max).element])
      stream.receive(.resumed(previous: "id1", handled: 0))
      #expect(stream.records.first == .acknowledged(through: base + 1))
      #expect(stream.records.last == .sent(row: 3, position: base + 2))
      stream.receive(ScriptedStream.incoming("x"))
      stream.handle(.handled(through: base + 1, session: 1))
      stream.receive(.request)
      #expect(stream.written == [StreamManagement.answer(handled: 0).element])
    }

    @Test(
      "an acknowledgement of what was not sent, or of less than before, is an error that keeps the rows",
      arguments: [3, 0, .max] as [UInt32])
    func wrongCount(h: UInt32) throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.send(1...2)
      stream.receive(.answer(handled: 1))
      stream.receive(.answer(handled: h))
      #expect(stream.failure == .wrongAcknowledgement(h: h, acknowledged: 1, sent: 2))
      #expect(stream.actions.contains(.lost([2])) && stream.records == [.ended])
      stream.reconnect()
      // The session whose counts are wrong is not resumed.
      #expect(stream.written.first?.name == "iq")
    }

    @Test(
      "The pauses after sessions that the server's faults end grow, also where a session has brought messages",
      arguments: [false, true])
    func faultyServer(isInvalid: Bool) throws {
      var stream = try ScriptedStream {
        $0.times.firstPause = .milliseconds(200)
        $0.times.longestPause = .seconds(1)
      }
      stream.goOnline()
      var pauses: [TimeSpan] = []
      for number in 1...12 {
        stream.receive(ScriptedStream.incoming("m\(number)"))
        if isInvalid {
          stream.handle(.invalid(.restricted))
        } else {
          stream.receive(.answer(handled: 1_000))
        }
        let retryAt = try #require(stream.retryAt)
        pauses.append(retryAt - stream.now)
        stream.wait(retryAt - stream.now)
        stream.handle(.opened(isEncrypted: true, ChannelBindings(), nonce: "nonce"))
        stream.authenticate()
        stream.sendFeatures(ScriptedStream.features)
        if isInvalid {
          stream.receive(.resumed(previous: "id1", handled: 0))
        } else {
          stream.bind()
          stream.receive(.enabled(.init(id: "id1")))
        }
        #expect(stream.online != nil)
      }
      // Also where the account is to be reached soon.
      let longest = TimeSpan.seconds(120)
      #expect(pauses.dropFirst(10).allSatisfy { longest <= $0 * 2 }, "\(pauses)")
      // A session that lasts begins anew.
      for _ in 0..<31 {
        stream.wait(.seconds(1))
        stream.receive(ScriptedStream.incoming("m"))
      }
      stream.handle(.invalid(.restricted))
      let retryAt = try #require(stream.retryAt)
      #expect(retryAt - stream.now <= .milliseconds(200))
    }

    @Test("a request is answered once, when what came before it is committed")
    func acknowledging() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      for id in ["a", "b", "c"] { stream.receive(ScriptedStream.incoming(id)) }
      stream.handle(.handled(through: 1, session: 1))
      #expect(stream.actions.isEmpty)
      stream.receive(.request)
      #expect(stream.written.isEmpty)
      // One that requests again before that isn't left without an answer: the stream may never pause.
      stream.receive(.request)
      #expect(stream.written == [StreamManagement.answer(handled: 1).element])
      stream.handle(.handled(through: 2, session: 1))
      #expect(stream.actions.isEmpty)
      stream.handle(.handled(through: 3, session: 1))
      #expect(stream.written == [StreamManagement.answer(handled: 3).element])
      // Counts of other sessions, and of stanzas that were never delivered, are ignored.
      stream.handle(.handled(through: 9, session: 1))
      stream.handle(.handled(through: 2, session: 2))
      stream.receive(.request)
      #expect(stream.written == [StreamManagement.answer(handled: 3).element])
    }

    @Test("a stanza that is still being committed is not delivered again after a resumption")
    func pendingCommit() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.receive(ScriptedStream.incoming("a"))
      stream.receive(ScriptedStream.incoming("b"))
      stream.handle(.closed(.transport("reset")))
      stream.reconnect()
      stream.handle(.handled(through: 1, session: 1))
      stream.receive(.resumed(previous: "id1", handled: 0))
      for id in ["a", "b"] {
        stream.receive(ScriptedStream.incoming(id))
        #expect(stream.actions.isEmpty)
      }
      stream.receive(ScriptedStream.incoming("c"))
      #expect(stream.actions == [.deliver(ScriptedStream.incoming("c"), count: 3)])
    }

    @Test("a stanza that the driver could not handle is delivered again after a resumption")
    func undelivered() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.receive(ScriptedStream.incoming("a"))
      stream.receive(ScriptedStream.incoming("b"))
      stream.handle(.undelivered(2))
      stream.handle(.handled(through: 1, session: 1))
      stream.handle(.closed(.transport("reset")))
      stream.reconnect()
      #expect(stream.written == [StreamManagement.resume(previous: "id1", handled: 1).element])
      stream.receive(.resumed(previous: "id1", handled: 0))
      stream.receive(ScriptedStream.incoming("b"))
      #expect(stream.actions == [.deliver(ScriptedStream.incoming("b"), count: 2)])
    }

    @Test("reading stops while hundreds of deliveries wait to be committed, and goes on after")
    func backPressure() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      var count = 0
      while stream.machine.wantsBytes, count < 10_000 {
        stream.receive(ScriptedStream.incoming("x"))
        count += 1
      }
      #expect(count == 512)
      stream.handle(.handled(through: 1, session: 1))
      #expect(stream.machine.wantsBytes)
    }

    @Test("more than the room is not sent, and room comes with acknowledgements")
    func room() throws {
      var stream = try ScriptedStream { $0.unacknowledgedMax = 3 }
      stream.goOnline()
      stream.send(1...5)
      #expect(stream.records.count == 3 && stream.machine.room == 0)
      stream.send(4...4)
      #expect(stream.actions.isEmpty)
      stream.receive(.answer(handled: 2))
      #expect(stream.machine.room == 2)
    }

    @Test("a row that is abandoned is not sent again by a resumption, and is not lost with it")
    func abandoned() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.send(1...3)
      stream.handle(.closed(.stream(StreamError(.policyViolation))))
      stream.handle(.abandoned([1, 99]))
      stream.reconnect()
      stream.receive(.resumed(previous: "id1", handled: 0))
      #expect(stream.records == [.sent(row: 2, position: 1), .sent(row: 3, position: 2)])
    }

    @Test("requests are answered here, unless they are answered above")
    func requests() throws {
      var stream = try ScriptedStream {
        $0.abilities = DiscoInfo(features: [Namespace.ping])
        $0.answeredAbove = ["urn:above"]
      }
      stream.goOnline()
      let (id, peer) = (try #require(StanzaID("1")), JID("b@c/d"))
      func answer(_ kind: IQStanza.Kind, _ child: XMPPWire.XMLElement) -> IQStanza? {
        stream.receive(IQStanza(kind, id: id, from: peer, payload: [child]).element)
        guard case .deliver? = stream.actions.first else { return nil }
        return stream.written.first.flatMap { IQStanza($0) }
      }
      #expect(answer(.get, Ping().element) == IQStanza(.result, id: id, to: peer))
      let info = answer(.get, DiscoInfo(node: "n").element)
      #expect(info?[DiscoInfo.self] == DiscoInfo(node: "n", features: [Namespace.ping]))
      #expect(answer(.set, XMLElement("odd", "urn:odd"))?.error?.condition == .serviceUnavailable)
      #expect(answer(.set, Ping().element)?.error?.condition == .serviceUnavailable)
      #expect(answer(.get, XMLElement("q", "urn:above")) == nil)
      #expect(answer(.result, Ping().element) == nil)
    }

    @Test(
      "a flood of pings by a server that acknowledges nothing keeps no more answers than a bound")
    func pingFlood() throws {
      var stream = try ScriptedStream { $0.unacknowledgedMax = 4 }
      stream.goOnline()
      let id = try #require(StanzaID("1"))
      let ping = IQStanza(.get, id: id, payload: [Ping().element]).element
      var answerCount = 0
      for _ in 0..<50 {
        stream.receive(ping)
        answerCount += stream.written.filter { $0.name == "iq" }.count
      }
      #expect(answerCount == 8)
    }

    @Test("invalid stanzas are counted and delivered")
    func invalidStanzas() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      let invalid = XMLElement("iq", Namespace.client, ["type": "odd"])
      stream.receive(invalid)
      #expect(stream.actions == [.deliver(invalid, count: 1)])
      stream.receive(XMLElement("odd", "urn:odd"))
      #expect(stream.actions.isEmpty)
    }

    @Test("a message that comes before the session is numbered is delivered after it, uncounted")
    func early() throws {
      var stream = try ScriptedStream()
      stream.open()
      stream.authenticate()
      stream.sendFeatures(ScriptedStream.features)
      stream.bind()
      stream.receive(ScriptedStream.incoming("early"))
      #expect(stream.actions.isEmpty)
      stream.receive(.enabled(.init(id: "id1")))
      #expect(stream.actions.last == .deliver(ScriptedStream.incoming("early"), count: 0))
      stream.receive(ScriptedStream.incoming("next"))
      #expect(stream.actions == [.deliver(ScriptedStream.incoming("next"), count: 1)])
    }

    @Test(
      "the answer to a ping acknowledges where there is no stream management, and a stranger's doesn't"
    )
    func unmanaged() throws {
      var stream = try ScriptedStream()
      stream.open()
      stream.authenticate()
      stream.sendFeatures([XMLElement("bind", Namespace.bind)])
      stream.bind()
      #expect(stream.online?.isManaged == false)
      stream.send(1...2)
      let ping = try #require(stream.written.last.flatMap { IQStanza($0) })
      #expect(ping[Ping.self] != nil)
      stream.receive(IQStanza(.result, id: ping.id, from: JID("stranger@b/c")).element)
      #expect(!stream.actions.contains(.acknowledged([1, 2])))
      stream.receive(IQStanza(.error, id: ping.id, from: JID("a")).element)
      #expect(stream.actions.contains(.acknowledged([1, 2])))
      stream.send(3...3)
      stream.handle(.closed(.transport("reset")))
      #expect(stream.actions.contains(.lost([3])))
    }

    @Test("a session whose unacknowledged stanzas end the stream twice is not resumed again")
    func blamingErrors() throws {
      for isAcknowledged in [false, true] {
        var stream = try ScriptedStream()
        stream.goOnline()
        stream.send(1...3)
        stream.receive(StreamError(.policyViolation).element)
        #expect(!stream.records.contains(.ended))
        stream.reconnect()
        stream.receive(.resumed(previous: "id1", handled: isAcknowledged ? 1 : 0))
        #expect(stream.online?.isResumed == true)
        stream.receive(StreamError(.policyViolation).element)
        // One that the server has taken meanwhile shows that it is not the first one.
        #expect(stream.records.contains(.ended) != isAcknowledged)
        #expect(stream.actions.contains(.lost([1, 2, 3])) != isAcknowledged)
      }
    }

    @Test("a bound of what the server has delivered is blamed on no stanza that was sent")
    func overrun() throws {
      for count in [999, 1_000] {
        var stream = try ScriptedStream()
        stream.goOnline()
        stream.send(1...1)
        for _ in 0..<count { stream.receive(XMLElement("message", Namespace.client)) }
        stream.receive(StreamError(.policyViolation).element)
        #expect((stream.failure?.blamedCondition == nil) == (count == 1_000))
        #expect(stream.failure?.retry == .soon)
      }
      // The server has taken an earlier stanza meanwhile.
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.send(1...2)
      for _ in 0..<1_000 { stream.receive(XMLElement("message", Namespace.client)) }
      stream.receive(.answer(handled: 1))
      stream.receive(StreamError(.policyViolation).element)
      #expect(stream.failure?.blamedCondition == "policy-violation")
    }

    @Test("a stream error that is about no stanza never ends a session")
    func harmlessErrors() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.send(1...1)
      for condition in [StreamError.Condition.systemShutdown, .reset, .internalServerError] {
        stream.receive(StreamError(condition).element)
        #expect(!stream.records.contains(.ended))
        stream.reconnect()
        stream.receive(.resumed(previous: "id1", handled: 0))
        #expect(stream.online?.isResumed == true, "\(condition)")
      }
      // A server that refuses connections has seen no stanza.
      for _ in 0..<3 {
        stream.handle(.closed(.transport("reset")))
        stream.open()
        stream.receive(StreamError(.policyViolation).element)
        #expect(!stream.records.contains(.ended) && stream.failure != nil)
      }
    }
  }
#endif
