#if Messaging
  import GRDB
  package import XMPPMachines
  import XMPPWire

  extension MessageStore {
    /// What the store has about messages, in one transaction: beginning one takes longer than the keys of a message.
    package func lookup(
      _ messages: [InboundMessage], account: String
    ) throws(StoreError) -> [StoreLookup] {
      let wanted = messages.map { message in
        (
          keys: MessageMachine.keys(of: message, account: account),
          name: MessageMachine.outgoingName(of: message, account: account)
        )
      }
      guard wanted.contains(where: { !$0.keys.isEmpty || $0.name != nil }) else {
        return messages.map { _ in StoreLookup() }
      }
      return try readWarm { database in
        let known = try KnownKeys(wanted.flatMap(\.keys), database).found
        return try wanted.map { keys, name in
          var lookup = StoreLookup()
          if !known.isEmpty { lookup.known = known.intersection(keys) }
          if let name {
            lookup.outgoing = try Self.rows(
              database, "SELECT * FROM outgoing WHERE origin = ?", [name]
            ).first
          }
          return lookup
        }
      }
    }

    /// Those of the keys that the store has.
    package func known(_ keys: [SeenKey]) throws(StoreError) -> Set<SeenKey> {
      try read { database in try KnownKeys(keys, database).found }
    }
  }

  /// Finds which of many keys the store has, with few statements: a page of the archive has four keys for each message.
  struct KnownKeys {
    private struct Stream: Hashable {
      var sender: String
      var stream: OrderStreamID
    }

    private(set) var found: Set<SeenKey> = []

    init(_ keys: [SeenKey], _ database: Database) throws {
      var names: [(key: SeenKey, name: String)] = []
      var numbers: [Stream: Set<UInt64>] = [:]
      for key in keys {
        switch key {
        case .archive, .message, .room:
          if let name = key.storedName { names.append((key, name)) }
        case .sent(let name):
          let statement = try database.cachedStatement(
            sql: "SELECT 1 FROM outgoing WHERE origin = ?")
          if try Int.fetchOne(statement, arguments: [name]) != nil { found.insert(key) }
        case .order(let sender, let stream, let number, _),
          .number(let sender, let stream, let number):
          numbers[Stream(sender: sender, stream: stream), default: []].insert(number)
        }
      }
      try find(names, database)
      for (stream, numbers) in numbers { try find(numbers, of: stream, keys, database) }
    }

    // MARK: Names

    /// The names that one statement looks for.
    private static let (few, many) = (4, 64)
    private static let fewNames = statement(few)
    private static let manyNames = statement(many)

    private static func statement(_ count: Int) -> String {
      let places = Array(repeating: "?", count: count).joined(separator: ", ")
      return "SELECT name FROM seen WHERE name IN (\(places))"
    }

    private mutating func find(
      _ names: [(key: SeenKey, name: String)], _ database: Database
    ) throws {
      var known: Set<String> = []
      var start = 0
      while start < names.count {
        let count = names.count - start > Self.few ? Self.many : Self.few
        var part = names[start...].prefix(count).map(\.name)
        start += part.count
        // A name that is repeated finds no more.
        part += Array(repeating: part[0], count: count - part.count)
        let statement = try database.cachedStatement(
          sql: count == Self.few ? Self.fewNames : Self.manyNames)
        known.formUnion(try String.fetchAll(statement, arguments: StatementArguments(part)))
      }
      guard !known.isEmpty else { return }
      for (key, name) in names where known.contains(name) { found.insert(key) }
    }

    // MARK: Numbers

    /// The keys of a stream, by one statement if its numbers are neighbours. A sender can use one number for many messages,
    /// so that the rows are bounded.
    private mutating func find(
      _ numbers: Set<UInt64>, of stream: Stream, _ keys: [SeenKey], _ database: Database
    ) throws {
      guard let first = numbers.min(), let last = numbers.max() else { return }
      let rowCountMax = 2 * numbers.count + 64
      if last - first < UInt64(rowCountMax) {
        let rows = try Row.fetchAll(
          database.cachedStatement(
            sql: """
              SELECT number, origin FROM incoming WHERE stream = ? AND number BETWEEN ? AND ? AND peer = ?
              AND kind = 0 AND stream IS NOT NULL LIMIT ?
              """),
          arguments: [
            stream.stream.description, Int64(bitPattern: first), Int64(bitPattern: last),
            stream.sender, rowCountMax,
          ])
        if rows.count < rowCountMax {
          for row in rows {
            let number = UInt64(bitPattern: row[0])
            found.insert(.number(sender: stream.sender, stream.stream, number))
            found.insert(.order(sender: stream.sender, stream.stream, number, name: row[1]))
          }
          return
        }
      }
      for key in keys where try isRow(key, of: stream, database) { found.insert(key) }
    }

    private func isRow(_ key: SeenKey, of stream: Stream, _ database: Database) throws -> Bool {
      func exists(_ condition: String, _ arguments: StatementArguments) throws -> Bool {
        let statement = try database.cachedStatement(
          sql: """
            SELECT 1 FROM incoming WHERE stream = ? AND number = ? AND peer = ? \(condition)
            AND kind = 0 AND stream IS NOT NULL LIMIT 1
            """)
        return try Int.fetchOne(statement, arguments: arguments) != nil
      }
      switch key {
      case .order(let sender, let id, let number, let name)
      where sender == stream.sender && id == stream.stream:
        return try exists(
          "AND origin = ?", [id.description, Int64(bitPattern: number), sender, name])
      case .number(let sender, let id, let number)
      where sender == stream.sender && id == stream.stream:
        return try exists("", [id.description, Int64(bitPattern: number), sender])
      default: return false
      }
    }
  }
#endif
