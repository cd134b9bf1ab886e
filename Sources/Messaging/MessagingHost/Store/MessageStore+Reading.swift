#if Messaging
  import GRDB
  package import XMPPMachines
  package import XMPPWire

  extension MessageStore {
    /// What the machines begin with.
    package func load() throws(StoreError) -> StoredMessages {
      try read { database in
        var stored = StoredMessages()
        stored.outgoing = try Self.rows(
          database,
          """
          SELECT outgoing.* FROM outgoing LEFT JOIN outgoingStream ON outgoingStream.peer = outgoing.peer
          WHERE fate <= 2 AND (fate < 2 OR IFNULL(hasOrder, 0) = 1) ORDER BY id
          """, hasContent: { $0 == .stored })
        stored.held = try Row.fetchAll(
          database, sql: "SELECT * FROM incoming WHERE sequence IS NULL ORDER BY id"
        ).map(Self.incoming)
        stored.provisional = try Row.fetchAll(
          database, sql: "SELECT * FROM incoming WHERE isProvisional ORDER BY id DESC LIMIT ?",
          arguments: [MessageLimits().provisionalCountMax]
        ).map(Self.incoming)
        stored.incomingStreams = try Row.fetchAll(database, sql: "SELECT * FROM incomingStream")
          .compactMap { row in
            guard let stream = OrderStreamID(row["stream"]) else { return nil }
            return IncomingStream(
              sender: row["sender"], stream: stream, next: UInt64(bitPattern: row["next"]),
              lastUse: row["lastUse"])
          }
        stored.outgoingStreams = try Self.outgoingStreams(database)
        stored.receipts = try Self.receipts(database, "SELECT * FROM receipt ORDER BY id")
        stored.archiveMarks = try Row.fetchAll(database, sql: "SELECT * FROM mark ORDER BY place")
          .map { ArchiveMark(id: $0["id"], date: $0["date"]) }
        let end = try String.fetchOne(
          database, sql: "SELECT value FROM setting WHERE name = 'historyEnd'")
        stored.hasReadArchive = end != nil || !stored.archiveMarks.isEmpty
        stored.historyEnd = end.flatMap(HistoryCode.decode)
        stored.isArchiveBehind =
          try String.fetchOne(
            database, sql: "SELECT value FROM setting WHERE name = 'archiveBehind'") == "1"
        stored.session = try Row.fetchOne(database, sql: "SELECT * FROM session").map { row in
          StoredSession(
            id: row["id"], jid: row["jid"], location: row["location"],
            inboundCount: UInt64(bitPattern: row["inbound"]),
            outboundCount: UInt64(bitPattern: row["outbound"]))
        }
        stored.mechanism = try String.fetchOne(
          database, sql: "SELECT value FROM setting WHERE name = 'mechanism'")
        stored.clientID = try String.fetchOne(
          database, sql: "SELECT value FROM setting WHERE name = 'client'")
        stored.token = try Row.fetchOne(database, sql: "SELECT * FROM token").flatMap { row in
          TokenMechanism(rawValue: row["mechanism"]).map { SASLToken($0, secret: row["secret"]) }
        }
        func highest(_ column: String, _ table: String) throws -> Int64 {
          try Int64.fetchOne(database, sql: "SELECT MAX(\(column)) FROM \(table)") ?? 0
        }
        stored.lastOutgoing = max(
          try highest("id", "outgoing"), try highest("id", "roomOutgoing"))
        stored.lastIncoming = try highest("id", "incoming")
        stored.lastSequence = try highest("sequence", "incoming")
        return stored
      }
    }

    /// Rows of the outbox that have a position in the stored session and are not confirmed, with
    /// their content, by position.
    package func sentRows() throws(StoreError) -> [OutgoingRow] {
      try read { database in
        try Self.rows(
          database,
          "SELECT * FROM outgoing WHERE fate <= 2 AND fate = 0 AND position > 0 ORDER BY position")
      }
    }

    /// Receipts that have a position in the stored session, by position.
    package func sentReceipts() throws(StoreError) -> [OwedReceipt] {
      try read { database in
        try Self.receipts(
          database, "SELECT * FROM receipt WHERE position IS NOT NULL ORDER BY position")
      }
    }

    /// Rows of messages show numbers that their stream's row has not.
    private static func outgoingStreams(_ database: Database) throws -> [OutgoingStream] {
      try Row.fetchAll(
        database,
        sql: """
          SELECT *, (SELECT MAX(number) FROM outgoing WHERE outgoing.stream = outgoingStream.stream)
          AS last FROM outgoingStream
          """
      ).compactMap { row in
        guard let stream = OrderStreamID(row["stream"]) else { return nil }
        let last: Int64? = row["last"]
        return OutgoingStream(
          peer: row["peer"], stream: stream,
          next: max(UInt64(bitPattern: row["next"]), UInt64(bitPattern: last ?? 0) &+ 1),
          confirmed: UInt64(bitPattern: row["confirmed"]), peerHasOrder: row["hasOrder"])
      }
    }

    private static func receipts(_ database: Database, _ sql: String) throws -> [OwedReceipt] {
      try Row.fetchAll(database, sql: sql).map { row in
        let number: Int64? = row["number"]
        let since: Int64? = row["since"]
        let position: Int64? = row["position"]
        var order: OrderElement?
        if let stream = (row["stream"] as String?).flatMap({ OrderStreamID($0) }), let number {
          order = OrderElement(
            stream: stream, number: UInt64(bitPattern: number),
            since: since.map { UInt64(bitPattern: $0) })
        }
        return OwedReceipt(
          id: RowID(rawValue: row["id"]), recipient: row["recipient"], name: row["name"],
          order: order, position: position.map { UInt64(bitPattern: $0) })
      }
    }

    /// Rows of the outbox with these numbers of a stream, at most 256.
    package func outgoing(
      stream: OrderStreamID, range: ClosedRange<UInt64>
    ) throws(StoreError) -> [OutgoingRow] {
      try read { database in
        try Self.rows(
          database,
          """
          SELECT * FROM outgoing WHERE stream = ? AND number BETWEEN ? AND ? ORDER BY number
          LIMIT 256
          """,
          [
            stream.description, Int64(clamping: range.lowerBound),
            Int64(clamping: range.upperBound),
          ])
      }
    }

    /// The rows that a history is looked for in: there is no index of peers, and a reader of a peer without messages
    /// would read all.
    private static let historyRowCountMax = 50_000

    /// The history of outgoing messages to a peer, the newest first, of the latest 50,000 to all.
    package func outgoing(to peer: String, limit: Int) throws(StoreError) -> [OutgoingRow] {
      try read { database in
        try Self.rows(
          database,
          """
          SELECT * FROM outgoing WHERE peer = ?
          AND id > (SELECT IFNULL(MAX(id), 0) FROM outgoing) - ? ORDER BY id DESC LIMIT ?
          """, [peer, Self.historyRowCountMax, limit])
      }
    }

    /// Rows of the inbox that the app has not acknowledged, above a sequence, in their order.
    package func inbox(
      after sequence: Int64, limit: Int
    ) throws(StoreError) -> [IncomingRow] {
      try read { database in
        try Row.fetchAll(
          database.cachedStatement(
            sql: """
              SELECT * FROM incoming WHERE sequence > ? AND isTaken = 0 ORDER BY sequence LIMIT ?
              """), arguments: [sequence, limit]
        ).map(Self.incoming)
      }
    }

    /// The row of the inbox with a sequence, with those that the app has acknowledged; nil if there is none.
    package func incoming(sequence: Int64) throws(StoreError) -> IncomingRow? {
      try read { database in
        try Row.fetchOne(
          database.cachedStatement(sql: "SELECT * FROM incoming WHERE sequence = ?"),
          arguments: [sequence]
        ).map(Self.incoming)
      }
    }

    /// The history of a conversation's inbox, the newest first, with what the app has taken; of the latest 50,000 rows.
    package func history(of peer: String, limit: Int) throws(StoreError) -> [IncomingRow] {
      try read { database in
        try Row.fetchAll(
          database,
          sql: """
            SELECT * FROM incoming WHERE peer = ?
            AND sequence > (SELECT IFNULL(MAX(sequence), 0) FROM incoming) - ?
            ORDER BY sequence DESC LIMIT ?
            """, arguments: [peer, Self.historyRowCountMax, limit]
        ).map(Self.incoming)
      }
    }

    /// The peers of all conversations.
    package func peers() throws(StoreError) -> [String] {
      try read { database in
        try String.fetchAll(
          database,
          sql: """
            SELECT peer FROM outgoingStream
            UNION SELECT peer FROM incoming WHERE kind < 3 ORDER BY 1 LIMIT 100000
            """)
      }
    }

    // MARK: Rows

    static func rows(
      _ database: Database, _ sql: String, _ arguments: StatementArguments = [],
      hasContent: (MessageFate) -> Bool = { _ in true }
    ) throws -> [OutgoingRow] {
      try Row.fetchAll(database.cachedStatement(sql: sql), arguments: arguments).compactMap { row in
        guard let stream = OrderStreamID(row["stream"]) else { return nil }
        let fate = FateCode.decode(row["fate"], row["reason"])
        let position: Int64? = row["position"]
        return OutgoingRow(
          id: RowID(rawValue: row["id"]), peer: row["peer"], originID: row["origin"],
          order: OrderElement(stream: stream, number: UInt64(bitPattern: row["number"])),
          content: hasContent(fate)
            ? MessageContent(body: row["body"], elements: row["elements"]) : nil,
          fate: fate, position: position.map { UInt64(bitPattern: $0) }, deadline: row["deadline"],
          closingCount: row["closings"], date: row["date"])
      }
    }

    private static func incoming(_ row: Row) -> IncomingRow {
      let stream = (row["stream"] as String?).flatMap { OrderStreamID($0) }
      let number = (row["number"] as Int64?).map { UInt64(bitPattern: $0) }
      let since = (row["since"] as Int64?).map { UInt64(bitPattern: $0) }
      let code = KindCode(code: row["kind"], stream: stream, number: number, last: row["last"])
      var order: OrderElement?
      if code.code < 2, let stream, let number {
        order = OrderElement(stream: stream, number: number, since: since)
      }
      var found = IncomingRow(
        id: RowID(rawValue: row["id"]), kind: code.kind, peer: row["peer"],
        originID: row["origin"], nickname: row["nickname"], order: order,
        content: MessageContent(body: row["body"], elements: row["elements"]),
        arrival: ArrivalCode.decode(row["arrival"]), date: row["date"], sequence: row["sequence"])
      found.isProvisional = row["isProvisional"]
      return found
    }
  }
#endif
