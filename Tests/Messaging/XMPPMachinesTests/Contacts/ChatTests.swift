#if Messaging
  import Essentials
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  @Suite("Chat states and display markers")
  struct ChatTests {
    private func connected(limits: ContactLimits = ContactLimits()) throws -> ContactRun {
      var run = try ContactRun(limits: limits)
      try run.connect()
      try run.receiveRoster("<item jid='bob@x' subscription='both'/>")
      run.notices = []
      run.sent = []
      return run
    }

    private func bob() throws -> JID { try ContactRun.jid("bob@x") }

    /// The peer's app shows what it can do.
    private func show(_ run: inout ContactRun, from sender: String = "bob@x") {
      var message = InboundMessage(
        sender: sender, recipient: "ann@chat.example", id: "1",
        kind: .content(MessageContent(body: "x")), date: 1)
      message.showsChatStates = true
      message.isMarkable = true
      #expect(run.machine.learns(from: message))
      run.handle(.message(message))
      #expect(!run.machine.learns(from: message))
    }

    private func state(_ name: String, _ more: String = "", from sender: String = "bob@x/a")
      -> String
    {
      "<message from='\(sender)' type='chat'><\(name) xmlns='http://jabber.org/protocol/chatstates'/>"
        + more + "</message>"
    }

    private func sentStates(_ run: ContactRun) -> [ChatState] {
      run.sent.compactMap { MessageStanza($0)?[ChatState.self] }
    }

    @Test func `Typing is shown until its end, its message, or a minute of silence`() throws {
      var run = try connected()
      func typed() throws -> [ContactNotice] { [.chatState(try bob(), .composing)] }
      func ended(_ state: ChatState) throws -> ContactNotice { .chatState(try bob(), state) }
      for _ in 0..<3 { try run.receive(state("composing")) }
      #expect(run.notices == (try typed()))
      try run.receive(state("paused"))
      #expect(run.notices.last == (try ended(.paused)))
      try run.receive("<message from='bob@x/a' type='chat'><body>done</body></message>")
      #expect(run.notices.last == (try ended(.active)))
      try run.receive(state("composing"))
      run.wait(.seconds(59))
      #expect(run.notices.last == (try typed()[0]))
      run.wait(.seconds(1))
      #expect(run.notices.last == (try ended(.inactive)) && run.machine.nextWake == nil)
    }

    @Test func `Typing ends when its resource leaves, and with the session`() throws {
      var run = try connected()
      try run.receive("<presence from='bob@x/a'/><presence from='bob@x/b'/>")
      try run.receive(state("composing"))
      try run.receive("<presence from='bob@x/b' type='unavailable'/>")
      #expect(run.machine.chats.activities.count == 1)
      try run.receive("<presence from='bob@x/a' type='unavailable'/>")
      #expect(run.machine.chats.activities.isEmpty)
      try run.receive(state("composing"))
      run.handle(.disconnected(isTooLong: false))
      try run.connect(isResumed: true)
      #expect(run.machine.chats.activities.count == 1)
      try run.connect()
      #expect(run.notices.contains(.chatState(try bob(), .inactive)))
      #expect(run.machine.chats.activities.isEmpty)
    }

    @Test func `Typing of rooms, of the past, of one's own and of blocked accounts isn't shown`()
      throws
    {
      var run = try connected()
      run.handle(.request(ticket: 1, .block(try ContactRun.jid("eve@x"))))
      run.notices = []
      try run.receive(state("composing", from: "eve@x/a"))
      try run.receive(state("composing", from: "ann@chat.example/b"))
      try run.receive(
        state("composing", "<delay xmlns='urn:xmpp:delay' stamp='2026-01-01T00:00:00Z'/>"))
      try run.receive(
        state("composing").replacing("type='chat'", with: "type='groupchat'"))
      try run.receive(state("composing").replacing("type='chat'", with: "type='error'"))
      #expect(run.notices.isEmpty)
    }

    @Test func `Own typing goes once to peers that have shown theirs, and ends by itself`() throws {
      var run = try connected()
      run.handle(.request(ticket: 1, .setChatState(.composing, to: try bob())))
      #expect(run.answers[1] == .unsupported && run.sent.isEmpty)
      show(&run)
      for ticket in 2...5 as ClosedRange<UInt64> {
        run.handle(.request(ticket: ticket, .setChatState(.composing, to: try bob())))
        run.wait(.seconds(10))
      }
      #expect(sentStates(run) == [.composing])
      #expect(run.sent[0].child("no-store", Namespace.hints) != nil)
      run.wait(.seconds(20))
      #expect(sentStates(run) == [.composing, .paused])
      run.handle(.request(ticket: 6, .setChatState(.composing, to: try bob())))
      run.handle(.sent(to: "bob@x"))
      run.wait(.seconds(60))
      #expect(sentStates(run) == [.composing, .paused, .composing])
      run.handle(.disconnected(isTooLong: false))
      run.handle(.request(ticket: 7, .setChatState(.composing, to: try bob())))
      #expect(run.answers[7] == .offline)
    }

    @Test func `A display marker goes to peers that want it, after a restart, too`() throws {
      var run = try connected()
      run.handle(.request(ticket: 1, .markDisplayed("m1", from: try bob())))
      #expect(run.answers[1] == .unsupported && run.sent.isEmpty)
      show(&run)
      run.handle(.request(ticket: 2, .markDisplayed("m1", from: try bob())))
      let sent = try #require(run.sent.last.flatMap { MessageStanza($0) })
      #expect(sent[ChatMarker.self] == .displayed(try #require(StanzaID("m1"))))
      #expect(sent[ProcessingHint.self] == .store)
      #expect(try sent.to == bob())
      run.handle(.disconnected(isTooLong: false))
      run.sent = []
      for name in ["m2", "m3"] {
        run.handle(.request(ticket: 3, .markDisplayed(name, from: try bob())))
      }
      #expect(run.answers[3] == .some(nil) && run.sent.isEmpty)
      run.restart()
      try run.connect(isResumed: true)
      let markers = run.sent.compactMap { MessageStanza($0)?[ChatMarker.self] }
      #expect(markers == [.displayed(try #require(StanzaID("m3")))])
      #expect(run.stored.chatPeers.map(\.displayed) == [nil])
    }

    @Test func `Strangers can't fill the memory with typing and messages`() throws {
      var limits = ContactLimits()
      (limits.chatPeerCountMax, limits.chatActivityCountMax) = (3, 2)
      var run = try connected(limits: limits)
      for number in 0..<6 {
        try run.receive(state("composing", from: "m\(number)@x/a"))
        show(&run, from: "m\(number)@x")
      }
      #expect(run.machine.chats.activities.count == 2)
      #expect(run.stored.chatPeers.map(\.address) == ["m3@x", "m4@x", "m5@x"])
    }
  }
#endif
