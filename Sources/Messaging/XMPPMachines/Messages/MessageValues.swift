#if Messaging
  package import XMPPWire

  /// Milliseconds since 1970 by the clock of a server or of this machine. Never used for order.
  package typealias WallTime = Int64

  extension OrderStreamID: Comparable {
    package static func < (a: OrderStreamID, b: OrderStreamID) -> Bool {
      (a.high, a.low) < (b.high, b.low)
    }
  }

  /// The place of a message in its stream, as an element in the stanza has it. Servers keep the
  /// element in their archives.
  package struct OrderElement: Hashable, Sendable {
    package var stream: OrderStreamID
    /// From 1, without holes as they are sent.
    package var number: UInt64
    /// The least number without a receipt as the message was sent. The receiver waits for no earlier
    /// one. Nil from senders that don't have it.
    package var since: UInt64?

    /// Numbers beyond this are no order: JSON, SQLite and double precision agree up to here.
    package static let numberMax: UInt64 = 1 << 53

    package init(stream: OrderStreamID, number: UInt64, since: UInt64? = nil) {
      self.stream = stream
      self.number = number
      self.since = since
    }

    /// Whether a stream can have this number.
    package var isValid: Bool { (1...Self.numberMax).contains(number) }
  }

  /// The content of a message: its text, and all its other elements as they came.
  package struct MessageContent: Hashable, Sendable {
    /// The body; empty if it has none.
    package var body: String
    /// The other children of the stanza as XML, without those that the machines read or write.
    /// Unknown and encrypted content is kept here.
    package var elements: String

    package init(body: String, elements: String = "") {
      self.body = body
      self.elements = elements
    }

    /// The size by which bounds are counted.
    package var byteCount: Int { body.utf8.count + elements.utf8.count }
  }

  /// The number of a row in the outbox or in the inbox, given once in a store.
  package struct RowID: RawRepresentable, Hashable, Comparable, Sendable {
    package var rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
    package static func < (a: RowID, b: RowID) -> Bool { a.rawValue < b.rawValue }
  }

  /// The fate of an outgoing message.
  package enum MessageFate: Hashable, Sendable {
    /// On disk here.
    case stored
    /// The server has confirmed it, by stream management (XEP-0198). A crash of the server may still
    /// lose it.
    case acknowledged
    /// The own archive has it. The last one for peers that have not shown the order element.
    case archived
    /// The recipient's account has confirmed it (XEP-0184).
    case received
    /// The recipient has displayed it (XEP-0333).
    case displayed
    /// It was not delivered. A later receipt corrects that.
    case failed(FailureReason)

    /// Whether the other fate may follow this one.
    func precedes(_ other: MessageFate) -> Bool { rank < other.rank }

    private var rank: Int {
      switch self {
      case .stored: 0
      case .acknowledged: 1
      case .archived: 2
      case .failed: 3
      case .received: 4
      case .displayed: 5
      }
    }
  }

  /// Why a message was not delivered.
  package enum FailureReason: Hashable, Sendable {
    /// The deadline that the app has set.
    case deadline
    /// The server has closed the stream twice because of this stanza, with this condition.
    case closesStream(String)
    /// An error stanza with this condition.
    case refused(String)
  }

  /// A row of the outbox.
  package struct OutgoingRow: Hashable, Sendable {
    package var id: RowID
    /// The bare JID of the recipient.
    package var peer: String
    /// The message's id and origin-id (XEP-0359).
    package var originID: String
    package var order: OrderElement
    /// Nil in the machine when the server has it; the store keeps it.
    package var content: MessageContent?
    package var fate: MessageFate
    /// The position in the session at which it was sent, from 1. Nil before that, and 0 if it was sent
    /// in a session that has ended: the archive shows whether the server has it.
    package var position: UInt64?
    /// When the app gives it up, by this machine's clock.
    package var deadline: WallTime?
    /// How often the server has closed the stream while this was the only stanza under way.
    package var closingCount: Int
    package var date: WallTime

    package init(
      id: RowID, peer: String, originID: String, order: OrderElement, content: MessageContent?,
      fate: MessageFate = .stored, position: UInt64? = nil, deadline: WallTime? = nil,
      closingCount: Int = 0, date: WallTime
    ) {
      self.id = id
      self.peer = peer
      self.originID = originID
      self.order = order
      self.content = content
      self.fate = fate
      self.position = position
      self.deadline = deadline
      self.closingCount = closingCount
      self.date = date
    }
  }

  /// A row of the inbox. Rows reach the app by `sequence`.
  package struct IncomingRow: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
      /// A message of the peer.
      case message
      /// A message that another device of this account has sent to the peer. In a room, each message of this account.
      case sentElsewhere
      /// Numbers of a stream that did not come within the time limit.
      case gap(OrderStreamID, ClosedRange<UInt64>)
      /// The archive no longer continues where it ended last time. Messages since then may be lost.
      case archiveGap(since: WallTime)
      /// The archive has messages from before this time, which a new store leaves out.
      case historyStart(WallTime)
    }

    /// How a message is related to those before it.
    package enum Arrival: Hashable, Sendable {
      case inOrder
      /// After a gap was reported for it, or from before the first message of its stream.
      case late
      /// Another message had the same number: the sender's store was restored from a copy.
      case renumbered
      /// From before this store existed: the archive had it, and other devices may have shown it.
      case history
    }

    package var id: RowID
    package var kind: Kind
    /// The bare JID of the conversation.
    package var peer: String
    /// The message's origin-id or id; empty if it has none.
    package var originID: String
    /// The sender's nickname in a room, empty for the room itself; nil outside of rooms.
    package var nickname: String?
    package var order: OrderElement?
    package var content: MessageContent
    package var arrival: Arrival
    /// When the server got it, or when it came.
    package var date: WallTime
    /// The place in the hand-over; nil while it is held back.
    package var sequence: Int64?
    /// Whether only a remote notification has brought it.
    package var isProvisional = false

    package init(
      id: RowID, kind: Kind, peer: String, originID: String = "", nickname: String? = nil,
      order: OrderElement? = nil,
      content: MessageContent = MessageContent(body: ""), arrival: Arrival = .inOrder,
      date: WallTime, sequence: Int64? = nil
    ) {
      self.id = id
      self.kind = kind
      self.peer = peer
      self.originID = originID
      self.nickname = nickname
      self.order = order
      self.content = content
      self.arrival = arrival
      self.date = date
      self.sequence = sequence
    }
  }

  /// A key by which a message is recognised when it comes again.
  package enum SeenKey: Hashable, Sendable {
    /// The id in the own archive.
    case archive(String)
    /// The id of a message that this store has sent.
    case sent(String)
    /// A sender's id with the same content: programs use ids twice.
    case message(sender: String, name: String, digest: String)
    /// A number of a stream with its id. The inbox has it with the row.
    case order(sender: String, OrderStreamID, UInt64, name: String)
    /// A number of a stream with any id. The inbox has it with the row.
    case number(sender: String, OrderStreamID, UInt64)
    /// The id in the archive of a room.
    case room(String, String)
  }

  extension MessageContent {
    /// 128 bits of the text, or of the elements if there is no text: servers add elements. It is
    /// compared among messages of one sender with one id only, some of which a notification has brought, with the text
    /// alone.
    package var digest: String {
      var high: UInt64 = 0xcbf2_9ce4_8422_2325
      var low: UInt64 = 0x8422_2325_cbf2_9ce4
      for byte in comparedText.utf8 {
        high = (high ^ UInt64(byte)) &* 0x100_0000_01b3
        low = (low &+ UInt64(byte)) &* 0x9e37_79b9_7f4a_7c15
        low ^= low >> 29
      }
      return OrderStreamID(high: high, low: low).description
    }

    /// The body, that of a change, which is among the elements, or the elements.
    private var comparedText: String {
      guard body.isEmpty else { return body }
      guard elements.contains("<body") else { return elements }
      let all = XMLFragment.elements(of: elements)
      let text = all.first { $0.has("body", Namespace.client) }?.text ?? ""
      return text.isEmpty || Revision.first(in: all) == nil ? elements : text
    }
  }

  /// An entry of the archive that was read.
  package struct ArchiveMark: Hashable, Sendable {
    package var id: String
    package var date: WallTime
    package init(id: String, date: WallTime) {
      self.id = id
      self.date = date
    }
  }

  /// The last entry of the archive that is history for a new store.
  package struct HistoryEnd: Hashable, Sendable {
    package var id: String
    /// Its date: later entries are none, even if this one is never read.
    package var date: WallTime
    /// Whether earlier entries were left out, so that streams begin anywhere.
    package var isCut: Bool

    package init(id: String, date: WallTime, isCut: Bool) {
      self.id = id
      self.date = date
      self.isCut = isCut
    }
  }

  /// How far this store has read a stream of a peer.
  package struct IncomingStream: Hashable, Sendable {
    package var sender: String
    package var stream: OrderStreamID
    /// The next number for the app.
    package var next: UInt64
    /// Grows with each use, so that the oldest streams of a peer can be forgotten.
    package var lastUse: Int64

    package init(sender: String, stream: OrderStreamID, next: UInt64, lastUse: Int64) {
      self.sender = sender
      self.stream = stream
      self.next = next
      self.lastUse = lastUse
    }
  }

  /// A conversation's stream of outgoing messages.
  package struct OutgoingStream: Hashable, Sendable {
    package var peer: String
    package var stream: OrderStreamID
    /// The number of the next message.
    package var next: UInt64
    /// The highest number with a receipt of an account that knows order.
    package var confirmed: UInt64
    /// Whether the peer's account has shown the order element.
    package var peerHasOrder: Bool

    package init(
      peer: String, stream: OrderStreamID, next: UInt64 = 1, confirmed: UInt64 = 0,
      peerHasOrder: Bool = false
    ) {
      self.peer = peer
      self.stream = stream
      self.next = next
      self.confirmed = confirmed
      self.peerHasOrder = peerHasOrder
    }
  }

  /// A session of stream management (XEP-0198) that can be resumed.
  package struct StoredSession: Hashable, Sendable {
    /// The id for `<resume/>`.
    package var id: String
    /// The full JID that was bound.
    package var jid: String
    /// Where the server wants the resumption; nil for anywhere.
    package var location: String?
    /// Stanzas of the server whose effects are in the store.
    package var inboundCount: UInt64
    /// Stanzas that the server has confirmed.
    package var outboundCount: UInt64

    package init(
      id: String, jid: String, location: String?, inboundCount: UInt64, outboundCount: UInt64
    ) {
      self.id = id
      self.jid = jid
      self.location = location
      self.inboundCount = inboundCount
      self.outboundCount = outboundCount
    }
  }
#endif
