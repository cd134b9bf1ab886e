#if Messaging
  import Essentials
  import Testing
  @testable import XMPPMachines
  import XMPPWire

  /// A push gateway's queue with its store, a server and a manager of apps, in virtual time.
  struct GatewayRun {
    static let token = String(repeating: "ab", count: 32)

    let domain: JID
    var machine: PushGatewayMachine
    var limits: GatewayLimits
    var stored: [Int64: GatewayRow] = [:]
    var now = Instant.zero
    var wall: WallTime = 1_000_000
    /// What waits for the server and for the manager.
    var stanzas: [XMLElement] = []
    var pushes: [GatewayPush] = []
    var answers: [UInt64: GatewayAction] = [:]
    var failures: [String] = []
    var managerLosses = 0
    var drops = 0
    var yields = 0
    var ticket: UInt64 = 0
    /// Bodies as the server and the manager have handled them.
    var handled: [String] = []
    var shown: [String] = []

    init(limits: GatewayLimits = GatewayLimits(), seed: UInt64 = 1) throws {
      domain = try #require(JID("push.example"))
      self.limits = limits
      machine = PushGatewayMachine(domain: domain, stored: [], limits: limits, seed: seed)
    }

    func message(
      _ id: String, body: String? = nil, to recipient: String = "bob@chat.example",
      target: GatewayTarget? = .app("com.example.chat"), collapse: String? = nil,
      seconds: Int64 = 86_400
    ) throws -> GatewayMessage {
      GatewayMessage(
        id: id, from: try #require(JID("news@push.example")), to: try #require(JID(recipient)),
        body: body ?? "text of \(id)", target: target, collapseIdentifier: collapse,
        expiration: wall + seconds * 1_000)
    }

    @discardableResult
    mutating func submit(_ message: GatewayMessage) -> GatewayAction? {
      ticket += 1
      handle(.submit(ticket: ticket, message))
      return answers[ticket]
    }

    mutating func handle(_ event: GatewayEvent) {
      var commit = GatewayCommit()
      machine.handle(event, now: now, wall: wall, into: &commit)
      take(commit)
    }

    mutating func wait(_ span: TimeSpan) {
      let end = now + span
      while let due = machine.nextWake, due <= end {
        advance(to: max(now, due))
        var commit = GatewayCommit()
        machine.wake(now: now, wall: wall, into: &commit)
        take(commit)
      }
      advance(to: end)
    }

    private mutating func advance(to time: Instant) {
      wall += (time - now).nanoseconds / 1_000_000
      now = time
    }

    private mutating func take(_ commit: GatewayCommit) {
      for change in commit.changes {
        switch change {
        case .insert(let row): stored[row.number] = row
        case .setState(let number, let part, let state): stored[number]?[part] = state
        case .forgetBody(let number, let digest):
          stored[number]?.message.body = ""
          stored[number]?.message.digest = digest
        case .remove(let number): stored[number] = nil
        }
      }
      for action in commit.then {
        switch action {
        case .accepted(let ticket, _), .refused(let ticket, _): answers[ticket] = action
        case .send(let element): stanzas.append(element)
        case .push(let push): pushes.append(push)
        case .drop: drops += 1
        case .yield: yields += 1
        case .failed(let id, let reason): failures.append("\(id): \(reason)")
        case .managerLost: managerLosses += 1
        }
      }
      #expect(machine.rowViolations() == [])
      #expect(machine.rows == stored)
    }

    /// A new process with the store.
    mutating func restart() {
      stanzas = []
      pushes = []
      machine = PushGatewayMachine(
        domain: domain, stored: stored.values.sorted { $0.number < $1.number }, limits: limits,
        seed: 2)
    }

    /// The server handles the sent stanzas in their order.
    mutating func serve() {
      while !stanzas.isEmpty {
        let element = stanzas.removeFirst()
        if let message = MessageStanza(element), let body = message.body { handled.append(body) }
        if IQStanza(element)?.to == domain, let stanza = Stanza(element) {
          handle(.received(stanza))
        }
      }
    }

    /// The manager answers the first notification that it has.
    mutating func answer(_ result: GatewayPushResult = .taken("shown")) {
      guard !pushes.isEmpty else { return }
      let push = pushes.removeFirst()
      if case .taken = result {
        if case .message(_, let message) = push.content { shown.append(message.body) }
        if push.content == .wake { shown.append("wake") }
      }
      handle(.pushed(push, result))
    }

    mutating func receive(_ stanza: XMLElement) throws {
      handle(.received(try #require(Stanza(stanza))))
    }

    /// A message of an account with one element.
    mutating func receive(
      from address: String, _ element: XMLElement, type: String? = nil, id: String? = nil
    ) throws {
      try receive(
        XMLElement(
          "message", Namespace.client,
          ["from": address, "to": "news@push.example", "type": type, "id": id],
          children: [element]))
    }
  }
#endif
