#if Messaging
  package import Essentials
  package import XMPPWire

  /// A room as the store has it.
  package struct StoredRoom: Hashable, Sendable {
    package var jid: JID
    /// The nickname that the app wishes for.
    package var nickname: String
    package var password: String?
    /// Whether it is joined in each session.
    package var isWanted: Bool
    /// The end of the last stay, if only the app may end it: bookmarks don't join such a room.
    package var ending: RoomEnd?
    /// Whether the bookmark at the server is not as this room is.
    package var isBookmarkDue: Bool
    /// The last entries of the room's archive that were read, oldest first.
    package var marks: [ArchiveMark]
    package var hasReadArchive: Bool
    package var historyEnd: HistoryEnd?
    /// Whether messages were handed over before those that the archive has from before them.
    package var isArchiveBehind = false

    package init(
      _ jid: JID, nickname: String, password: String? = nil, isWanted: Bool = true,
      isBookmarkDue: Bool = false, marks: [ArchiveMark] = [], hasReadArchive: Bool = false,
      historyEnd: HistoryEnd? = nil, ending: RoomEnd? = nil
    ) {
      self.ending = ending
      self.jid = jid
      self.nickname = nickname
      self.password = password
      self.isWanted = isWanted
      self.isBookmarkDue = isBookmarkDue
      self.marks = marks
      self.hasReadArchive = hasReadArchive
      self.historyEnd = historyEnd
    }
  }

  /// A message to a room that the room has not reflected.
  package struct OutgoingRoomRow: Hashable, Sendable {
    package var id: RowID
    package var room: JID
    /// The message's id and origin-id (XEP-0359).
    package var originID: String
    package var content: MessageContent
    /// Whether it may have left in an earlier session: the room's archive decides.
    package var isSent: Bool
    package var date: WallTime

    package init(
      id: RowID, room: JID, originID: String, content: MessageContent, isSent: Bool = false,
      date: WallTime
    ) {
      self.id = id
      self.room = room
      self.originID = originID
      self.content = content
      self.isSent = isSent
      self.date = date
    }
  }

  /// The part of a store that a machine of rooms begins with.
  package struct StoredRooms: Hashable, Sendable {
    package var rooms: [StoredRoom] = []
    package var outgoing: [OutgoingRoomRow] = []

    package init() {}
  }

  /// A change of what the store has about rooms.
  package enum RoomChange: Hashable, Sendable {
    /// The room without its place in the archive, which is kept.
    case setRoom(StoredRoom)
    case forgetRoom(JID)
    case setArchive(JID, [ArchiveMark], HistoryEnd?)
    case setArchiveBehind(JID, Bool)
    case insertOutgoing(OutgoingRoomRow)
    /// Before the stanza's bytes leave, or when it is certain that they did not arrive.
    case setSent(RowID, Bool)
    case settle(RowID, MessageFate)
    /// An entry of a room's archive was handled.
    case addKey(SeenKey)
  }

  /// A message of a room, in the room's order.
  package struct RoomMessage: Hashable, Sendable {
    package var room: JID
    /// Empty for a message of the room itself.
    package var nickname: String
    /// Whether it is from this account, from here or another device.
    package var isOwn: Bool
    package var originID: String
    package var content: MessageContent
    package var arrival: IncomingRow.Arrival
    package var date: WallTime
  }

  /// A row for the inbox.
  package enum RoomDelivery: Hashable, Sendable {
    case message(RoomMessage)
    /// The room's archive does not continue where it was read last.
    case archiveGap(JID, since: WallTime, now: WallTime)
    /// The archive has messages from before this time, which are left out.
    case historyStart(JID, WallTime)
  }

  /// An occupant of a room.
  package struct Occupant: Hashable, Sendable {
    package var nickname: String
    package var affiliation: RoomItem.Affiliation
    package var role: RoomItem.Role
    /// The account, where the room shows it.
    package var account: JID?
  }

  /// The reason why an account is not in a room.
  package enum RoomEnd: Hashable, Sendable {
    case left
    case kicked(String?)
    case banned(String?)
    case affiliationChanged
    case membersOnly
    case passwordRequired
    case nicknameTaken
    case nicknameRefused
    case full
    case notFound
    case creationRefused
    case destroyed(alternate: JID?, String?)
    case moved(JID?)
    /// The room's service has ended, or has removed this occupant for a technical reason.
    case interrupted
    case unreachable(StanzaError.Condition)
    case noAnswer
    case refused(StanzaError)

    /// Whether the room's people have ended the stay: only the app joins it again, in no session a bookmark. A room that was
    /// destroyed would be created anew.
    var isLasting: Bool {
      switch self {
      case .kicked, .banned, .destroyed, .moved: true
      default: false
      }
    }

    /// Whether messages that wait for the room fail. After a kick, or a join that the room has refused, they wait until the app
    /// joins it again or leaves it.
    var endsMessages: Bool {
      switch self {
      case .left, .banned, .destroyed, .moved: true
      default: false
      }
    }

    /// The reason for messages that fail with the stay.
    var condition: String {
      switch self {
      case .banned: "banned"
      case .destroyed: "destroyed"
      case .moved: "moved"
      default: "left"
      }
    }

    /// Whether the room is joined again by itself.
    var isTransient: Bool {
      switch self {
      case .interrupted, .unreachable, .noAnswer, .full: true
      default: false
      }
    }
  }

  package enum RoomState: Hashable, Sendable {
    /// It is joined with the next connection, or being joined.
    case joining
    /// Messages are sent and come in the room's order.
    case joined
    /// It is joined again after a pause.
    case waiting(RoomEnd)
    case ended(RoomEnd)
  }

  /// A room as the app sees it.
  package struct RoomInfo: Hashable, Sendable {
    package var jid: JID
    package var nickname: String
    package var state: RoomState
    package var subject: String
    package var occupantCount: Int
    /// Occupants beyond the bound, which are only counted.
    package var uncountedOccupants: Int
    package var hasArchive: Bool
  }

  /// A request of the app about rooms.
  package enum RoomRequest: Hashable, Sendable {
    case join(JID, nickname: String, password: String?, isBookmarked: Bool)
    case leave(JID)
    case setSubject(JID, String)
    case invite(JID, to: JID, reason: String?)
  }

  /// The reason why a request about a room has failed.
  package enum RoomFailure: Error, Hashable, Sendable {
    case offline
    case notJoined
    case tooMany
    case ended(RoomEnd)
    /// The account has ended.
    case closed
  }

  package enum RoomEvent: Sendable {
    case connected(StreamOnline)
    case disconnected
    /// A stanza of ``RoomMachine/takes(_:)``, with those of its keys that the store has.
    case received(XMLElement, known: Set<SeenKey>)
    case request(ticket: UInt64, RoomRequest)
    case send(ticket: UInt64, OutgoingRoomRow)
    /// The app is about to be suspended: messages that wait for an archive or a session wait no longer.
    case endWaiting
  }

  package enum RoomAction: Hashable, Sendable {
    case change(RoomChange)
    case send(XMLElement)
    case deliver(RoomDelivery)
    case fate(RowID, MessageFate)
    case accepted(ticket: UInt64, RowID)
    case refused(ticket: UInt64)
    case answer(ticket: UInt64, RoomFailure?)
    case notice(RoomNotice)
  }

  package enum RoomNotice: Hashable, Sendable {
    case room(RoomInfo)
    /// Nil if the nickname left the room.
    case occupant(JID, nickname: String, Occupant?)
    case problem(RoomProblem)
    case forged(from: JID)
  }

  package enum RoomProblem: Hashable, Sendable {
    case tooManyOccupants(JID)
    case archiveStalled(JID)
    /// Messages came faster than they are kept while the archive is read. It is read again.
    case flooded(JID)
    case bookmarksUnavailable(StanzaError.Condition)
    case tooManyRooms
  }

  /// Times and bounds of rooms.
  package struct RoomLimits: Hashable, Sendable {
    package var roomCountMax = 1_000
    /// Rooms that are being joined at a time.
    package var joiningCountMax = 16
    package var occupantsPerRoomMax = 10_000
    package var occupantCountMax = 50_000
    /// Messages that wait while an archive is read: of one room, and the bytes of all.
    package var heldCountMax = 2_048
    package var heldByteCountMax = 8 << 20
    /// A page of an archive: a room can't fill the memory.
    package var pageByteCountMax = 64 << 20
    package var outgoingCountMax = 10_000
    package var outgoingByteCountMax = 16 << 20
    package var windowCountMax = 64
    package var nicknameTryMax = 3
    package var answerTime: TimeSpan = .seconds(30)
    package var joinTime: TimeSpan = .seconds(60)
    /// How long a room that doesn't answer keeps others from being joined.
    package var placeTime: TimeSpan = .seconds(10)
    /// From a request for bookmarks, or to write one, to the next attempt.
    package var bookmarkTime: TimeSpan = .seconds(30)
    /// Silence of a room after which this occupant's presence is verified (XEP-0410).
    package var silence: TimeSpan = .seconds(900)
    /// After this time without its reflection, a message is searched for in the archive.
    package var reflectionTime: TimeSpan = .seconds(60)
    package var firstPause: TimeSpan = .seconds(5)
    package var longestPause: TimeSpan = .seconds(600)
    package var rejectionCountMax = 3
    package var recentKeyCountMax = 8_192
    package var archive: MessageLimits

    package init() {
      archive = MessageLimits()
      archive.historyCountMax = 1_000
      archive.historyAge = 7 * 86_400_000
    }
  }
#endif
