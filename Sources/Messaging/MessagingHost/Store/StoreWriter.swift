#if Messaging
  import GRDB
  import XMPPMachines
  import XMPPWire

  /// Writes changes into the tables, in a transaction of the caller.
  enum StoreWriter {
    static func apply(_ changes: [MessageChange], to database: Database) throws {
      // Of the counts in one transaction the last one counts.
      var inboundCount: UInt64?
      let isLast = lastStreams(changes)
      var releases = Releases(changes)
      var names: [String] = []
      var numbers: [OrderStreamID: UInt64] = [:]
      for (place, change) in changes.enumerated() where isLast[place] {
        switch change {
        case .setInboundCount(let count): inboundCount = count
        case .insertIncoming(let row): try insert(releases.released(row), database)
        case .insertOutgoing(let row):
          try insert(row, database)
          numbers[row.order.stream] = row.order.number
        case .setOutgoingStream(let stream):
          try set(stream, isShownByRow: numbers[stream.stream] == stream.next &- 1, database)
        case .addKey(let key): if let name = key.storedName { names.append(name) }
        case .release(let id, _, _) where releases.isDone(id): break
        default:
          if case .setSession = change { inboundCount = nil }
          try apply(change, to: database)
        }
      }
      try insert(names, database)
      if let inboundCount {
        try run(
          database, "UPDATE session SET inbound = ?", [Int64(bitPattern: inboundCount)])
      }
    }

    /// Rows that are handed to the app by the transaction that has brought them: most of them. They are written once.
    private struct Releases {
      private var places: [RowID: (sequence: Int64, arrival: IncomingRow.Arrival)] = [:]
      private var done: Set<RowID> = []

      init(_ changes: [MessageChange]) {
        var inserted: Set<RowID> = []
        for change in changes {
          switch change {
          case .insertIncoming(let row): inserted.insert(row.id)
          case .release(let id, let sequence, let arrival) where inserted.contains(id):
            places[id] = (sequence, arrival)
          default: break
          }
        }
      }

      mutating func released(_ row: IncomingRow) -> IncomingRow {
        guard let (sequence, arrival) = places[row.id] else { return row }
        done.insert(row.id)
        var row = row
        row.sequence = sequence
        row.arrival = arrival
        return row
      }

      func isDone(_ id: RowID) -> Bool { done.contains(id) }
    }

    private enum StreamName: Hashable {
      case outgoing(String)
      case incoming(String, OrderStreamID)
    }

    /// Leaves out the states of streams that are set again. Hundreds of messages of one stream are one change of it.
    private static func lastStreams(_ changes: [MessageChange]) -> [Bool] {
      var isLast = [Bool](repeating: true, count: changes.count)
      var found: Set<StreamName> = []
      for (place, change) in changes.enumerated().reversed() {
        switch change {
        case .setOutgoingStream(let stream):
          isLast[place] = found.insert(.outgoing(stream.peer)).inserted
        case .setIncomingStream(let stream):
          isLast[place] = found.insert(.incoming(stream.sender, stream.stream)).inserted
        default: break
        }
      }
      return isLast
    }

    private static func run(
      _ database: Database, _ sql: String, _ arguments: StatementArguments = []
    ) throws {
      try database.cachedStatement(sql: sql).execute(arguments: arguments)
    }

    private static func apply(_ change: MessageChange, to database: Database) throws {
      switch change {
      case .setFate(let id, let fate):
        let (code, reason) = FateCode.encode(fate)
        try run(
          database, "UPDATE outgoing SET fate = ?, reason = ? WHERE id = ?",
          [code, reason, id.rawValue])
      case .setPosition(let id, let position):
        try run(
          database,
          id.isReceipt
            ? "UPDATE receipt SET position = ? WHERE id = ?"
            : "UPDATE outgoing SET position = ? WHERE id = ?",
          [position.map { Int64(bitPattern: $0) }, id.rawValue])
      case .setClosingCount(let id, let count):
        try run(database, "UPDATE outgoing SET closings = ? WHERE id = ?", [count, id.rawValue])
      case .renumber(let id, let order):
        try run(
          database, "UPDATE outgoing SET stream = ?, number = ? WHERE id = ?",
          [order.stream.description, Int64(bitPattern: order.number), id.rawValue])
      case .release(let id, let sequence, let arrival):
        try run(
          database, "UPDATE incoming SET sequence = ?, arrival = ? WHERE id = ?",
          [sequence, ArrivalCode.encode(arrival), id.rawValue])
      case .acknowledgeIncoming(let sequence):
        try run(database, "UPDATE incoming SET isTaken = 1 WHERE sequence = ?", [sequence])
      case .confirmIncoming(let id, let elements, let order):
        try confirm(id, elements, order, database)
      case .oweReceipt(let receipt):
        try run(
          database, "INSERT INTO receipt VALUES (?, ?, ?, ?, ?, ?, ?)",
          [
            receipt.id.rawValue, receipt.recipient, receipt.name,
            receipt.order?.stream.description,
            (receipt.order?.number).map { Int64(bitPattern: $0) },
            (receipt.order?.since).map { Int64(bitPattern: $0) },
            receipt.position.map { Int64(bitPattern: $0) },
          ])
      case .settleReceipt(let id):
        try run(database, "DELETE FROM receipt WHERE id = ?", [id.rawValue])
      case .setIncomingStream, .forgetIncomingStream: try applyToStreams(change, database)
      case .setArchiveMarks(let marks): try set(marks, database)
      case .setHistoryEnd(let end):
        try set("historyEnd", HistoryCode.encode(end), database)
      case .setArchiveBehind(let isBehind):
        try set("archiveBehind", isBehind ? "1" : "", database)
      case .setSession(let session): try set(session, database)
      case .setMechanism(let name): try set("mechanism", name, database)
      case .setToken(let token): try set(token, database)
      case .insertOutgoing, .insertIncoming, .setOutgoingStream, .addKey, .setInboundCount: break
      case .contacts(let change): try ContactWriter.apply(change, to: database)
      case .rooms(let change): try RoomWriter.apply(change, to: database)
      case .uploads(let change): try UploadWriter.apply(change, to: database)
      }
    }

    private static func confirm(
      _ id: RowID, _ elements: String, _ order: OrderElement?, _ database: Database
    ) throws {
      try run(
        database,
        """
        UPDATE incoming SET isProvisional = 0, elements = ?, stream = ?, number = ?, since = ?
        WHERE id = ?
        """,
        [
          elements, order?.stream.description, (order?.number).map { Int64(bitPattern: $0) },
          (order?.since).map { Int64(bitPattern: $0) }, id.rawValue,
        ])
    }

    private static func insert(_ row: OutgoingRow, _ database: Database) throws {
      let (code, reason) = FateCode.encode(row.fate)
      try run(
        database, "INSERT INTO outgoing VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
          row.id.rawValue, row.peer, row.originID, row.order.stream.description,
          Int64(bitPattern: row.order.number), row.content?.body ?? "", row.content?.elements ?? "",
          code, reason, row.position.map { Int64(bitPattern: $0) }, row.deadline, row.closingCount,
          row.date,
        ])
    }

    private static func insert(_ row: IncomingRow, _ database: Database) throws {
      let kind = KindCode.encode(row)
      try run(
        database, "INSERT INTO incoming VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)",
        [
          row.id.rawValue, kind.code, row.peer, row.originID, kind.stream?.description,
          kind.number.map { Int64(bitPattern: $0) },
          row.order?.since.map { Int64(bitPattern: $0) },
          kind.last, row.content.body, row.content.elements,
          ArrivalCode.encode(row.arrival), row.date, row.sequence, WallClock.now, row.nickname,
          row.isProvisional,
        ])
    }

    private static func applyToStreams(_ change: MessageChange, _ database: Database) throws {
      switch change {
      case .setIncomingStream(let stream):
        try run(
          database, "INSERT OR REPLACE INTO incomingStream VALUES (?, ?, ?, ?)",
          [
            stream.sender, stream.stream.description, Int64(bitPattern: stream.next),
            stream.lastUse,
          ])
      case .forgetIncomingStream(let sender, let stream):
        try run(
          database, "DELETE FROM incomingStream WHERE sender = ? AND stream = ?",
          [sender, stream.description])
      default: break
      }
    }

    /// Stores the state of a stream. Its next number is not stored for each message: the message's row shows it.
    private static func set(
      _ stream: OutgoingStream, isShownByRow: Bool, _ database: Database
    ) throws {
      try run(
        database, isShownByRow ? changeOutgoingStream : replaceOutgoingStream,
        [
          stream.peer, stream.stream.description, Int64(bitPattern: stream.next),
          Int64(bitPattern: stream.confirmed), stream.peerHasOrder,
        ])
    }

    private static let replaceOutgoingStream =
      "INSERT OR REPLACE INTO outgoingStream VALUES (?, ?, ?, ?, ?)"
    private static let changeOutgoingStream = """
      INSERT INTO outgoingStream VALUES (?, ?, ?, ?, ?) ON CONFLICT (peer) DO UPDATE SET
      stream = excluded.stream, next = excluded.next, confirmed = excluded.confirmed,
      hasOrder = excluded.hasOrder WHERE stream <> excluded.stream
      OR confirmed <> excluded.confirmed OR hasOrder <> excluded.hasOrder
      """

    // MARK: Keys

    /// The keys that one statement inserts.
    private static let keyCount = 32
    private static let insertKey = "INSERT OR IGNORE INTO seen VALUES (?, ?)"
    private static let insertKeys =
      insertKey + String(repeating: ", (?, ?)", count: keyCount - 1)

    /// Inserts keys in their order in the table, so that neighbours are found together.
    private static func insert(_ names: [String], _ database: Database) throws {
      guard !names.isEmpty else { return }
      let now = WallClock.now
      let names = names.sorted()
      var start = 0
      while start < names.count {
        let count = names.count - start >= keyCount ? keyCount : 1
        let part = names[start..<start + count]
        start += count
        try run(
          database, count == 1 ? insertKey : insertKeys,
          StatementArguments(part.flatMap { [$0.databaseValue, now.databaseValue] }))
      }
    }

    /// Stores that the number of a rejected message was given, without the rest. Its recipient gets a void for it.
    static func insertVoid(of row: OutgoingRow, _ database: Database) throws {
      var void = OutgoingRow(
        id: row.id, peer: row.peer, originID: row.originID, order: row.order,
        content: MessageContent(body: ""), date: row.date)
      void.fate = .failed(.refused("not-stored"))
      try insert(void, database)
    }

    /// The changes that are kept aside at most. The oldest make place.
    static let asideCountMax = 1_000
    private static let asideByteCountMax = 1 << 16

    /// Keeps a change that the tables reject, so that a person can look at it.
    static func keepAside(
      _ change: MessageChange, _ reason: String, _ date: WallTime, _ database: Database
    ) throws {
      var peer: String?
      var content = "\(change)"
      switch change {
      case .insertIncoming(let row):
        peer = row.peer
        content = row.content.body + row.content.elements
      case .insertOutgoing(let row):
        peer = row.peer
        content = row.content?.body ?? ""
      default: break
      }
      try run(
        database, "INSERT INTO aside (date, reason, peer, content) VALUES (?, ?, ?, ?)",
        [
          date, reason, peer,
          String(decoding: content.utf8.prefix(asideByteCountMax), as: UTF8.self),
        ]
      )
      try run(
        database, "DELETE FROM aside WHERE id <= (SELECT MAX(id) FROM aside) - ?", [asideCountMax])
    }

    private static func set(_ marks: [ArchiveMark], _ database: Database) throws {
      try run(database, "DELETE FROM mark")
      for (place, mark) in marks.enumerated() {
        try run(database, "INSERT INTO mark VALUES (?, ?, ?)", [place, mark.id, mark.date])
      }
    }

    private static func set(
      _ setting: String, _ value: (any DatabaseValueConvertible)?, _ database: Database
    ) throws {
      try run(database, "INSERT OR REPLACE INTO setting VALUES (?, ?)", [setting, value])
    }

    private static func set(_ token: SASLToken?, _ database: Database) throws {
      try run(database, "DELETE FROM token")
      guard let token else { return }
      try run(
        database, "INSERT INTO token VALUES (?, ?)", [token.mechanism.rawValue, token.secret])
    }

    private static func set(_ session: StoredSession?, _ database: Database) throws {
      let old = try String.fetchOne(
        database.cachedStatement(sql: "SELECT id FROM session"))
      if session?.id != old {
        // Positions are of one session.
        try run(
          database,
          "UPDATE outgoing SET position = 0 WHERE fate = 0 AND position IS NOT NULL")
        try run(database, "UPDATE receipt SET position = NULL WHERE position IS NOT NULL")
      }
      guard let session else { return try run(database, "DELETE FROM session") }
      try run(
        database, "INSERT OR REPLACE INTO session VALUES (1, ?, ?, ?, ?, ?)",
        [
          session.id, session.jid, session.location, Int64(bitPattern: session.inboundCount),
          Int64(bitPattern: session.outboundCount),
        ])
    }
  }
#endif
