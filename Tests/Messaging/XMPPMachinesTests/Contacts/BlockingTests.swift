#if Messaging
  import Essentials
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  @Suite("Blocked addresses")
  struct BlockingTests {
    private func jid(_ text: String) throws -> JID { try ContactRun.jid(text) }

    private func push(_ run: inout ContactRun, _ text: String, from: String = "") throws {
      try run.receive("<iq type='set' id='p' \(from)>\(text)</iq>")
    }

    @Test func `An address is blocked from the request on, and no more after a refusal`() throws {
      var run = try ContactRun()
      try run.connect()
      run.handle(.request(ticket: 1, .block(try jid("eve@x"))))
      #expect(run.machine.blocks.isBlocked(try jid("eve@x/phone")))
      #expect(run.answers.isEmpty && run.stored.blocked.count == 1)
      try run.receive("<iq type='result' id='\(try run.lastRequest())'/>")
      #expect(run.answers == [1: nil])
      run.handle(.request(ticket: 2, .block(try jid("bob@x"))))
      try run.receive(
        """
        <iq type='error' id='\(try run.lastRequest())'><error type='cancel'>
        <forbidden xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>
        """)
      #expect(run.machine.blocks.addresses == [try jid("eve@x")])
      guard case .refused?? = run.answers[2] else {
        Issue.record("\(run.answers)")
        return
      }
      run.handle(.request(ticket: 3, .unblock(try jid("eve@x"))))
      #expect(run.machine.blocks.isBlocked(try jid("eve@x")))
      try run.receive("<iq type='result' id='\(try run.lastRequest())'/>")
      #expect(run.machine.blocks.addresses.isEmpty && run.answers[3] == .some(nil))
    }

    @Test func `A push of another device has effect, and one of another sender has none`() throws {
      var run = try ContactRun()
      try run.connect(blocked: ["old@x"])
      let block = "<block xmlns='urn:xmpp:blocking'><item/><item jid='eve@x'/></block>"
      try push(&run, block, from: "from='mallory@x'")
      #expect(run.machine.blocks.addresses == [try jid("old@x")])
      #expect(run.notices.last == .forged(from: try jid("mallory@x")))
      try push(&run, block)
      #expect(run.machine.blocks.addresses == [try jid("eve@x"), try jid("old@x")])
      #expect(run.notices.contains(.problem(.blockListIncomplete(count: 1))))
      #expect(run.sent.last?["type"] == "result")
      try push(&run, "<unblock xmlns='urn:xmpp:blocking'><item jid='@'/></unblock>")
      #expect(run.machine.blocks.addresses.count == 2)
      try push(&run, "<unblock xmlns='urn:xmpp:blocking'/>")
      #expect(run.machine.blocks.addresses.isEmpty)
      try push(&run, "<block xmlns='urn:xmpp:blocking'/>")
      #expect(run.sent.last?["type"] == "error")
    }

    @Test func `The list of a new session replaces the stored one`() throws {
      var run = try ContactRun()
      try run.connect(blocked: ["eve@x", "kim@x"])
      run.restart()
      #expect(run.machine.blocks.addresses.count == 2)
      try run.connect(blocked: ["kim@x", "bob@x"])
      #expect(run.machine.blocks.addresses == [try jid("bob@x"), try jid("kim@x")])
    }

    @Test func `A server without blocking keeps nothing waiting, nor does a silent one`() throws {
      var run = try ContactRun()
      try run.connect(blocked: nil)
      #expect(run.machine.isBlockListAwaited)
      run.wait(.seconds(5))
      #expect(!run.machine.isBlockListAwaited)
      #expect(run.notices == [.problem(.blockListUnavailable(.noAnswer))])
      try run.connect(blocked: nil)
      let id = try #require(
        run.sent.last { $0.child("blocklist", Namespace.blocking) != nil }?["id"])
      try run.receive("<iq type='error' id='\(id)'><error type='cancel'/></iq>")
      #expect(!run.machine.isBlockListAwaited)
    }

    @Test func `A list beyond the bound is reported, and the last one is kept`() throws {
      var limits = ContactLimits()
      limits.blockedCountMax = 2
      var run = try ContactRun(limits: limits)
      try run.connect(blocked: ["a@x"])
      try run.connect(blocked: ["b@x", "c@x", "d@x"])
      #expect(run.machine.blocks.addresses == [try jid("a@x")])
      #expect(run.notices.last == .problem(.blockListTooLarge))
      let items = (0..<5).map { "<item jid='m\($0)@x'/>" }.joined()
      try push(&run, "<block xmlns='urn:xmpp:blocking'>\(items)</block>")
      #expect(run.machine.blocks.addresses.count == 2)
    }

    @Test func `A list that is longer than a stanza is requested once`() throws {
      var run = try ContactRun()
      try run.connect(blocked: nil)
      run.handle(.disconnected(isTooLong: true))
      (run.sent, run.notices) = ([], [])
      try run.connect(blocked: nil)
      #expect(run.sent.map(\.name) == ["iq", "presence"])
      #expect(run.sent.allSatisfy { $0.child("blocklist", Namespace.blocking) == nil })
      #expect(run.notices == [.problem(.blockListTooLarge)])
      // The roster may be too long beside it.
      run.handle(.disconnected(isTooLong: true))
      run.sent = []
      try run.connect(blocked: nil)
      #expect(run.sent.map(\.name) == ["presence"])
    }

    @Test func `A block that is confirmed after others have taken its place is reported`() throws {
      var limits = ContactLimits()
      limits.blockedCountMax = 2
      var run = try ContactRun(limits: limits)
      try run.connect()
      run.handle(.request(ticket: 1, .block(try jid("eve@x"))))
      let id = try run.lastRequest()
      try push(&run, "<unblock xmlns='urn:xmpp:blocking'/>")
      try push(
        &run, "<block xmlns='urn:xmpp:blocking'><item jid='a@x'/><item jid='b@x'/></block>")
      try run.receive("<iq type='result' id='\(id)'/>")
      #expect(run.machine.blocks.addresses == [try jid("a@x"), try jid("b@x")])
      #expect(run.notices.last == .problem(.blockListTooLarge))
      #expect(run.answers == [1: nil])
    }

    @Test func `A blocked contact isn't available`() throws {
      var run = try ContactRun()
      try run.connect()
      try run.receiveRoster("<item jid='bob@x' subscription='both'/>")
      try run.receive("<presence from='bob@x/phone'/>")
      run.handle(.request(ticket: 1, .block(try jid("bob@x"))))
      #expect(run.machine.resources(of: try jid("bob@x")).isEmpty)
      try run.receive("<presence from='bob@x/phone'/>")
      #expect(run.stored.resources.isEmpty)
    }

    @Test func `A domain blocks its accounts, and a resource only itself`() throws {
      var list = BlockList()
      list.set(BlockedAddress(try jid("x"), since: 10))
      list.set(BlockedAddress(try jid("bob@y/phone"), since: 10, until: nil))
      list.set(BlockedAddress(try jid("kim@y"), since: 10, until: 20))
      #expect(try list.isBlocked(jid("eve@x/a")))
      #expect(try !list.isBlocked(jid("eve@xx")))
      #expect(try list.isBlocked(jid("bob@y/phone")))
      #expect(try !list.isBlocked(jid("bob@y/desk")))
      #expect(!list.isBlocked(try jid("kim@y")))
      let kim = try jid("kim@y/a")
      let found = [9, 10, 20, 21].map { list.isBlocked(kim, at: $0) }
      #expect(found == [false, true, true, false])
    }

    @Test func `Ends of blocks are kept for archives, up to a bound`() throws {
      var limits = ContactLimits()
      limits.endedBlockCountMax = 2
      var run = try ContactRun(limits: limits)
      for number in 0..<4 {
        run.wait(.seconds(1))
        try run.connect(blocked: ["m\(number)@x"])
      }
      try run.connect()
      #expect(
        run.stored.blocked.filter { $0.until != nil }.map(\.jid.description).sorted()
          == ["m2@x", "m3@x"])
      run.wait(.seconds(91 * 86_400))
      try run.connect()
      #expect(run.stored.blocked.isEmpty)
    }
  }
#endif
