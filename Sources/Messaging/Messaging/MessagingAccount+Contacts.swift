#if Messaging
  internal import MessagingHost
  internal import Synchronization
  internal import XMPPMachines
  internal import XMPPWire

  /// The changes of contacts that an account's readers follow.
  final class ContactFeeds: Sendable {
    let contacts = UpdateFeed<String, ContactUpdate>()
    let rosters = UpdateFeed<Bool, RosterState>()
    let requests = UpdateFeed<String, SubscriptionRequestUpdate>()
    let presences = UpdateFeed<String, Presence>()
    let blocks = UpdateFeed<String, BlockUpdate>()
    let chatStates = UpdateFeed<String, ChatStateUpdate>()

    func end() {
      contacts.end()
      rosters.end()
      requests.end()
      presences.end()
      blocks.end()
      chatStates.end()
    }
  }

  /// Contacts: the roster at the server, subscriptions, and presence.
  ///
  /// Contacts can be read without a connection, as they were when it ended. Changes need a connection:
  /// they throw ``MessagingError/offline`` without one, and ``MessagingError/noAnswer`` after 30 seconds.
  extension MessagingAccount {
    // MARK: The roster

    /// The contacts, by address; 10,000 at most.
    public func contacts() async throws(MessagingError) -> [Contact] {
      try await known { $0.contacts.map { Contact($0) } }
    }

    /// Changes of contacts from now on, of this device and others.
    public func contactUpdates() -> Updates<ContactUpdate> {
      reports.contacts.contacts.updates()
    }

    /// How the roster is known, each time that this becomes clear from now on: once for each new session.
    public func rosterStates() -> Updates<RosterState> { reports.contacts.rosters.updates() }

    /// Sets name and groups of a contact, and adds it if it isn't in the roster. Returns when the server has done it.
    public func setContact(
      _ address: String, name: String? = nil, groups: [String] = []
    ) async throws(MessagingError) {
      let name = name.flatMap { $0.isEmpty ? nil : $0 }
      for text in groups + [name].compactMap(\.self) where !text.isXMLText { throw .invalidText }
      for text in groups + [name].compactMap(\.self)
      where text.utf8.count > RosterItem.nameByteCountMax {
        throw .tooLarge(
          byteCount: text.utf8.count, byteCountMax: RosterItem.nameByteCountMax)
      }
      try await request(.setContact(try jid(address), name: name, groups: groups))
    }

    /// Removes a contact, and ends the subscriptions in both directions. Returns when the server has done it.
    public func removeContact(_ address: String) async throws(MessagingError) {
      try await request(.removeContact(try jid(address)))
    }

    // MARK: Subscriptions

    /// Requests of others to see this account's presence that have no answer, by address.
    public func subscriptionRequests() async throws(MessagingError) -> [SubscriptionRequest] {
      try await known { $0.openRequests.map { SubscriptionRequest($0) } }
    }

    /// Changes of these requests from now on.
    public func subscriptionRequestUpdates() -> Updates<SubscriptionRequestUpdate> {
      reports.contacts.requests.updates()
    }

    /// Requests to see another account's presence. The answer is a change of the contact, whenever the other answers.
    public func requestSubscription(
      to address: String, text: String = ""
    ) async throws(MessagingError) {
      guard text.isXMLText else { throw .invalidText }
      try await request(.subscribe(try jid(address), text: text))
    }

    /// Sees another account's presence no more, or withdraws the request for it.
    public func cancelSubscription(to address: String) async throws(MessagingError) {
      try await request(.unsubscribe(try jid(address)))
    }

    /// Lets another account see this account's presence, as it has requested, or will.
    ///
    /// - Throws: ``MessagingError/unsupported`` if there is no request, and the server approves none in advance.
    public func approveSubscription(of address: String) async throws(MessagingError) {
      try await request(.approve(try jid(address)))
    }

    /// Refuses another account's request, or lets it see this account's presence no more.
    public func denySubscription(of address: String) async throws(MessagingError) {
      try await request(.deny(try jid(address)))
    }

    // MARK: Presence

    /// The presence of a contact, or of this account's own programs.
    public func presence(of address: String) async throws(MessagingError) -> Presence {
      let jid = try jid(address)
      return try await known { Presence(jid, $0.resources(of: jid)) }
    }

    /// Changes of presences from now on. If one changes again before it was read, only the latest is kept.
    public func presenceUpdates() -> Updates<Presence> { reports.contacts.presences.updates() }

    /// Sets how this account is shown, now and in later sessions of this object.
    public func setAvailability(_ availability: Availability) async throws(MessagingError) {
      guard let wire = availability.wire else { throw .invalidText }
      try await request(.setAvailability(wire))
    }

    // MARK: Blocking

    /// The blocked addresses: accounts, resources and domains.
    public func blockedAddresses() async throws(MessagingError) -> [String] {
      try await known { $0.blocks.addresses.map(\.description) }
    }

    /// Changes of them from now on, of this device and others.
    public func blockUpdates() -> Updates<BlockUpdate> { reports.contacts.blocks.updates() }

    /// Keeps messages and presence of an account, a resource or a domain away, on all devices of this account.
    ///
    /// It has effect here at once, and returns when the server has done it. Messages that come meanwhile, or are found in
    /// the archive, are not handed over, also later.
    public func block(_ address: String) async throws(MessagingError) {
      try await request(.block(try fullJID(address)))
    }

    /// Lets stanzas pass that are sent from now on. Messages of the time before are not handed over.
    public func unblock(_ address: String) async throws(MessagingError) {
      try await request(.unblock(try fullJID(address)))
    }

    // MARK: Conversations

    /// Changes from now on of what the users of other accounts do in their conversations with this one. A user that types
    /// and gives no other sign for a minute counts as inactive.
    public func chatStateUpdates() -> Updates<ChatStateUpdate> {
      reports.contacts.chatStates.updates()
    }

    /// Shows another account what this account's user does. Call it with `composing` for each change of the text: it is
    /// sent once, and `paused` follows after 30 seconds without another call. A message that is sent ends it.
    ///
    /// - Returns: Whether the other account sees it: it has shown its own user's state before, and there is a connection.
    @discardableResult
    public func setChatState(
      _ state: ChatState, to address: String
    ) async throws(MessagingError) -> Bool {
      guard let state = XMPPWire.ChatState(rawValue: state.rawValue) else { return false }
      return try await isTaken(.setChatState(state, to: try jid(address)))
    }

    /// Marks a message, and all of its sender before it, as displayed (XEP-0333), which is their state at the sender.
    /// Without a connection the mark is sent with the next one.
    ///
    /// - Returns: Whether the sender gets it: its app has marked its messages as such.
    @discardableResult
    public func markDisplayed(_ item: InboxItem) async throws(MessagingError) -> Bool {
      guard item.kind == .message else { return false }
      return try await markDisplayed(originID: item.originID, from: item.peer)
    }

    /// The same for the message of a sender with this identifier.
    @discardableResult
    public func markDisplayed(
      originID: String, from address: String
    ) async throws(MessagingError) -> Bool {
      guard !originID.isEmpty else { return false }
      return try await isTaken(.markDisplayed(originID, from: try jid(address)))
    }

    /// False if the other account takes no such sign, or can't be reached now.
    private func isTaken(_ request: ContactRequest) async throws(MessagingError) -> Bool {
      do throws(MessagingError) {
        try await self.request(request)
        return true
      } catch {
        guard error == .unsupported || error == .offline else { throw error }
        return false
      }
    }

    // MARK: The host

    private func fullJID(_ address: String) throws(MessagingError) -> JID {
      guard let jid = JID(typed: address) else { throw .invalidAddress(address) }
      return jid
    }

    func jid(_ address: String) throws(MessagingError) -> JID {
      guard let jid = JID(typed: address) else { throw .invalidAddress(address) }
      return jid.bare
    }

    func known<Value: Sendable>(
      _ body: @escaping @Sendable (ContactMachine) -> Value
    ) async throws(MessagingError) -> Value {
      do throws(StoreError) {
        return try await host.contacts(body)
      } catch {
        throw MessagingError(error)
      }
    }

    func request(_ request: ContactRequest) async throws(MessagingError) {
      let host = host
      let failure = await withCheckedContinuation { continuation in
        host.perform(request) { continuation.resume(returning: $0) }
      }
      if let failure { throw MessagingError(failure) }
    }

    static func take(_ notice: ContactNotice, _ reports: Reports) {
      let feeds = reports.contacts
      switch notice {
      case .contact(let jid, let item):
        let address = jid.description
        feeds.contacts.send(
          ContactUpdate(address: address, contact: item.map { Contact($0) }), for: address)
      case .rosterLoaded: feeds.rosters.send(.current, for: true)
      case .request(let jid, let request):
        let address = jid.description
        feeds.requests.send(
          SubscriptionRequestUpdate(
            address: address, request: request.map { SubscriptionRequest($0) }), for: address)
      case .presence(let jid, let resources):
        feeds.presences.send(Presence(jid, resources), for: jid.description)
      case .chatState(let jid, let state):
        let address = jid.description
        guard let state = ChatState(rawValue: state.rawValue) else { return }
        feeds.chatStates.send(ChatStateUpdate(address: address, state: state), for: address)
      case .blocked(let jid, let isBlocked):
        let address = jid.description
        feeds.blocks.send(BlockUpdate(address: address, isBlocked: isBlocked), for: address)
      case .problem(let problem): take(problem, reports)
      case .forged: reports.shared.withLock { $0.statistics.forged += 1 }
      }
    }

    private static func take(_ problem: ContactProblem, _ reports: Reports) {
      switch problem {
      case .rosterUnavailable(let failure):
        reports.contacts.rosters.send(
          .unavailable(MessagingError(failure).description), for: true)
      case .rosterTooLarge:
        reports.contacts.rosters.send(.unavailable("the roster is too large"), for: true)
      case .rosterIncomplete, .tooManyResources, .tooManyRequests, .blockListUnavailable,
        .blockListTooLarge, .blockListIncomplete:
        break
      }
      let reported = AccountProblem(problem)
      reports.problems.send(reported, for: reported)
    }
  }
#endif
