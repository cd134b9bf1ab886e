#if Messaging
  package import Essentials
  package import XMPPWire

  /// A request of a contact to see this account's presence (RFC 6121, §3.1).
  package struct SubscriptionRequest: Hashable, Sendable {
    package var jid: JID
    /// The contact's words, 1,024 bytes at most.
    package var text: String

    package init(_ jid: JID, text: String = "") {
      self.jid = jid
      self.text = text
    }
  }

  /// A resource of a contact that is available.
  package struct AvailableResource: Hashable, Sendable {
    /// The full address; bare for contacts without resources.
    package var jid: JID
    package var availability: Availability

    package init(_ jid: JID, _ availability: Availability) {
      self.jid = jid
      self.availability = availability
    }
  }

  /// A change of what the store has about contacts.
  package enum ContactChange: Hashable, Sendable {
    case setContact(RosterItem)
    case removeContact(JID)
    /// Before the whole roster is written again.
    case clearContacts
    /// The version of the roster that the store has; nil if it is no whole roster.
    case setRosterVersion(String?)
    case setRequest(SubscriptionRequest)
    case removeRequest(JID)
    case setResource(AvailableResource)
    case removeResource(JID)
    case clearResources
    case setBlocked(BlockedAddress)
    case forgetBlocked(JID)
    case setChatPeer(ChatPeer)
    case forgetChatPeer(String)
  }

  /// What a machine of contacts begins with.
  package struct StoredContacts: Hashable, Sendable {
    package var roster: [RosterItem] = []
    package var rosterVersion: String?
    package var requests: [SubscriptionRequest] = []
    package var resources: [AvailableResource] = []
    package var blocked: [BlockedAddress] = []
    package var chatPeers: [ChatPeer] = []

    package init() {}
  }

  /// A request of the app about contacts.
  package enum ContactRequest: Hashable, Sendable {
    /// Sets name and groups of a contact, and adds it if it isn't in the roster.
    case setContact(JID, name: String?, groups: [String])
    /// Removes a contact, and ends the subscriptions in both directions.
    case removeContact(JID)
    /// Requests the contact's presence.
    case subscribe(JID, text: String)
    /// Requests it no more.
    case unsubscribe(JID)
    /// Lets the contact have this account's presence, also before it was requested.
    case approve(JID)
    /// Refuses a request, or ends an approval.
    case deny(JID)
    /// Keeps all stanzas of an account, a resource or a domain away.
    case block(JID)
    case unblock(JID)
    /// Shows a peer what this account's user does.
    case setChatState(ChatState, to: JID)
    /// The message with this identifier, and all before it, was displayed.
    case markDisplayed(String, from: JID)
    /// Sets how this account is available.
    case setAvailability(Availability)
    /// Has the server wake a device by a push service, or no more.
    case setPush(PushRegistration)

    /// The address that it is about; nil if it is about the account.
    package var address: JID? {
      switch self {
      case .setContact(let jid, _, _), .removeContact(let jid), .subscribe(let jid, _),
        .unsubscribe(let jid), .approve(let jid), .deny(let jid), .block(let jid),
        .unblock(let jid), .setChatState(_, let jid), .markDisplayed(_, let jid):
        jid
      case .setAvailability, .setPush: nil
      }
    }
  }

  /// The reason why a request about contacts has failed.
  package enum ContactFailure: Error, Hashable, Sendable {
    /// The account isn't connected.
    case offline
    /// The server has not answered in time: the request may have had its effect.
    case noAnswer
    /// The session has ended before the answer: the request may have had its effect.
    case interrupted
    /// The server has refused it.
    case refused(StanzaError)
    /// The server can't do it.
    case unsupported
    /// Too many requests wait for answers.
    case tooMany
    /// The account has ended.
    case ended
  }

  /// Something for the machine of contacts.
  package enum ContactEvent: Sendable {
    /// A session can be used.
    case connected(StreamOnline)
    /// - isTooLong: Whether a stanza of the server was longer than is read.
    case disconnected(isTooLong: Bool)
    /// A stanza came.
    case received(XMLElement)
    /// A message has come, live or from the archive.
    case message(InboundMessage)
    /// A message to this address has left.
    case sent(to: String)
    /// A request of the app, with the driver's number for the answer.
    case request(ticket: UInt64, ContactRequest)
  }

  /// Something for the driver to do.
  package enum ContactAction: Hashable, Sendable {
    /// Belongs to the transaction of the stanza that has caused it.
    case change(ContactChange)
    case send(XMLElement)
    /// The answer to a request, when the changes before it are on disk.
    case answer(ticket: UInt64, ContactFailure?)
    case notice(ContactNotice)
  }

  /// Something that the app may want to know.
  package enum ContactNotice: Hashable, Sendable {
    /// A contact was added or changed; nil if it was removed.
    case contact(JID, RosterItem?)
    /// The roster is as the server has it.
    case rosterLoaded
    /// The contact requests a subscription; nil if it does so no more.
    case request(JID, SubscriptionRequest?)
    /// The resources of a contact, or of this account, that are available now.
    case presence(JID, [AvailableResource])
    /// The user of an account does something else in the conversation.
    case chatState(JID, ChatState)
    /// An address is blocked from now on, or no more.
    case blocked(JID, Bool)
    case problem(ContactProblem)
    /// A stanza was ignored because its sender may not send it.
    case forged(from: JID)
  }

  /// What hinders the use of contacts.
  package enum ContactProblem: Hashable, Sendable {
    /// The server has not given the roster; the last one is used.
    case rosterUnavailable(ContactFailure)
    /// The server's roster has more entries than are kept; the last one is used.
    case rosterTooLarge
    /// Entries of the roster were left out, or cut, because they can't be read.
    case rosterIncomplete(count: Int)
    /// More presences, or requests, have come than are kept.
    case tooManyResources
    case tooManyRequests
    /// The server has not given the list of blocked addresses; the last one is used.
    case blockListUnavailable(ContactFailure)
    case blockListTooLarge
    case blockListIncomplete(count: Int)
  }

  /// Times and bounds of contacts.
  package struct ContactLimits: Hashable, Sendable {
    package var contactCountMax = 10_000
    package var requestCountMax = 1_000
    package var resourcesPerContactMax = 16
    package var resourceCountMax = 20_000
    /// Requests to the server that wait for answers.
    package var waitingCountMax = 256
    package var answerTime: TimeSpan = .seconds(30)
    /// Peers whose abilities are known, and those of them that type now.
    package var chatPeerCountMax = 4_096
    package var chatActivityCountMax = 256
    /// After this time without another sign a peer types no more.
    package var composingTime: TimeSpan = .seconds(60)
    /// After this time this account's user has paused.
    package var ownComposingTime: TimeSpan = .seconds(30)
    package var blockedCountMax = 10_000
    /// Addresses that are blocked no more, and whose messages of that time the archive may have.
    package var endedBlockCountMax = 1_000
    /// Messages wait for the list of blocked addresses at the beginning of a session, at most this long.
    package var blockListTime: TimeSpan = .seconds(5)

    package init() {}
  }
#endif
