#if Messaging
  internal import XMPPMachines
  internal import XMPPWire

  /// A room that the account has joined, or did before (XEP-0045).
  public struct Room: Hashable, Sendable {
    /// Whether the account is in the room.
    public enum State: Hashable, Sendable {
      /// It is being joined, or will be with the next connection.
      case joining
      /// Messages are sent, and come in the room's order.
      case joined
      /// It can't be joined at this moment for this reason, and is joined after a pause.
      case waiting(RoomEnd)
      /// The account isn't in the room for this reason, and doesn't join it again by itself.
      case ended(RoomEnd)
    }

    /// The room's address.
    public var address: String
    /// The nickname of this account in the room. It differs from the wished one if that was another occupant's.
    public var nickname: String
    /// Whether the account is in the room.
    public var state: State
    /// The subject; empty without one.
    public var subject: String
    /// The number of occupants.
    public var occupantCount: Int
    /// Whether the room has an archive. Without one, messages of the time in which the account isn't in the room are lost.
    public var hasArchive: Bool
  }

  /// The reason why an account isn't in a room.
  public enum RoomEnd: Hashable, Sendable {
    /// This account has left it, here or on another device.
    case left
    /// A moderator has removed this account, with these words.
    case kicked(reason: String?)
    /// This account may not join the room; the moderator's words.
    case banned(reason: String?)
    /// The room is for members only, and this account isn't one.
    case membersOnly
    /// The room needs a password, or another one.
    case passwordRequired
    /// Other occupants have the nickname, and two that are like it.
    case nicknameTaken
    /// The room does not accept the nickname.
    case nicknameRefused
    /// The room has as many occupants as it may have.
    case full
    /// The room does not exist, or can't be joined yet.
    case notFound
    /// This account may not create rooms at this service.
    case creationRefused
    /// The room was destroyed; a room that replaces it, and the owner's words.
    case destroyed(alternate: String?, reason: String?)
    /// The room has another address.
    case moved(address: String?)
    /// The room's service has ended, or has lost this occupant.
    case interrupted
    /// The room's server can't be reached; the condition.
    case unreachable(String)
    /// The room has not answered.
    case noAnswer
    /// The room has refused it, with this condition and perhaps words of its own.
    case refused(condition: String, text: String?)
  }

  extension RoomEnd: CustomStringConvertible {
    /// One sentence without a full stop.
    public var description: String {
      func words(_ text: String?) -> String { text.map { " (\($0))" } ?? "" }
      return switch self {
      case .left: "the account has left the room"
      case .kicked(let reason): "a moderator has removed the account from the room\(words(reason))"
      case .banned(let reason): "the account is banned from the room\(words(reason))"
      case .membersOnly: "the room is for members only"
      case .passwordRequired: "the room needs a password, or another one"
      case .nicknameTaken: "another occupant of the room has the nickname"
      case .nicknameRefused: "the room does not accept the nickname"
      case .full: "the room is full"
      case .notFound: "the room does not exist, or can't be joined yet"
      case .creationRefused: "the account may not create rooms there"
      case .destroyed(let alternate, let reason):
        "the room was destroyed\(words(reason))\(alternate.map { "; \($0) replaces it" } ?? "")"
      case .moved(let address): "the room has moved\(address.map { " to \($0)" } ?? "")"
      case .interrupted: "the room's service has ended the stay"
      case .unreachable(let condition): "the room's server can't be reached: \(condition)"
      case .noAnswer: "the room has not answered"
      case .refused(let condition, let text): "the room refuses it: \(condition)\(words(text))"
      }
    }
  }

  /// An occupant of a room.
  public struct Occupant: Hashable, Sendable {
    /// The lasting relation of an account to a room.
    public enum Affiliation: String, Hashable, Sendable { case owner, admin, member, outcast, none }

    /// The rights of an occupant during its stay.
    public enum Role: String, Hashable, Sendable { case moderator, participant, visitor, none }

    /// The name in the room.
    public var nickname: String
    /// The lasting relation of the account to the room.
    public var affiliation: Affiliation
    /// The rights during the stay.
    public var role: Role
    /// The address of the account; nil in rooms that don't show it.
    public var account: String?
  }

  /// A change of a room's occupants.
  public struct OccupantUpdate: Hashable, Sendable {
    struct Key: Hashable, Sendable {
      var room: String
      var nickname: String
    }

    /// The room's address.
    public var room: String
    /// The occupant's nickname.
    public var nickname: String
    /// The occupant now; nil if it isn't in the room any more.
    public var occupant: Occupant?
  }

  /// Something that hinders the use of a room.
  public enum RoomProblem: Hashable, Sendable {
    /// The room has more occupants than are kept: the rest is only counted.
    case tooManyOccupants
    /// The room's archive does not let itself be read to its end.
    case archiveStalled
    /// Messages came faster than they are kept while the archive was read.
    case flooded
  }

  /// An invitation to a room.
  public struct RoomInvitation: Hashable, Sendable {
    /// The room's address.
    public var room: String
    /// The address of the account that invites: the sender, or another one by the word of the room, which may name the
    /// occupant instead.
    public var inviter: String?
    /// The words of the invitation.
    public var reason: String?
    /// The room's password.
    public var password: String?
  }

  extension InboxItem {
    /// The invitation that a message is (XEP-0249, and XEP-0045, §7.8); nil for other messages.
    public var invitation: RoomInvitation? {
      guard kind == .message, nickname == nil,
        XMLFragment.mentions(Namespace.directInvitation, in: elements)
          || XMLFragment.mentions(Namespace.roomUser, in: elements)
      else { return nil }
      let parser = XMLStreamParser()
      parser.append(XMLWriter.opening(StreamHeader(from: "a", id: "a"))[...])
      parser.append(Array(elements.utf8)[...])
      var direct: RoomInvitation?
      while let item = try? parser.next() {
        guard case .element(let element) = item else { continue }
        // Services add the other kind to invitations of a room.
        if let user = RoomUser(element), let invitation = user.invitation {
          // Some services name the occupant, and not its account.
          let isOccupant = invitation.from?.bare.description == peer
          let inviter = isOccupant ? invitation.from : invitation.from?.bare
          return RoomInvitation(
            room: peer, inviter: inviter?.description, reason: invitation.reason,
            password: user.password)
        }
        guard let invitation = DirectInvitation(element) else { continue }
        direct = RoomInvitation(
          room: invitation.room.description, inviter: peer, reason: invitation.reason,
          password: invitation.password)
      }
      return direct
    }
  }

  extension RoomEnd {
    init(_ end: XMPPMachines.RoomEnd) {
      self =
        switch end {
        case .left: .left
        case .kicked(let reason): .kicked(reason: reason)
        case .banned(let reason): .banned(reason: reason)
        case .affiliationChanged, .membersOnly: .membersOnly
        case .passwordRequired: .passwordRequired
        case .nicknameTaken: .nicknameTaken
        case .nicknameRefused: .nicknameRefused
        case .full: .full
        case .notFound: .notFound
        case .creationRefused: .creationRefused
        case .destroyed(let alternate, let reason):
          .destroyed(alternate: alternate?.description, reason: reason)
        case .moved(let address): .moved(address: address?.description)
        case .interrupted: .interrupted
        case .unreachable(let condition): .unreachable(condition.rawValue)
        case .noAnswer: .noAnswer
        case .refused(let error):
          .refused(condition: error.condition.rawValue, text: error.text)
        }
    }
  }

  extension Room {
    init(_ info: RoomInfo) {
      let state: State =
        switch info.state {
        case .joining: .joining
        case .joined: .joined
        case .waiting(let end): .waiting(RoomEnd(end))
        case .ended(let end): .ended(RoomEnd(end))
        }
      self.init(
        address: info.jid.description, nickname: info.nickname, state: state,
        subject: info.subject, occupantCount: info.occupantCount + info.uncountedOccupants,
        hasArchive: info.hasArchive)
    }
  }

  extension Occupant {
    init(_ occupant: XMPPMachines.Occupant) {
      self.init(
        nickname: occupant.nickname,
        affiliation: Affiliation(rawValue: occupant.affiliation.rawValue) ?? .none,
        role: Role(rawValue: occupant.role.rawValue) ?? .none,
        account: occupant.account?.description)
    }
  }

  extension MessagingError {
    init(_ failure: RoomFailure) {
      self =
        switch failure {
        case .offline: .offline
        case .notJoined: .notInRoom
        case .tooMany: .tooManyRequests
        case .ended(let end): .room(RoomEnd(end))
        case .closed: .ended
        }
    }
  }
#endif
