#if Messaging
  import Essentials
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  @Suite("The roster")
  struct RosterTests {
    private let two = "<item jid='bob@x' name='Bob' subscription='both'/><item jid='eve@x'/>"

    @Test func `A new session requests the roster before it announces itself`() throws {
      var run = try ContactRun()
      try run.connect(hasVersions: false)
      #expect(run.sent.map(\.name) == ["iq", "presence"])
      #expect(run.sent[0].child("query", Namespace.roster)?["ver"] == nil)
      try run.receiveRoster(two, version: nil)
      #expect(run.addresses == ["bob@x", "eve@x"])
      #expect(run.notices.last == .rosterLoaded)
    }

    @Test func `A roster that has not changed is not sent again`() throws {
      var run = try ContactRun()
      try run.connect()
      #expect(run.sent[0].child("query", Namespace.roster)?["ver"] == "")
      try run.receiveRoster(two, version: "v7")
      run.restart()
      #expect(run.addresses == ["bob@x", "eve@x"])
      try run.connect()
      let query = run.sent.last { $0.name == "iq" }?.child("query", Namespace.roster)
      #expect(query?["ver"] == "v7")
      try run.receive("<iq type='result' id='\(try run.lastRequest())'/>")
      #expect(run.addresses == ["bob@x", "eve@x"] && run.notices.last == .rosterLoaded)
    }

    @Test func `A roster of another device's changes replaces the stored one`() throws {
      var run = try ContactRun()
      try run.connect()
      try run.receiveRoster(two)
      run.notices = []
      try run.connect()
      try run.receiveRoster("<item jid='bob@x' name='Bob' subscription='both'/><item jid='kim@x'/>")
      let kim = RosterItem(try ContactRun.jid("kim@x"))
      #expect(
        run.notices == [
          .contact(kim.jid, kim), .contact(try ContactRun.jid("eve@x"), nil), .rosterLoaded,
        ])
      #expect(run.stored.roster.count == 2)
    }

    @Test func `A push changes one contact and is answered`() throws {
      var run = try ContactRun()
      try run.connect()
      try run.receiveRoster(two)
      try run.receivePush("<item jid='bob@x' subscription='remove'/>", version: "2")
      #expect(run.addresses == ["eve@x"] && run.stored.rosterVersion == "2")
      try run.receivePush("<item jid='kim@x'/>", from: "from='ann@chat.example'", version: "3")
      #expect(run.addresses == ["eve@x", "kim@x"])
      #expect(run.sent.suffix(2).map { $0["type"] } == ["result", "result"])
      #expect(run.stored.rosterVersion == "3")
    }

    @Test(arguments: ["eve@x", "chat.example", "ann@chat.example/other", "ann@chat.example.evil"])
    func `A push of another sender changes nothing and gets no answer`(sender: String) throws {
      var run = try ContactRun()
      try run.connect()
      try run.receiveRoster(two)
      let count = run.sent.count
      try run.receivePush("<item jid='mallory@x' subscription='both'/>", from: "from='\(sender)'")
      #expect(run.addresses == ["bob@x", "eve@x"] && run.sent.count == count)
      #expect(run.notices.last == .forged(from: try ContactRun.jid(sender)))
    }

    @Test func `An answer of another sender is not the roster`() throws {
      var run = try ContactRun()
      try run.connect()
      let id = try run.lastRequest()
      let query = "<query xmlns='jabber:iq:roster'><item jid='mallory@x'/></query>"
      try run.receive("<iq type='result' from='eve@x' id='\(id)'>\(query)</iq>")
      #expect(run.addresses.isEmpty)
      try run.receiveRoster(two)
      #expect(run.addresses == ["bob@x", "eve@x"])
    }

    @Test func `A push that can't be read loses no contact, and the next session reads all`() throws
    {
      var run = try ContactRun()
      try run.connect()
      try run.receiveRoster(two)
      try run.receivePush("<item jid='@'/>")
      #expect(run.sent.last?["type"] == "error" && run.addresses.count == 2)
      #expect(run.notices.contains(.problem(.rosterIncomplete(count: 1))))
      try run.receivePush("<item jid='a@x'/><item jid='b@x'/>")
      #expect(run.sent.last?["type"] == "error" && run.addresses.count == 2)
      try run.connect()
      let query = run.sent.last { $0.name == "iq" && $0["type"] == "get" }
      #expect(query?.child("query", Namespace.roster)?["ver"] == "")
    }

    @Test func `A roster beyond the bound is reported, and the last one is kept`() throws {
      var limits = ContactLimits()
      limits.contactCountMax = 3
      var run = try ContactRun(limits: limits)
      try run.connect()
      try run.receiveRoster(two)
      try run.connect()
      try run.receiveRoster((0..<4).map { "<item jid='c\($0)@x'/>" }.joined())
      #expect(run.addresses == ["bob@x", "eve@x"])
      #expect(run.notices.last == .problem(.rosterTooLarge))
      try run.receivePush("<item jid='c1@x'/>")
      try run.receivePush("<item jid='c2@x'/>")
      #expect(run.addresses == ["bob@x", "c1@x", "eve@x"])
      #expect(run.notices.last == .problem(.rosterTooLarge))
    }

    @Test func `A roster that is longer than a stanza is requested once`() throws {
      var run = try ContactRun()
      try run.connect()
      run.handle(.disconnected(isTooLong: true))
      run.sent = []
      try run.connect()
      #expect(run.sent.map(\.name) == ["presence"])
      #expect(run.notices == [.problem(.rosterTooLarge)])
    }

    @Test func `An entry that can't be read loses no other and is counted`() throws {
      var run = try ContactRun()
      try run.connect()
      try run.receiveRoster("<item/><item jid='bob@x'/><item jid='/'/>", version: "9")
      #expect(run.addresses == ["bob@x"] && run.stored.rosterVersion == nil)
      #expect(run.notices.last == .problem(.rosterIncomplete(count: 2)))
    }

    @Test func `A server that doesn't answer is not waited for`() throws {
      var run = try ContactRun()
      try run.connect()
      let bob = try ContactRun.jid("bob@x")
      run.handle(.request(ticket: 1, .setContact(bob, name: "Bob", groups: ["g"])))
      run.wait(.seconds(29))
      #expect(run.answers.isEmpty && run.notices.isEmpty)
      run.wait(.seconds(1))
      #expect(run.answers == [1: .noAnswer])
      #expect(run.notices == [.problem(.rosterUnavailable(.noAnswer))])
      #expect(run.machine.nextWake == nil)
      run.handle(.disconnected(isTooLong: false))
      run.handle(.request(ticket: 2, .removeContact(bob)))
      #expect(run.answers[2] == .offline)
    }

    @Test func `The caller of each request gets an error after half a minute of silence`() throws {
      var run = try ContactRun()
      try run.connect()
      try run.receiveRoster(two)
      let bob = try ContactRun.jid("bob@x")
      let registration = PushRegistration(
        isEnabled: true, service: try ContactRun.jid("push.example"), node: "7")
      let requests: [ContactRequest] = [
        .setContact(bob, name: nil, groups: []), .removeContact(bob), .block(bob), .unblock(bob),
        .setPush(registration),
      ]
      for (ticket, request) in requests.enumerated() {
        run.handle(.request(ticket: UInt64(ticket), request))
      }
      run.wait(.seconds(29))
      #expect(run.answers.isEmpty)
      run.wait(.seconds(1))
      #expect(run.answers == Dictionary(uniqueKeysWithValues: (0..<5).map { ($0, .noAnswer) }))
    }

    @Test func `Requests of an ended session fail, and those of a resumed one go on`() throws {
      var run = try ContactRun()
      try run.connect()
      try run.receiveRoster(two)
      let bob = try ContactRun.jid("bob@x")
      run.handle(.request(ticket: 1, .removeContact(bob)))
      let id = try run.lastRequest()
      run.handle(.disconnected(isTooLong: false))
      try run.connect(isResumed: true)
      #expect(run.answers.isEmpty)
      try run.receive("<iq type='result' id='\(id)'/>")
      #expect(run.answers == [1: nil])
      run.handle(.request(ticket: 2, .removeContact(bob)))
      run.handle(.disconnected(isTooLong: false))
      try run.connect()
      #expect(run.answers[2] == .interrupted)
    }

    @Test func `The server's refusal is the answer`() throws {
      var run = try ContactRun()
      try run.connect()
      run.handle(
        .request(ticket: 1, .setContact(try ContactRun.jid("bob@x"), name: nil, groups: [])))
      try run.receive(
        """
        <iq type='error' id='\(try run.lastRequest())'><error type='modify'>
        <not-acceptable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>
        """)
      guard case .refused(let error)?? = run.answers[1] else {
        Issue.record("\(run.answers)")
        return
      }
      #expect(error.condition == .notAcceptable)
    }

    @Test func `No more requests wait than the bound allows`() throws {
      var run = try ContactRun()
      try run.connect()
      for ticket in 1...300 as ClosedRange<UInt64> {
        run.handle(.request(ticket: ticket, .removeContact(try ContactRun.jid("c\(ticket)@x"))))
      }
      #expect(run.answers.count == 45 && run.answers[300] == .tooMany)
    }

    @Test func `A request about a push service ends with the server's answer`() throws {
      var run = try ContactRun()
      let registration = PushRegistration(
        isEnabled: true, service: try ContactRun.jid("push.example"), node: "7")
      run.handle(.request(ticket: 1, .setPush(registration)))
      #expect(run.answers[1] == .offline && run.sent.isEmpty)
      try run.connect()
      run.handle(.request(ticket: 2, .setPush(registration)))
      #expect(run.sent.last?.child("enable", Namespace.push)?["node"] == "7")
      #expect(run.answers[2] == nil)
      try run.receive("<iq type='result' id='\(try run.lastRequest())'/>")
      #expect(run.answers[2] == .some(nil))
    }
  }
#endif
