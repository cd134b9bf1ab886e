#if Messaging
  import Essentials
  @testable import XMPPMachines
  import XMPPWire

  /// A machine with a store in memory, whose commits are written at once.
  struct MachineBench {
    var machine: MessageMachine
    var store = TestStore()
    var now = Instant.zero
    /// The actions since the last call of a method.
    var actions: [MessageAction] = []
    let limits: MessageLimits
    let confirmsToStrangers: Bool

    static let start: WallTime = 1_700_000_000_000

    /// - Parameter isNew: Whether the store has never read the archive.
    init(
      limits: MessageLimits = MessageLimits(), confirmsToStrangers: Bool = true, isNew: Bool = false
    ) {
      store.hasReadArchive = !isNew
      self.limits = limits
      self.confirmsToStrangers = confirmsToStrangers
      machine = MessageMachine(
        account: "a@x", stored: store.stored, limits: limits,
        confirmsToStrangers: confirmsToStrangers, seed: 1, now: .zero, wall: Self.start)
    }

    mutating func handle(_ event: MessageEvent) {
      var commit = MessageCommit()
      machine.handle(event, now: now, into: &commit)
      store.apply(commit.changes)
      actions = commit.then
    }

    /// Lets time pass, and wakes the machine as often as it wants.
    mutating func advance(_ span: TimeSpan) {
      let end = now + span
      actions = []
      while let due = machine.nextWake, due <= end {
        now = max(now, due)
        var commit = MessageCommit()
        machine.wake(now: now, into: &commit)
        store.apply(commit.changes)
        actions += commit.then
      }
      now = end
    }

    /// A new process with the store.
    mutating func restart() {
      machine = MessageMachine(
        account: "a@x", stored: store.stored, limits: limits,
        confirmsToStrangers: confirmsToStrangers, seed: 2, now: now,
        wall: Self.start + now.nanoseconds / 1_000_000)
    }

    mutating func connect(isResumed: Bool = false, hasArchive: Bool = false) {
      handle(.connected(isResumed: isResumed, hasArchive: hasArchive, wall: Self.start))
    }

    mutating func send(_ text: String, to peer: String = "b@x", patience: TimeSpan? = nil) {
      handle(
        .send(
          ticket: 1, peer: peer, originID: "id \(text)", MessageContent(body: text),
          patience: patience, wall: Self.start))
    }

    mutating func receive(_ message: InboundMessage) {
      handle(.received(store.lookUp(message, account: "a@x"), count: nil))
    }

    mutating func receive(
      _ text: String, from sender: String = "b@x", id: String? = nil, order: OrderElement? = nil,
      archiveID: String? = nil, wrapper: InboundMessage.Wrapper = .none
    ) {
      receive(
        InboundMessage(
          sender: sender, recipient: "a@x", id: id ?? "id \(text)", archiveID: archiveID,
          order: order, wantsReceipt: true, kind: .content(MessageContent(body: text)),
          wrapper: wrapper, date: 1))
    }

    mutating func receipt(_ name: String, from sender: String = "b@x", hasOrder: Bool = true) {
      let order = store.outgoing.values.first { $0.originID == name }?.order
      receive(
        InboundMessage(
          sender: sender, recipient: "a@x", id: nil, order: hasOrder ? order : nil,
          kind: .receipt(name), date: 1))
    }

    /// Answers the query that runs with these entries: the archive's id, and the message.
    mutating func page(_ entries: [(String, InboundMessage?)], isComplete: Bool = true) {
      guard let query = machine.archive.query else { return }
      let all = entries.map { id, message in
        var message = message
        message?.archiveID = id
        return ArchivePage.Entry(
          mark: ArchiveMark(id: id, date: MachineBench.start),
          message: message.map { store.lookUp($0, account: "a@x") })
      }
      handle(.page(ArchivePage(query: query.id, entries: all, isComplete: isComplete)))
    }

    /// What the app has, in its order.
    var texts: [String] {
      store.rowOfSequence.sorted { $0.key < $1.key }.compactMap { store.incoming[$0.value] }
        .map { row in
          switch row.kind {
          case .message:
            row.arrival == .inOrder
              ? row.content.body
              : "\(row.content.body) \(row.arrival == .history ? "history" : "late")"
          case .sentElsewhere: "sent \(row.content.body)"
          case .gap(_, let range): "gap \(range)"
          case .archiveGap: "archive gap"
          case .historyStart: "history start"
          }
        }
    }

    var sent: [OutboundStanza] {
      actions.compactMap { if case .transmit(let stanza) = $0 { stanza } else { nil } }
    }
    /// The receipts among it, by the names of their messages.
    var sentReceipts: [String] {
      sent.compactMap { if case .receipt(let name, _) = $0.kind { name } else { nil } }
    }
    /// The own server has everything.
    mutating func confirmSent() { handle(.handled(sent.compactMap(\.row))) }
    var sentTexts: [String] {
      sent.compactMap {
        if case .message(_, _, let content) = $0.kind { content.body } else { nil }
      }
    }
    var fates: [MessageFate] {
      actions.compactMap { if case .fate(_, let fate) = $0 { fate } else { nil } }
    }
    var reports: [MessageReport] {
      actions.compactMap { if case .report(let report) = $0 { report } else { nil } }
    }
    var query: ArchiveRequest? {
      actions.compactMap { if case .query(let query) = $0 { query } else { nil } }.last
    }
    /// Answers the requests for rows of the store, and collects what is sent.
    mutating func answerLoads() -> [OutboundStanza] {
      let loads = actions
      var found: [OutboundStanza] = []
      for case .load(let stream, let range) in loads {
        handle(.loaded(store.outgoing(of: stream, range)))
        found += sent
      }
      return found
    }
  }

  func message(
    _ text: String, from sender: String = "b@x", to recipient: String = "a@x",
    order: OrderElement? = nil
  ) -> InboundMessage {
    InboundMessage(
      sender: sender, recipient: recipient, id: "id \(text)", order: order, wantsReceipt: true,
      kind: .content(MessageContent(body: text)), date: 1)
  }
#endif
