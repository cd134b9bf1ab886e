#if Messaging
  package import Essentials
  package import XMPPWire

  /// The contacts of one account: its roster, requests for subscriptions, and available resources.
  ///
  /// All is as the account's server has it. The machine requests and keeps it, takes the server's pushes, and lets
  /// no other sender change it. The store's contacts are used until a session has brought newer ones.
  package struct ContactMachine: Sendable {
    /// A request to the server whose answer is awaited.
    struct Waiting: Sendable {
      enum Purpose: Hashable, Sendable {
        case roster(isVersioned: Bool)
        case ticket(UInt64)
        case blockList
        case block(JID, wasBlocked: Bool, ticket: UInt64)
        case unblock(JID, ticket: UInt64)
      }

      var purpose: Purpose
      var deadline: Instant
    }

    let account: JID
    let limits: ContactLimits
    /// How the identifiers of this process's requests begin: a session that a process takes over may bring answers to
    /// its predecessor.
    private let prefix: String
    private var requestCount: UInt64 = 0

    var online: StreamOnline?
    var waiting: [StanzaID: Waiting] = [:]
    var roster: [JID: RosterItem] = [:]
    var rosterVersion: String?
    /// Whether the roster is as this process has got it from the server.
    var isRosterFresh = false
    /// Whether the roster is longer than a stanza that is read.
    var isRosterTooLong = false
    var requests: [JID: SubscriptionRequest] = [:]
    var presences: PresenceTable
    /// Blocked addresses.
    package internal(set) var blocks = BlockList()
    /// Whether the blocked addresses are as this process has got them from the server.
    var areBlocksFresh = false
    /// Whether this session's request for the blocked addresses has no answer, also none in time.
    var isBlockListUnanswered = false
    /// Whether the list of blocked addresses is longer than a stanza that is read.
    var isBlockListTooLong = false
    var chats: ChatPeers
    let accountText: String
    /// How this account is available; what a new session begins with.
    var availability = Availability()
    /// The time of the latest event by this machine's clock.
    var wall: WallTime = 0

    package init(
      account: JID, stored: StoredContacts, limits: ContactLimits = ContactLimits(), seed: UInt64
    ) {
      self.account = account.bare
      accountText = account.bare.description
      self.limits = limits
      prefix = "ambit-contacts-\(String(seed, radix: 36))-"
      for item in stored.roster { roster[item.jid] = item }
      rosterVersion = stored.rosterVersion
      for request in stored.requests { requests[request.jid] = request }
      presences = PresenceTable(limits)
      chats = ChatPeers(limits)
      for peer in stored.chatPeers { _ = chats.set(peer) }
      for resource in stored.resources { _ = presences.set(resource) }
      for entry in stored.blocked { blocks.set(entry) }
    }

    /// When ``wake(now:into:)`` has something to do.
    package var nextWake: Instant? {
      [waiting.values.lazy.map(\.deadline).min(), chats.nextWake].compactMap { $0 }.min()
    }

    /// Whether ``ContactEvent/sent(to:)`` has an effect for an address.
    package func isComposing(to address: String) -> Bool { chats.composing[address] != nil }

    /// Whether ``ContactEvent/message(_:)`` has an effect for a message.
    package func learns(from message: InboundMessage) -> Bool {
      guard message.showsChatStates || message.isMarkable, let sender = message.sender else {
        return false
      }
      guard let peer = chats.peers[sender] else { return true }
      return message.showsChatStates && !peer.showsStates
        || message.isMarkable && !peer.takesMarkers
    }

    /// The contacts, by address.
    package var contacts: [RosterItem] { roster.values.sorted { $0.jid.precedes($1.jid) } }

    /// Requests without an answer, by address.
    package var openRequests: [SubscriptionRequest] {
      requests.values.sorted { $0.jid.precedes($1.jid) }
    }

    /// The available resources of an account.
    package func resources(of jid: JID) -> [AvailableResource] { presences.resources(of: jid) }

    /// Whether the server has not told the blocked addresses of a session that begins.
    package var isBlockListAwaited: Bool { waiting.values.contains { $0.purpose == .blockList } }

    package mutating func handle(
      _ event: ContactEvent, now: Instant, wall: WallTime, into actions: inout [ContactAction]
    ) {
      self.wall = wall
      switch event {
      case .connected(let online): connect(online, now, &actions)
      case .disconnected(let isTooLong): disconnect(isTooLong: isTooLong)
      case .received(let element): receive(element, now, &actions)
      case .message(let message): note(message, &actions)
      case .sent(let address): sent(to: address)
      case .request(let ticket, let request): perform(request, ticket, now, &actions)
      }
      assert(violations().isEmpty, "\(violations())")
    }

    /// Gives up answers that are overdue.
    package mutating func wake(
      now: Instant, wall: WallTime, into actions: inout [ContactAction]
    ) {
      self.wall = wall
      let overdue = waiting.filter { $0.value.deadline <= now }
      for (id, entry) in overdue.sorted(by: { $0.key.text < $1.key.text }) {
        waiting[id] = nil
        end(entry.purpose, .noAnswer, &actions)
      }
      wakeChats(now, &actions)
    }

    // MARK: Sessions

    private mutating func connect(
      _ online: StreamOnline, _ now: Instant, _ actions: inout [ContactAction]
    ) {
      self.online = online
      if !online.isResumed {
        isRosterFresh = false
        areBlocksFresh = false
        isBlockListUnanswered = false
        endWaiting(.interrupted, &actions)
        forgetPresences(&actions)
        endActivities(&actions)
      }
      if !areBlocksFresh, !isBlockListAwaited { requestBlockList(now, &actions) }
      // The roster comes before the presences that it explains (RFC 6121, §2.2).
      if !isRosterFresh, !isRosterAwaited { requestRoster(now, &actions) }
      if !online.isResumed { actions.append(.send(ownPresence.element)) }
      sendMarkers(&actions)
    }

    private mutating func disconnect(isTooLong: Bool) {
      if isTooLong {
        // It is requested first, and so answered first.
        if isBlockListUnanswered, !isBlockListTooLong {
          isBlockListTooLong = true
        } else if isRosterAwaited {
          isRosterTooLong = true
        }
      }
      online = nil
    }

    private var isRosterAwaited: Bool {
      waiting.values.contains { if case .roster = $0.purpose { true } else { false } }
    }

    /// Ends what waits for answers of a session that is over.
    private mutating func endWaiting(
      _ failure: ContactFailure, _ actions: inout [ContactAction]
    ) {
      let ended = waiting.sorted { $0.key.text < $1.key.text }
      waiting = [:]
      for (_, entry) in ended {
        // The next session requests the roster again.
        if case .roster = entry.purpose { continue }
        if case .blockList = entry.purpose { continue }
        end(entry.purpose, failure, &actions)
      }
    }

    // MARK: Requests

    /// Sends a request to the server.
    mutating func ask(
      _ kind: IQStanza.Kind, _ payload: XMLElement, _ purpose: Waiting.Purpose,
      _ deadline: Instant, _ actions: inout [ContactAction]
    ) {
      requestCount += 1
      guard let id = StanzaID("\(prefix)\(requestCount)") else { return }
      waiting[id] = Waiting(purpose: purpose, deadline: deadline)
      actions.append(.send(IQStanza(kind, id: id, payload: [payload]).element))
    }

    private mutating func perform(
      _ request: ContactRequest, _ ticket: UInt64, _ now: Instant,
      _ actions: inout [ContactAction]
    ) {
      if case .setAvailability(let new) = request {
        availability = new
        if online != nil { actions.append(.send(ownPresence.element)) }
        return actions.append(.answer(ticket: ticket, nil))
      }
      if case .markDisplayed(let name, let jid) = request {
        let failure = markDisplayed(name, from: jid, &actions)
        return actions.append(.answer(ticket: ticket, failure))
      }
      guard online != nil else { return actions.append(.answer(ticket: ticket, .offline)) }
      guard waiting.count < limits.waitingCountMax else {
        return actions.append(.answer(ticket: ticket, .tooMany))
      }
      let deadline = now + limits.answerTime
      switch request {
      case .setContact(let jid, let name, let groups):
        let item = RosterItem(jid, name: name, groups: groups)
        ask(.set, RosterQuery(items: [item]).element, .ticket(ticket), deadline, &actions)
      case .removeContact(let jid):
        let item = RosterItem(jid, subscription: .remove)
        ask(.set, RosterQuery(items: [item]).element, .ticket(ticket), deadline, &actions)
      case .block(let jid):
        guard hasRoomToBlock(jid) else {
          return actions.append(.answer(ticket: ticket, .tooMany))
        }
        let purpose = Waiting.Purpose.block(jid, wasBlocked: blocks.contains(jid), ticket: ticket)
        block(jid, &actions)
        ask(.set, BlockingCommand(.block, [jid]).element, purpose, deadline, &actions)
      case .setPush(let registration):
        ask(.set, registration.element, .ticket(ticket), deadline, &actions)
      case .setChatState(let state, let jid):
        let failure = setChatState(state, to: jid, now, &actions)
        actions.append(.answer(ticket: ticket, failure))
      case .unblock(let jid):
        ask(
          .set, BlockingCommand(.unblock, [jid]).element, .unblock(jid, ticket: ticket), deadline,
          &actions)
      default: actions.append(.answer(ticket: ticket, subscription(request, &actions)))
      }
    }

    /// An answer has come, or comes no more.
    private mutating func end(
      _ purpose: Waiting.Purpose, _ failure: ContactFailure?, _ actions: inout [ContactAction]
    ) {
      switch purpose {
      case .roster:
        guard let failure else { return }
        actions.append(.notice(.problem(.rosterUnavailable(failure))))
      case .blockList:
        guard let failure else {
          areBlocksFresh = true
          return
        }
        actions.append(.notice(.problem(.blockListUnavailable(failure))))
      case .ticket(let ticket): actions.append(.answer(ticket: ticket, failure))
      case .block(let jid, let wasBlocked, let ticket):
        endBlocking(jid, wasBlocked: wasBlocked, isBlock: true, failure, &actions)
        actions.append(.answer(ticket: ticket, failure))
      case .unblock(let jid, let ticket):
        endBlocking(jid, wasBlocked: true, isBlock: false, failure, &actions)
        actions.append(.answer(ticket: ticket, failure))
      }
    }

    // MARK: Stanzas

    private mutating func receive(
      _ element: XMLElement, _ now: Instant, _ actions: inout [ContactAction]
    ) {
      switch element.name {
      case "iq":
        guard let iq = IQStanza(element) else { return }
        if iq.isRequest { takeRequest(iq, &actions) } else { takeAnswer(iq, now, &actions) }
      case "presence":
        guard let presence = PresenceStanza(element) else { return }
        take(presence, &actions)
      case "message":
        guard let message = MessageStanza(element) else { return }
        take(message, now, &actions)
      default: break
      }
    }

    /// Whether the account's server has sent a stanza, which may leave out the sender.
    func isOwnServer(_ from: JID?) -> Bool {
      guard let from else { return true }
      return from == account || from == online?.jid
        || from == JID(local: nil, domain: account.domain, resource: nil)
    }

    private mutating func takeAnswer(
      _ iq: IQStanza, _ now: Instant, _ actions: inout [ContactAction]
    ) {
      guard isOwnServer(iq.from), let entry = waiting.removeValue(forKey: iq.id) else { return }
      if entry.purpose == .blockList { isBlockListUnanswered = false }
      if let error = iq.error { return end(entry.purpose, .refused(error), &actions) }
      if case .roster(let isVersioned) = entry.purpose {
        takeRoster(iq, isVersioned: isVersioned, &actions)
      }
      if case .blockList = entry.purpose { takeBlockList(iq, &actions) }
      end(entry.purpose, nil, &actions)
    }

    /// Requests that ``namespaces`` names: pushes of the server, which only the own account may send (RFC 6121, §2.1.6).
    private mutating func takeRequest(_ iq: IQStanza, _ actions: inout [ContactAction]) {
      guard let namespace = iq.payload.first?.namespace, Self.namespaces.contains(namespace) else {
        return
      }
      if let from = iq.from, from != account {
        return actions.append(.notice(.forged(from: from)))
      }
      guard iq.kind == .set, takePush(iq, &actions) else {
        return actions.append(.send(iq.refusal(StanzaError(.modify, .badRequest)).element))
      }
      actions.append(.send(iq.result().element))
    }

    /// The namespaces of requests that this machine answers.
    package static let namespaces: Set = [Namespace.roster, Namespace.blocking]

    private mutating func takePush(_ iq: IQStanza, _ actions: inout [ContactAction]) -> Bool {
      if let command = iq[BlockingCommand.self] { return takeBlockPush(command, &actions) }
      guard let query = iq[RosterQuery.self] else { return false }
      return takePush(query, &actions)
    }

    /// The rules of the machine that don't hold.
    package func violations() -> [String] {
      var found = presences.violations() + chats.violations()
      if roster.count > limits.contactCountMax { found.append("too many contacts") }
      if requests.count > limits.requestCountMax { found.append("too many requests") }
      if blocks.count > limits.blockedCountMax {
        found.append("too many blocked addresses")
      }
      if waiting.count > limits.waitingCountMax + 2 { found.append("too many answers are awaited") }
      return found
    }
  }

  extension JID {
    /// The order in which addresses are shown.
    package func precedes(_ other: JID) -> Bool {
      description.utf8.lexicographicallyPrecedes(other.description.utf8)
    }
  }
#endif
