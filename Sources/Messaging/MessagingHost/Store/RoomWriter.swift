#if Messaging
  import GRDB
  package import XMPPMachines
  import XMPPWire

  /// Writes changes of rooms into their tables, in a transaction of the caller.
  enum RoomWriter {
    static func apply(_ change: RoomChange, to database: Database) throws {
      switch change {
      case .setRoom(let room):
        let ending = room.ending.flatMap(RoomEndCode.encode)
        try run(
          database,
          """
          INSERT INTO room VALUES (?, ?, ?, ?, ?, NULL, ?, ?, ?) ON CONFLICT (jid) DO UPDATE SET
          nickname = excluded.nickname, password = excluded.password,
          isWanted = excluded.isWanted, isBookmarkDue = excluded.isBookmarkDue,
          ending = excluded.ending, endingText = excluded.endingText,
          endingRoom = excluded.endingRoom
          """,
          [
            room.jid.description, room.nickname, room.password, room.isWanted, room.isBookmarkDue,
            ending?.name, ending?.text, ending?.room,
          ])
      case .forgetRoom(let jid):
        try run(database, "DELETE FROM room WHERE jid = ?", [jid.description])
        try run(database, "DELETE FROM roomMark WHERE room = ?", [jid.description])
        try run(database, "DELETE FROM setting WHERE name = ?", [behindName(jid)])
      case .setArchive(let jid, let marks, let end): try set(marks, end, of: jid, database)
      case .setArchiveBehind(let jid, let isBehind):
        try run(
          database,
          isBehind
            ? "INSERT OR REPLACE INTO setting VALUES (?, '1')"
            : "DELETE FROM setting WHERE name = ?",
          [behindName(jid)])
      case .insertOutgoing(let row):
        try run(
          database, "INSERT INTO roomOutgoing VALUES (?, ?, ?, ?, ?, 0, NULL, ?, ?)",
          [
            row.id.rawValue, row.room.description, row.originID, row.content.body,
            row.content.elements, row.isSent, row.date,
          ])
      case .setSent(let id, let isSent):
        try run(
          database, "UPDATE roomOutgoing SET isSent = ? WHERE id = ?", [isSent, id.rawValue])
      case .settle(let id, let fate):
        let (code, reason) = FateCode.encode(fate)
        try run(
          database, "UPDATE roomOutgoing SET fate = ?, reason = ? WHERE id = ?",
          [code, reason, id.rawValue])
      case .addKey(let key):
        guard let name = key.storedName else { return }
        try run(database, "INSERT OR IGNORE INTO seen VALUES (?, ?)", [name, WallClock.now])
      }
    }

    /// The setting that says that messages of a room were handed over before those that its archive has from before them.
    static func behindName(_ room: JID) -> String { "archiveBehind \(room)" }

    private static func set(
      _ marks: [ArchiveMark], _ end: HistoryEnd?, of jid: JID, _ database: Database
    ) throws {
      let room = jid.description
      try run(
        database, "UPDATE room SET historyEnd = ? WHERE jid = ?", [HistoryCode.encode(end), room])
      try run(database, "DELETE FROM roomMark WHERE room = ?", [room])
      for (place, mark) in marks.enumerated() {
        try run(
          database, "INSERT INTO roomMark VALUES (?, ?, ?, ?)", [room, place, mark.id, mark.date])
      }
    }

    private static func run(
      _ database: Database, _ sql: String, _ arguments: StatementArguments = []
    ) throws {
      try database.cachedStatement(sql: sql).execute(arguments: arguments)
    }
  }

  /// The ends of stays that only the app may end, as the store has them.
  enum RoomEndCode {
    static func encode(_ end: RoomEnd) -> (name: String, text: String?, room: String?)? {
      switch end {
      case .kicked(let text): ("kicked", text, nil)
      case .banned(let text): ("banned", text, nil)
      case .destroyed(let room, let text): ("destroyed", text, room?.description)
      case .moved(let room): ("moved", nil, room?.description)
      default: nil
      }
    }

    static func decode(_ name: String, _ text: String?, _ room: String?) -> RoomEnd? {
      switch name {
      case "kicked": .kicked(text)
      case "banned": .banned(text)
      case "destroyed": .destroyed(alternate: room.flatMap { JID($0) }, text)
      case "moved": .moved(room.flatMap { JID($0) })
      default: nil
      }
    }
  }

  extension MessageStore {
    /// What the machine of rooms begins with. Rows that can't be read are left out.
    package func loadRooms() throws(StoreError) -> StoredRooms {
      try read { database in
        var stored = StoredRooms()
        for row in try Row.fetchAll(database, sql: "SELECT * FROM room ORDER BY jid") {
          guard let jid = JID(row["jid"]) else { continue }
          let end: String? = row["historyEnd"]
          let ending: String? = row["ending"]
          var room = StoredRoom(
            jid, nickname: row["nickname"], password: row["password"], isWanted: row["isWanted"],
            isBookmarkDue: row["isBookmarkDue"], hasReadArchive: end != nil,
            historyEnd: end.flatMap(HistoryCode.decode),
            ending: ending.flatMap { RoomEndCode.decode($0, row["endingText"], row["endingRoom"]) })
          room.marks = try Row.fetchAll(
            database, sql: "SELECT * FROM roomMark WHERE room = ? ORDER BY place",
            arguments: [jid.description]
          ).map { ArchiveMark(id: $0["id"], date: $0["date"]) }
          room.isArchiveBehind =
            try String.fetchOne(
              database, sql: "SELECT value FROM setting WHERE name = ?",
              arguments: [RoomWriter.behindName(jid)]) != nil
          stored.rooms.append(room)
        }
        stored.outgoing = try Row.fetchAll(
          database, sql: "SELECT * FROM roomOutgoing WHERE fate = 0 ORDER BY id"
        ).compactMap { row in
          guard let room = JID(row["room"]) else { return nil }
          return OutgoingRoomRow(
            id: RowID(rawValue: row["id"]), room: room, originID: row["origin"],
            content: MessageContent(body: row["body"], elements: row["elements"]),
            isSent: row["isSent"], date: row["date"])
        }
        return stored
      }
    }
  }
#endif
