#if Messaging
  import GRDB
  package import XMPPMachines
  import XMPPWire

  /// Writes changes of contacts into their tables, in a transaction of the caller.
  enum ContactWriter {
    static let groupSeparator: Character = "\u{1F}"
    static let versionName = "rosterVersion"

    static func apply(_ change: ContactChange, to database: Database) throws {
      switch change {
      case .setContact(let item):
        try run(
          database, "INSERT OR REPLACE INTO contact VALUES (?, ?, ?, ?, ?, ?)",
          [
            item.jid.description, item.name, item.subscription.rawValue, item.isAsked,
            item.isApproved, item.groups.joined(separator: String(groupSeparator)),
          ])
      case .removeContact(let jid):
        try run(database, "DELETE FROM contact WHERE jid = ?", [jid.description])
      case .clearContacts: try run(database, "DELETE FROM contact")
      case .setRosterVersion(let version?):
        try run(
          database, "INSERT OR REPLACE INTO setting VALUES (?, ?)", [versionName, version])
      case .setRosterVersion(nil):
        try run(database, "DELETE FROM setting WHERE name = ?", [versionName])
      case .setRequest(let request):
        try run(
          database, "INSERT OR REPLACE INTO request VALUES (?, ?)",
          [request.jid.description, request.text])
      case .removeRequest(let jid):
        try run(database, "DELETE FROM request WHERE jid = ?", [jid.description])
      case .setResource(let resource):
        try run(
          database, "INSERT OR REPLACE INTO resource VALUES (?, ?, ?, ?)",
          [
            resource.jid.description, resource.availability.show?.rawValue,
            resource.availability.status, Int(resource.availability.priority),
          ])
      case .removeResource(let jid):
        try run(database, "DELETE FROM resource WHERE jid = ?", [jid.description])
      case .clearResources: try run(database, "DELETE FROM resource")
      case .setBlocked(let entry):
        try run(
          database, "INSERT OR REPLACE INTO blocked VALUES (?, ?, ?)",
          [entry.jid.description, entry.since, entry.until])
      case .setChatPeer(let peer):
        try run(
          database, "INSERT OR REPLACE INTO chatPeer VALUES (?, ?, ?, ?)",
          [peer.address, peer.showsStates, peer.takesMarkers, peer.displayed])
      case .forgetChatPeer(let address):
        try run(database, "DELETE FROM chatPeer WHERE address = ?", [address])
      case .forgetBlocked(let jid):
        try run(database, "DELETE FROM blocked WHERE jid = ?", [jid.description])
      }
    }

    private static func run(
      _ database: Database, _ sql: String, _ arguments: StatementArguments = []
    ) throws {
      try database.cachedStatement(sql: sql).execute(arguments: arguments)
    }
  }

  extension MessageStore {
    /// What the machine of contacts begins with. Rows that can't be read are left out.
    package func loadContacts() throws(StoreError) -> StoredContacts {
      try read { database in
        var stored = StoredContacts()
        stored.roster = try Row.fetchAll(database, sql: "SELECT * FROM contact").compactMap { row in
          guard let jid = JID(row["jid"]) else { return nil }
          let groups: String = row["groups"]
          return RosterItem(
            jid, name: row["name"],
            subscription: RosterItem.Subscription(rawValue: row["subscription"]) ?? .none,
            isAsked: row["isAsked"], isApproved: row["isApproved"],
            groups: groups.split(separator: ContactWriter.groupSeparator).map(String.init))
        }
        stored.rosterVersion = try String.fetchOne(
          database, sql: "SELECT value FROM setting WHERE name = ?",
          arguments: [ContactWriter.versionName])
        stored.requests = try Row.fetchAll(database, sql: "SELECT * FROM request").compactMap {
          row in JID(row["jid"]).map { SubscriptionRequest($0, text: row["text"]) }
        }
        stored.resources = try Row.fetchAll(database, sql: "SELECT * FROM resource").compactMap {
          row in
          guard let jid = JID(row["jid"]) else { return nil }
          let show: String? = row["show"]
          return AvailableResource(
            jid,
            Availability(
              show.flatMap { Availability.Show(rawValue: $0) }, status: row["status"],
              priority: Int8(clamping: row["priority"] as Int)))
        }
        stored.blocked = try Row.fetchAll(database, sql: "SELECT * FROM blocked").compactMap {
          row in
          JID(row["jid"]).map { BlockedAddress($0, since: row["since"], until: row["until"]) }
        }
        stored.chatPeers = try Row.fetchAll(database, sql: "SELECT * FROM chatPeer").map { row in
          ChatPeer(
            row["address"], showsStates: row["showsStates"], takesMarkers: row["takesMarkers"],
            displayed: row["displayed"])
        }
        return stored
      }
    }
  }
#endif
