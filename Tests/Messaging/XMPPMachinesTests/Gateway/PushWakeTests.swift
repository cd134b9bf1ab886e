#if Messaging
  import Essentials
  import Testing
  @testable import XMPPMachines
  import XMPPWire

  @Suite("Wakes of a push gateway")
  struct PushWakeTests {
    private func publish(_ node: String, id: String = "97") -> XMLElement {
      XMLElement(
        "iq", Namespace.client,
        ["type": "set", "from": "chat.example", "to": "push.example", "id": id],
        children: [PushPublication(node: node).element])
    }

    @Test func `A publication of a server wakes the device, and many of them once`() throws {
      var run = try GatewayRun()
      run.handle(.connected)
      for number in 1...20 { try run.receive(publish(GatewayRun.token, id: "\(number)")) }
      #expect(run.stanzas.compactMap { IQStanza($0)?.kind } == Array(repeating: .result, count: 20))
      #expect(run.stanzas.allSatisfy { $0["from"] == "push.example" && $0["to"] == "chat.example" })
      // The first is at the manager when the others come, which need another one.
      #expect(run.pushes.map(\.content) == [.wake])
      while !run.pushes.isEmpty { run.answer() }
      #expect(run.shown == ["wake", "wake"])
    }

    @Test func `A node that is no device, or is gone, is unknown, so that the server ends it`()
      throws
    {
      var run = try GatewayRun()
      run.handle(.connected)
      func condition() -> StanzaError.Condition? {
        run.stanzas.last.flatMap { IQStanza($0)?.error?.condition }
      }
      try run.receive(publish("no-token"))
      #expect(condition() == .itemNotFound)
      try run.receive(publish(GatewayRun.token))
      run.answer(.notInstalled("Unregistered"))
      try run.receive(publish(GatewayRun.token))
      #expect(condition() == .itemNotFound && run.pushes.isEmpty)
      // The app may have registered again.
      try run.receive(publish(GatewayRun.token.uppercased()))
      #expect(run.pushes == [GatewayPush(target: .token(GatewayRun.token), content: .wake)])
    }

    @Test func `Wakes have a bound, at which the server has to wait`() throws {
      var limits = GatewayLimits()
      limits.wakeCountMax = 10
      var run = try GatewayRun(limits: limits)
      run.handle(.connected)
      for number in 0..<30 {
        let digits = String(number, radix: 16)
        try run.receive(publish(String(repeating: "0", count: 64 - digits.count) + digits))
      }
      let errors = run.stanzas.compactMap { IQStanza($0)?.error }
      // Four are at the manager, ten wait.
      #expect(errors.count == 16)
      #expect(errors.allSatisfy { $0.kind == .wait && $0.condition == .resourceConstraint })
    }

    @Test func `The component says that it is a push service, and refuses what it can't do`() throws
    {
      var run = try GatewayRun()
      run.handle(.connected)
      func request(_ kind: String, _ payload: XMLElement) -> XMLElement {
        XMLElement(
          "iq", Namespace.client,
          ["type": kind, "from": "bob@chat.example/a", "to": "push.example", "id": "1"],
          children: [payload])
      }
      try run.receive(request("get", DiscoInfo().element))
      let info = try #require(run.stanzas.last.flatMap { IQStanza($0)?[DiscoInfo.self] })
      #expect(info.features.contains("urn:xmpp:push:0"))
      #expect(info.identities.map(\.type) == ["push"])
      try run.receive(request("get", XMLElement("query", "jabber:iq:version")))
      #expect(
        run.stanzas.last.flatMap { IQStanza($0)?.error?.condition } == .serviceUnavailable)
      // Answers have no answer.
      let count = run.stanzas.count
      try run.receive(request("result", XMLElement("query", "jabber:iq:version")))
      #expect(run.stanzas.count == count)
    }

    /// Everything at random: no message is lost, the stanzas are in order, and each comes once to a recipient that
    /// knows ids.
    @Test(arguments: 0..<25 as Range<UInt64>)
    func `Nothing is lost or out of order over faults of all kinds`(seed: UInt64) throws {
      var random = SeededGenerator(seed: seed)
      var run = try GatewayRun(seed: seed)
      var sent: [String] = []
      for step in 0..<100 {
        switch random.next() % 10 {
        case 0, 1, 2:
          sent.append("m\(step)")
          run.submit(
            try run.message("m\(step)", target: .app(["a", "b"][Int(random.next() % 2)])))
        case 3: run.handle(.connected)
        case 4:
          run.handle(.disconnected)
          run.stanzas = []
        case 5: run.serve()
        case 6: run.answer()
        case 7: run.answer(random.next() % 2 == 0 ? .busy("later") : .unreachable("gone"))
        case 8: run.restart()
        default: run.wait(.milliseconds(Int64(random.next() % 2_000)))
        }
      }
      run.handle(.disconnected)
      run.stanzas = []
      run.handle(.connected)
      for _ in 0..<400 where run.machine.waitingCount > 0 {
        run.serve()
        run.answer()
        run.wait(.seconds(1))
      }
      let texts = sent.map { "text of \($0)" }
      var known: Set<String> = []
      #expect(run.handled.filter { known.insert($0).inserted } == texts, "seed \(seed)")
      #expect(Set(run.shown) == Set(texts), "seed \(seed)")
      #expect(run.machine.waitingCount == 0, "seed \(seed)")
    }
  }
#endif
