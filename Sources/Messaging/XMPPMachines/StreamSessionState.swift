#if Messaging
  internal import XMPPWire

  /// The counts of a session, and the stanzas that the server may not have.
  struct StreamSessionState: Sendable {
    private(set) var number: UInt64
    let id: String?
    let location: String?
    let jid: JID
    /// Whether the server counts.
    let isManaged: Bool
    private(set) var acknowledged: UInt64
    /// The position of the last stanza that was sent. Of a session of an earlier process, the highest that is known.
    private(set) var sent: UInt64
    /// False until a session of an earlier process is resumed: it may have sent more than its rows show.
    private(set) var isSentKnown: Bool
    private(set) var unacknowledged: [SentStanza]
    /// The server's stanzas that were delivered, and of these the ones that were committed.
    private(set) var received: UInt64
    private(set) var handled: UInt64
    /// Of those delivered, how many were when the oldest stanza under way became the oldest.
    private var receivedAtProgress: UInt64 = 0
    /// The server's stanzas by its own count. Less than `received` while it repeats stanzas that were delivered before.
    private var streamCount: UInt64
    /// Rows that are not sent again.
    private var abandonedRows: Set<UInt64> = []

    init(number: UInt64, jid: JID, _ enabled: StreamManagement.Enabled?) {
      self.number = number
      id = enabled?.id
      location = enabled?.location
      self.jid = jid
      isManaged = enabled != nil
      (acknowledged, sent, received, handled, streamCount) = (0, 0, 0, 0, 0)
      isSentKnown = true
      unacknowledged = []
    }

    /// A session of an earlier process.
    init(stored session: StreamSession, unacknowledged: [SentStanza]) {
      number = session.number
      id = session.id
      location = session.location
      jid = session.jid
      isManaged = true
      acknowledged = session.acknowledged
      self.unacknowledged = unacknowledged.filter { $0.position > session.acknowledged }
        .sorted { $0.position < $1.position }
      sent = self.unacknowledged.last?.position ?? session.acknowledged
      isSentKnown = false
      received = session.handled
      handled = session.handled
      streamCount = session.handled
    }

    var stored: StreamSession {
      var stored = StreamSession(number: number, id: id, location: location, jid: jid)
      stored.acknowledged = acknowledged
      stored.handled = handled
      return stored
    }

    var uncommittedCount: UInt64 { received - handled }
    /// The stanzas that the server has delivered since it acknowledged one, or since the first of those under way.
    var receivedSinceProgress: UInt64 { received - min(received, receivedAtProgress) }

    /// The rows among the stanzas that are not acknowledged.
    var unacknowledgedRows: [UInt64] {
      unacknowledged.compactMap(\.stanza.row).filter { !abandonedRows.contains($0) }
    }

    /// Gives a stanza its position.
    mutating func append(_ stanza: OutgoingStanza) -> UInt64 {
      if unacknowledged.isEmpty { receivedAtProgress = received }
      sent += 1
      unacknowledged.append(SentStanza(position: sent, stanza))
      return sent
    }

    /// Counts a stanza of the server; nil if it was delivered before.
    mutating func countReceived() -> UInt64? {
      streamCount += 1
      guard streamCount > received else { return nil }
      received = streamCount
      return received
    }

    /// Forgets deliveries from a count on, which a resumption brings again.
    mutating func takeBack(from count: UInt64) {
      guard count > handled, count <= received else { return }
      received = count - 1
    }

    /// The count from which the server is to continue: stanzas that were delivered and not committed come again.
    mutating func beginResumption() -> UInt64 {
      streamCount = handled
      return handled
    }

    /// Takes rows out of what a resumption sends again.
    mutating func abandon(_ rows: [UInt64]) {
      abandonedRows.formUnion(Set(unacknowledgedRows).intersection(rows))
    }

    /// Takes a count that was committed; one that was never delivered is ignored.
    mutating func commit(through count: UInt64) {
      if count > handled, count <= received { handled = count }
    }

    /// The position that a count modulo 2^32 means; nil if no such stanza can have been sent.
    func position(of h: UInt32) -> UInt64? {
      let added = UInt64(h &- UInt32(truncatingIfNeeded: acknowledged))
      // What an earlier process sent beyond its rows were requests and presences: not two milliards.
      guard added <= (isSentKnown ? sent - acknowledged : UInt64(Int32.max)) else { return nil }
      return acknowledged + added
    }

    /// Removes the stanzas up to a position; returns their rows.
    mutating func acknowledge(through position: UInt64) -> [UInt64] {
      let count = unacknowledged.prefix { $0.position <= position }.count
      let rows = unacknowledged.prefix(count).compactMap(\.stanza.row)
      unacknowledged.removeFirst(count)
      receivedAtProgress = received
      acknowledged = max(acknowledged, position)
      sent = max(sent, acknowledged)
      return rows
    }

    /// After a resumption the server counts on from what it has: the other stanzas are sent as if they were new.
    mutating func takeUnsent() -> [OutgoingStanza] {
      let stanzas = unacknowledged.map(\.stanza).filter { stanza in
        stanza.row.map { !abandonedRows.contains($0) } ?? true
      }
      abandonedRows = []
      unacknowledged = []
      sent = acknowledged
      isSentKnown = true

      return stanzas
    }

    func violations() -> [String] {
      var found: [String] = []
      if handled > received { found.append("handled \(handled) of \(received) stanzas") }
      if acknowledged > sent { found.append("acknowledged \(acknowledged) of \(sent) stanzas") }
      let positions = unacknowledged.map(\.position)
      if isSentKnown, positions != Array(acknowledged + 1..<sent + 1) {
        found.append("positions \(positions) between \(acknowledged) and \(sent)")
      }
      return found
    }
  }
#endif
