#if Messaging
  import Essentials
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  @Suite("Subscriptions and presence")
  struct PresenceTests {
    private func connected(limits: ContactLimits = ContactLimits()) throws -> ContactRun {
      var run = try ContactRun(limits: limits)
      try run.connect()
      try run.receiveRoster("<item jid='bob@x' subscription='both'/><item jid='eve@x'/>")
      run.notices = []
      run.sent = []
      return run
    }

    private func names(_ run: ContactRun, _ address: String) throws -> [String] {
      run.machine.resources(of: try ContactRun.jid(address)).map(\.jid.description)
    }

    @Test func `Resources are shown by priority, until they leave`() throws {
      var run = try connected()
      try run.receive("<presence from='bob@x/phone'><show>away</show></presence>")
      try run.receive("<presence from='bob@x/desk'><priority>5</priority></presence>")
      #expect(try names(run, "bob@x") == ["bob@x/desk", "bob@x/phone"])
      try run.receive("<presence from='bob@x/desk' type='unavailable'/>")
      #expect(try names(run, "bob@x") == ["bob@x/phone"])
      #expect(run.stored.resources.count == 1)
      #expect(
        run.notices.last
          == .presence(
            try ContactRun.jid("bob@x"),
            [AvailableResource(try ContactRun.jid("bob@x/phone"), Availability(.away))]))
    }

    @Test func `Presences outlive a resumption in another process, and no new session`() throws {
      var run = try connected()
      try run.receive("<presence from='bob@x/phone'/>")
      run.handle(.disconnected(isTooLong: false))
      run.restart()
      try run.connect(isResumed: true)
      #expect(try names(run, "bob@x") == ["bob@x/phone"])
      #expect(!run.sent.contains { $0.name == "presence" })
      try run.connect()
      #expect(try names(run, "bob@x").isEmpty && run.stored.resources.isEmpty)
      #expect(run.notices.last == .presence(try ContactRun.jid("bob@x"), []))
    }

    @Test func `Strangers and contacts without subscription can't fill the memory`() throws {
      var limits = ContactLimits()
      limits.resourcesPerContactMax = 2
      var run = try connected(limits: limits)
      try run.receive("<presence from='mallory@x/1'/><presence from='eve@x/1'/>")
      #expect(run.notices.isEmpty && run.stored.resources.isEmpty)
      for number in 0..<3 { try run.receive("<presence from='bob@x/\(number)'/>") }
      #expect(try names(run, "bob@x") == ["bob@x/0", "bob@x/1"])
      #expect(run.notices.last == .problem(.tooManyResources))
      // The own programs are shown, too.
      try run.receive("<presence from='ann@chat.example/other'/>")
      #expect(try names(run, "ann@chat.example").count == 1)
    }

    @Test func `A contact that shows its presence no more isn't available`() throws {
      var run = try connected()
      try run.receive("<presence from='bob@x/phone'/>")
      try run.receivePush("<item jid='bob@x' subscription='from'/>")
      #expect(try names(run, "bob@x").isEmpty)
    }

    @Test func `A request waits for its answer over sessions and processes`() throws {
      var run = try connected()
      let kim = try ContactRun.jid("kim@x")
      let text = "<presence from='kim@x' type='subscribe'><status>Hello</status></presence>"
      try run.receive(text)
      try run.receive(text)
      let request = SubscriptionRequest(kim, text: "Hello")
      #expect(run.notices == [.request(kim, request)])
      run.restart()
      #expect(run.machine.openRequests == [request])
      try run.connect(isResumed: true)
      run.handle(.request(ticket: 1, .approve(kim)))
      #expect(run.answers == [1: nil] && run.machine.openRequests.isEmpty)
      #expect(run.sent.last == PresenceStanza(.subscribed, to: kim).element)
      #expect(run.stored.requests.isEmpty)
    }

    @Test func `A request that its sender withdraws waits no more`() throws {
      var run = try connected()
      try run.receive("<presence from='kim@x' type='subscribe'/>")
      try run.receive("<presence from='kim@x' type='unsubscribe'/>")
      #expect(run.machine.openRequests.isEmpty && run.stored.requests.isEmpty)
    }

    @Test func `Approval in advance is left out where the server ignores it`() throws {
      var run = try connected()
      let kim = try ContactRun.jid("kim@x")
      run.handle(.request(ticket: 1, .approve(kim)))
      #expect(run.answers == [1: .unsupported] && run.sent.isEmpty)
      var online = StreamOnline(
        jid: try ContactRun.jid("ann@chat.example/a"), session: 2, isResumed: true,
        isManaged: true)
      online.offersPreApproval = true
      run.handle(.connected(online))
      run.handle(.request(ticket: 2, .approve(kim)))
      #expect(run.answers[2] == .some(nil))
    }

    @Test func `Requests beyond the bound are reported`() throws {
      var limits = ContactLimits()
      limits.requestCountMax = 3
      var run = try connected(limits: limits)
      for number in 0..<5 { try run.receive("<presence from='m\(number)@x' type='subscribe'/>") }
      #expect(run.machine.openRequests.count == 3)
      #expect(run.notices.last == .problem(.tooManyRequests))
    }

    @Test func `The own availability is set at once and with each new session`() throws {
      var run = try ContactRun()
      run.handle(.request(ticket: 1, .setAvailability(Availability(.dnd, status: "Busy"))))
      #expect(run.answers == [1: nil] && run.sent.isEmpty)
      try run.connect()
      #expect(run.sent.last?.child("show", Namespace.client)?.text == "dnd")
      run.handle(.request(ticket: 2, .setAvailability(Availability())))
      #expect(run.sent.last == PresenceStanza().element)
    }
  }
#endif
