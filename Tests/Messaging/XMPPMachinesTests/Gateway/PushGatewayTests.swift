#if Messaging
  import Essentials
  import Testing
  @testable import XMPPMachines
  import XMPPWire

  @Suite("Push gateway")
  struct PushGatewayTests {
    private func receipt(_ id: String) -> XMLElement {
      XMLElement("received", Namespace.receipts, ["id": id])
    }

    @Test func `A message becomes a stanza and a notification with its id, after it is stored`()
      throws
    {
      var run = try GatewayRun()
      run.handle(.connected)
      #expect(run.submit(try run.message("m1")) == .accepted(ticket: 1, isNew: true))
      let stanza = try #require(run.stanzas.first.flatMap { MessageStanza($0) })
      #expect(stanza.id?.text == "m1" && stanza[OriginID.self]?.id.text == "m1")
      #expect(stanza.body == "text of m1" && stanza.to?.description == "bob@chat.example")
      #expect(stanza[Receipt.self] == .request && stanza[ProcessingHint.self] == .store)
      let push = try #require(run.pushes.first)
      #expect(push.content == .message(1, try run.message("m1")))
      run.serve()
      run.answer()
      let row = try #require(run.machine.row(of: "m1"))
      #expect(row.stanza == .done("sent") && row.notification == .done("shown"))
      #expect(run.machine.waitingCount == 0)
    }

    @Test func `A message that is given again is known, and another one with its id is refused`()
      throws
    {
      var run = try GatewayRun()
      run.submit(try run.message("m1"))
      run.wait(.seconds(60))
      #expect(run.submit(try run.message("m1")) == .accepted(ticket: 2, isNew: false))
      #expect(
        run.submit(try run.message("m1", body: "other")) == .refused(ticket: 3, .otherContent))
      #expect(run.stored.count == 1)
    }

    @Test func `Stanzas wait for the server, and those under way leave again in their order`()
      throws
    {
      var run = try GatewayRun()
      for number in 1...100 { run.submit(try run.message("m\(number)", target: nil)) }
      #expect(run.stanzas.isEmpty)
      run.handle(.connected)
      #expect(run.stanzas.count == 65)
      run.handle(.disconnected)
      run.stanzas = []
      run.handle(.connected)
      run.serve()
      #expect(run.handled == (1...100).map { "text of m\($0)" })
      #expect(run.machine.waitingCount == 0)
    }

    @Test func `A server that doesn't hand the ping back loses its connection`() throws {
      var run = try GatewayRun()
      run.handle(.connected)
      run.submit(try run.message("m1"))
      run.wait(.seconds(29))
      #expect(run.drops == 0)
      run.wait(.seconds(2))
      #expect(run.drops == 1)
      // Another account can't answer for the server.
      run.handle(.disconnected)
      run.handle(.connected)
      let ping = try #require(run.stanzas.last)
      var forged = ping
      forged["from"] = "eve@chat.example"
      forged["type"] = "result"
      try run.receive(forged)
      #expect(run.machine.row(of: "m1")?.stanza == .waiting)
    }

    @Test func `Notifications of an app leave one after the other, beside those of other apps`()
      throws
    {
      var run = try GatewayRun()
      for number in 1...3 { run.submit(try run.message("a\(number)", target: .app("a"))) }
      run.submit(try run.message("b1", target: .app("b")))
      #expect(run.pushes.map(\.target) == [.app("a"), .app("b")])
      while !run.pushes.isEmpty { run.answer() }
      #expect(run.shown == ["text of a1", "text of b1", "text of a2", "text of a3"])
    }

    @Test func `A manager that is gone is tried again with pauses that grow, and loses nothing`()
      throws
    {
      var run = try GatewayRun()
      for number in 1...3 { run.submit(try run.message("m\(number)")) }
      var times: [Int64] = []
      for _ in 0..<12 {
        run.answer(.unreachable("no manager"))
        #expect(run.pushes.isEmpty)
        let start = run.now
        while run.pushes.isEmpty { run.wait(.milliseconds(100)) }
        times.append((run.now - start).nanoseconds / 1_000_000)
      }
      #expect(times.first ?? 0 <= 1_000 && (times.last ?? 0) > 200_000)
      #expect(run.managerLosses == 1)
      while !run.pushes.isEmpty { run.answer() }
      #expect(run.shown == ["text of m1", "text of m2", "text of m3"])
    }

    @Test func `A busy app doesn't hold up another one`() throws {
      var run = try GatewayRun()
      run.submit(try run.message("a1", target: .app("a")))
      run.submit(try run.message("a2", target: .app("a")))
      run.answer(.busy("too much waits"))
      run.submit(try run.message("b1", target: .app("b")))
      #expect(run.pushes.map(\.target) == [.app("b")])
      run.answer()
      run.wait(.seconds(2))
      while !run.pushes.isEmpty { run.answer() }
      #expect(run.shown == ["text of b1", "text of a1", "text of a2"])
    }

    @Test
    func `A notification that the app has not yet is dropped when the app confirms the stanza`()
      throws
    {
      var run = try GatewayRun()
      run.handle(.connected)
      for id in ["m1", "m2"] { run.submit(try run.message(id)) }
      run.answer(.unreachable("no manager"))
      run.serve()
      // Neither another account's receipt nor the account's own of another domain counts.
      try run.receive(from: "eve@chat.example/x", receipt("m1"))
      try run.receive(from: "bob@other.example/x", receipt("m1"))
      #expect(run.machine.row(of: "m1")?.notification == .waiting)
      try run.receive(from: "bob@chat.example/phone", receipt("m1"))
      #expect(run.machine.row(of: "m1")?.stanza == .done("received"))
      #expect(run.machine.row(of: "m1")?.notification == .done("notNeeded"))
      run.wait(.seconds(2))
      // The second is at the manager when its confirmation comes, and the manager doesn't take it.
      try run.receive(
        from: "bob@chat.example", XMLElement("displayed", Namespace.chatMarkers, ["id": "m2"]))
      #expect(run.machine.row(of: "m2")?.notification == .waiting)
      run.answer(.busy("later"))
      run.wait(.seconds(600))
      #expect(run.pushes.isEmpty && run.shown.isEmpty)
      #expect(run.machine.row(of: "m2")?.stanza == .done("displayed"))
    }

    @Test func `A newer notification replaces a waiting one with its collapse identifier`() throws {
      var run = try GatewayRun()
      run.handle(.connected)
      run.submit(try run.message("first", collapse: "scores"))
      for number in 1...3 { run.submit(try run.message("m\(number)", collapse: "scores")) }
      run.submit(try run.message("other", collapse: "news"))
      while !run.pushes.isEmpty { run.answer() }
      // The first was at the manager already.
      #expect(run.shown == ["text of first", "text of m3", "text of other"])
      run.serve()
      #expect(run.handled.count == 5)
    }

    @Test func `What has expired is given up with a report`() throws {
      var run = try GatewayRun()
      run.submit(try run.message("m1", seconds: 60))
      for _ in 0..<80 {
        run.answer(.unreachable("no manager"))
        run.wait(.seconds(1))
      }
      #expect(run.failures == ["m1: expired", "m1: expired"])
      run.handle(.connected)
      #expect(run.stanzas.isEmpty && run.machine.waitingCount == 0)
    }

    @Test func `A full queue refuses, and takes messages again when others are settled`() throws {
      var limits = GatewayLimits()
      limits.openCountMax = 10
      var run = try GatewayRun(limits: limits)
      for number in 1...10 { run.submit(try run.message("m\(number)", target: nil)) }
      #expect(run.submit(try run.message("m11")) == .refused(ticket: 11, .full))
      run.handle(.connected)
      run.serve()
      #expect(run.submit(try run.message("m11")) == .accepted(ticket: 12, isNew: true))
    }

    @Test func `Settled messages are forgotten after a day, and beyond a number`() throws {
      var limits = GatewayLimits()
      limits.settledCountMax = 5
      var run = try GatewayRun(limits: limits)
      run.handle(.connected)
      for number in 1...10 { run.submit(try run.message("m\(number)", target: nil)) }
      run.serve()
      run.wait(.seconds(20))
      #expect(run.stored.keys.sorted() == [6, 7, 8, 9, 10])
      run.wait(.seconds(86_400))
      #expect(run.stored.isEmpty)
      // Nothing is due any more.
      #expect(run.machine.nextWake == nil)
    }

    @Test func `A refused stanza fails with its condition, and only its recipient can refuse it`()
      throws
    {
      var run = try GatewayRun()
      run.handle(.connected)
      run.submit(try run.message("m1"))
      run.serve()
      let error = StanzaError(.cancel, .serviceUnavailable).element
      try run.receive(from: "eve@chat.example", error, type: "error", id: "m1")
      #expect(run.machine.row(of: "m1")?.stanza == .done("sent"))
      try run.receive(from: "bob@chat.example", error, type: "error", id: "m1")
      #expect(run.machine.row(of: "m1")?.stanza == .failed("service-unavailable"))
    }

    @Test
    func `A stanza that its server can't take now leaves again, until it is taken or expires`()
      throws
    {
      var run = try GatewayRun()
      run.handle(.connected)
      for id in ["m1", "m2"] { run.submit(try run.message(id, target: nil, seconds: 600)) }
      run.serve()
      let busy = StanzaError(.wait, .resourceConstraint).element
      try run.receive(from: "bob@chat.example", busy, type: "error", id: "m1")
      #expect(run.machine.row(of: "m1")?.stanza == .waiting && run.machine.waitingCount == 1)
      run.wait(.seconds(4))
      #expect(run.stanzas.isEmpty)
      run.wait(.seconds(1))
      #expect(run.stanzas.first?["id"] == "m1")
      // It comes back before the server returns the ping, and then for ever.
      try run.receive(from: "bob@chat.example", busy, type: "error", id: "m1")
      run.serve()
      #expect(run.machine.row(of: "m1")?.stanza == .waiting)
      for _ in 0..<20 {
        run.wait(.seconds(31))
        run.serve()
        try run.receive(from: "bob@chat.example", busy, type: "error", id: "m1")
      }
      #expect(run.failures == ["m1: expired"])
      #expect(run.handled.count { $0 == "text of m1" } < 12)
      #expect(run.machine.waitingCount == 0)
    }

    @Test func `A stanza that came back waits in a later process, too, and a receipt ends it`()
      throws
    {
      var run = try GatewayRun()
      run.handle(.connected)
      run.submit(try run.message("m1"))
      run.serve()
      run.answer()
      let busy = StanzaError(.wait, .remoteServerTimeout).element
      try run.receive(from: "bob@chat.example", busy, type: "error", id: "m1")
      run.restart()
      run.handle(.connected)
      #expect(run.stanzas.first?["id"] == "m1")
      try run.receive(from: "bob@chat.example", busy, type: "error", id: "m1")
      try run.receive(from: "bob@chat.example/phone", receipt("m1"))
      #expect(run.machine.row(of: "m1")?.stanza == .done("received"))
      // Another resource of the account refuses what the first one has.
      let refused = StanzaError(.cancel, .serviceUnavailable).element
      try run.receive(from: "bob@chat.example/desk", refused, type: "error", id: "m1")
      #expect(run.machine.row(of: "m1")?.stanza == .done("received"))
      #expect(run.machine.waitingCount == 0)
    }

    @Test func `Texts are bounded in bytes, while they wait and afterwards`() throws {
      var limits = GatewayLimits()
      (limits.openByteCountMax, limits.settledByteCountMax) = (1_000, 500)
      var run = try GatewayRun(limits: limits)
      let body = String(repeating: "x", count: 300)
      for number in 1...3 {
        run.submit(try run.message("m\(number)", body: body, target: nil))
      }
      #expect(
        run.submit(try run.message("m4", body: body, target: nil)) == .refused(ticket: 4, .full))
      run.handle(.connected)
      run.serve()
      #expect(run.stored.values.count { $0.message.body.isEmpty } == 2)
      // A message whose text was forgotten is still known, and another one is not taken for it.
      #expect(
        run.submit(try run.message("m1", body: body, target: nil))
          == .accepted(ticket: 5, isNew: false))
      #expect(
        run.submit(try run.message("m1", body: "other", target: nil))
          == .refused(ticket: 6, .otherContent))
      // It can't leave again.
      let busy = StanzaError(.wait, .resourceConstraint).element
      for id in ["m1", "m3"] {
        try run.receive(from: "bob@chat.example", busy, type: "error", id: id)
      }
      #expect(run.machine.row(of: "m1")?.stanza == .failed("resource-constraint"))
      #expect(run.machine.row(of: "m3")?.stanza == .waiting)
      run.restart()
      #expect(run.machine.rowViolations() == [] && run.machine.rows == run.stored)
    }

    @Test func `A stanza without a text leaves again, too, if its server can't take it now`() throws
    {
      var run = try GatewayRun()
      run.handle(.connected)
      run.submit(try run.message("m1", body: "", target: nil))
      run.serve()
      let busy = StanzaError(.wait, .resourceConstraint, text: "").element
      try run.receive(from: "bob@chat.example", busy, type: "error", id: "m1")
      #expect(run.machine.row(of: "m1")?.stanza == .waiting && run.failures == [])
      run.restart()
      run.handle(.connected)
      #expect(run.stanzas.first?["id"] == "m1")
    }

    @Test func `A queue beyond the bounds, of an earlier version, leaves before it takes messages`()
      throws
    {
      var run = try GatewayRun()
      run.limits.windowCountMax = 2
      for number in 1...5 { run.submit(try run.message("m\(number)", target: nil)) }
      (run.limits.openCountMax, run.limits.openByteCountMax) = (3, 40)
      run.restart()
      #expect(run.machine.rowViolations() == [])
      run.handle(.connected)
      #expect(run.submit(try run.message("m6", target: nil)) == .refused(ticket: 6, .full))
      run.serve()
      #expect(run.handled.count == 5 && run.machine.waitingCount == 0)
      #expect(
        run.submit(try run.message("m6", target: nil)) == .accepted(ticket: 7, isNew: true))
    }

    @Test func `Pings of another program with the domain end the connection, once`() throws {
      var run = try GatewayRun()
      run.handle(.connected)
      for number in 1...4 {
        try run.receive(
          XMLElement(
            "iq", Namespace.client,
            [
              "type": "get", "id": "handled-9-\(number)", "from": "push.example",
              "to": "push.example",
            ],
            children: [Ping().element]))
        #expect(run.yields == (number == 1 ? 0 : 1))
      }
    }

    @Test func `A message to the gateway is refused, so that its sender learns of it`() throws {
      var run = try GatewayRun()
      run.handle(.connected)
      try run.receive(
        from: "bob@chat.example/a", XMLElement("body", Namespace.client, text: "Stop!"), id: "q")
      let refusal = try #require(run.stanzas.last.flatMap { MessageStanza($0) })
      #expect(refusal.kind == .error && refusal.id?.text == "q")
      #expect(refusal.to?.description == "bob@chat.example/a")
      // An error is never answered.
      let count = run.stanzas.count
      try run.receive(
        from: "bob@chat.example/a", XMLElement("body", Namespace.client, text: "x"), type: "error")
      #expect(run.stanzas.count == count)
    }
  }
#endif
