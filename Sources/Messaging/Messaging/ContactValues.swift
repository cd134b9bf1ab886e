#if Messaging
  internal import XMPPMachines
  internal import XMPPWire

  /// An entry of an account's roster (RFC 6121, §2).
  public struct Contact: Hashable, Sendable {
    /// The directions in which presence is shown.
    public enum Subscription: String, Hashable, Sendable {
      /// In none.
      case none
      /// This account sees the contact's presence.
      case to
      /// The contact sees this account's presence.
      case from
      /// Each sees the other's.
      case both
    }

    /// The contact's address.
    public var address: String
    /// The name that this account's user gave it; nil for none.
    public var name: String?
    /// The groups that this account's user put it into.
    public var groups: [String]
    /// The directions in which presence is shown.
    public var subscription: Subscription
    /// Whether the contact has not answered this account's request for its presence.
    public var isRequested: Bool
    /// Whether a later request of the contact is approved already.
    public var isApproved: Bool
  }

  /// A change of a roster.
  public struct ContactUpdate: Hashable, Sendable {
    /// The contact's address.
    public var address: String
    /// The contact now; nil if it was removed.
    public var contact: Contact?
  }

  /// What the user of an account does in a conversation (XEP-0085).
  public enum ChatState: String, Hashable, Sendable {
    /// Pays attention, and doesn't write.
    case active
    /// Writes.
    case composing
    /// Has written, and pauses.
    case paused
    /// Pays no attention.
    case inactive
    /// Has left the conversation.
    case gone
  }

  /// A change of what the user of an account does.
  public struct ChatStateUpdate: Hashable, Sendable {
    /// The account's address.
    public var address: String
    /// What its user does now.
    public var state: ChatState
  }

  /// A change of the blocked addresses.
  public struct BlockUpdate: Hashable, Sendable {
    /// The address of an account, a resource or a domain.
    public var address: String
    /// Whether it is blocked now.
    public var isBlocked: Bool
  }

  /// How an account's roster is known.
  public enum RosterState: Hashable, Sendable {
    /// As the server has it, with all changes from then on.
    case current
    /// As it was before, because the server has not given it; the reason.
    case unavailable(String)
  }

  /// The request of another account to see this account's presence.
  public struct SubscriptionRequest: Hashable, Sendable {
    /// The other account's address.
    public var address: String
    /// Its words; empty without any.
    public var text: String
  }

  /// A change of the requests that wait for an answer.
  public struct SubscriptionRequestUpdate: Hashable, Sendable {
    /// The other account's address.
    public var address: String
    /// The request; nil if it waits no more.
    public var request: SubscriptionRequest?
  }

  /// How a resource of an account is available (RFC 6121, §4.7.2).
  public struct Availability: Hashable, Sendable {
    /// The readiness for messages.
    public enum Show: String, Hashable, Sendable {
      /// Plainly available.
      case available
      /// Interested in chatting.
      case chat
      /// Away for a short time.
      case away
      /// Away for long.
      case extendedAway = "xa"
      /// Not to be disturbed.
      case doNotDisturb = "dnd"
    }

    /// The readiness for messages.
    public var show: Show
    /// A text for people, at most 1,024 bytes of which are shown to others.
    public var status: String
    /// Of several resources the one with the highest priority is meant first. Below zero it gets no messages to the account.
    public var priority: Int8

    /// Creates a value.
    public init(_ show: Show = .available, status: String = "", priority: Int8 = 0) {
      self.show = show
      self.status = status
      self.priority = priority
    }
  }

  /// The presence of an account: its resources that are available.
  public struct Presence: Hashable, Sendable {
    /// A program of the account that is connected.
    public struct Resource: Hashable, Sendable {
      /// The resource part of its address; empty if it has none.
      public var name: String
      /// How it is available.
      public var availability: Availability
    }

    /// The account's address.
    public var address: String
    /// The highest priority comes first; empty if the account isn't available, or doesn't show it.
    public var resources: [Resource]

    /// Whether a resource is available.
    public var isAvailable: Bool { !resources.isEmpty }
  }

  extension Contact {
    init(_ item: RosterItem) {
      let subscription: Subscription =
        switch item.subscription {
        case .none, .remove: .none
        case .to: .to
        case .from: .from
        case .both: .both
        }
      self.init(
        address: item.jid.description, name: item.name, groups: item.groups,
        subscription: subscription, isRequested: item.isAsked, isApproved: item.isApproved)
    }
  }

  extension SubscriptionRequest {
    init(_ request: XMPPMachines.SubscriptionRequest) {
      self.init(address: request.jid.description, text: request.text)
    }
  }

  extension Availability {
    init(_ value: XMPPWire.Availability) {
      self.init(
        value.show.flatMap { Show(rawValue: $0.rawValue) } ?? .available, status: value.status,
        priority: value.priority)
    }

    /// As it is sent; nil if the status has characters that XML doesn't have.
    var wire: XMPPWire.Availability? {
      guard status.isXMLText else { return nil }
      return XMPPWire.Availability(
        XMPPWire.Availability.Show(rawValue: show.rawValue),
        status: status, priority: priority)
    }
  }

  extension Presence {
    init(_ account: JID, _ resources: [AvailableResource]) {
      self.init(
        address: account.description,
        resources: resources.map {
          Resource(name: $0.jid.resource ?? "", availability: Availability($0.availability))
        })
    }
  }

  extension MessagingError {
    init(_ failure: ContactFailure) {
      self =
        switch failure {
        case .offline: .offline
        case .noAnswer, .interrupted: .noAnswer
        case .refused(let error):
          .refused(condition: error.condition.rawValue, text: error.text)
        case .unsupported: .unsupported
        case .tooMany: .tooManyRequests
        case .ended: .ended
        }
    }
  }

  extension AccountProblem {
    init(_ problem: ContactProblem) {
      self =
        switch problem {
        case .rosterUnavailable(let failure):
          .rosterUnavailable(MessagingError(failure).description)
        case .rosterTooLarge: .rosterTooLarge
        case .rosterIncomplete(let count): .rosterIncomplete(count: count)
        case .tooManyResources: .tooManyResources
        case .tooManyRequests: .tooManySubscriptionRequests
        case .blockListUnavailable(let failure):
          .blockListUnavailable(MessagingError(failure).description)
        case .blockListTooLarge: .blockListTooLarge
        case .blockListIncomplete(let count): .blockListIncomplete(count: count)
        }
    }
  }
#endif
