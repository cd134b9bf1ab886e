#if Messaging
  import GRDB
  package import XMPPMachines

  /// What a store keeps of messages whose way has ended. A message that comes again after that is taken for a new one.
  package struct Retention: Hashable, Sendable {
    /// The time for which everything is kept: the server and peers repeat messages for days at most.
    package var leastAge: WallTime = 7 * 86_400_000
    /// The time after which messages are removed.
    package var age: WallTime = 365 * 86_400_000
    /// The number of messages, sent or received, beyond which the oldest are removed.
    package var countMax: Int64 = 200_000
    /// How far the clocks of the server and of this machine may differ.
    package var clockError: WallTime = 86_400_000

    package init() {}
  }

  extension MessageStore {
    /// Removes old rows whose way has ended, and old keys of messages: at most `countMax` of each table.
    ///
    /// Kept are rows that the app has not taken, outgoing ones whose fate may change, everything since the entries of the
    /// archive that are read again, and the row with the highest number, which must not be given again.
    ///
    /// - Parameter now: The time by this machine's clock.
    /// - Returns: Whether there may be more.
    package func prune(
      _ retention: Retention, now: WallTime, countMax: Int
    ) throws(StoreError) -> Bool {
      do {
        return try write { database in
          var isFull = false
          try database.inTransaction(.immediate) {
            let mark = try Int64.fetchOne(database, sql: "SELECT MIN(date) FROM mark")
            let recent = min(
              now - retention.leastAge, mark.map { $0 - retention.clockError } ?? .max)
            try database.execute(sql: Self.keepNumbers)
            for statement in Self.removals {
              try database.execute(
                sql: statement,
                arguments: [
                  "recent": recent, "old": now - retention.age, "count": retention.countMax,
                  "limit": countMax,
                ])
              if database.changesCount >= countMax { isFull = true }
            }
            return .commit
          }
          return isFull
        }
      } catch {
        throw Self.storeError(error)
      }
    }

    /// The rows of messages show which numbers their streams have given.
    private static let keepNumbers = """
      UPDATE outgoingStream SET next = 1 + (
        SELECT MAX(number) FROM outgoing WHERE outgoing.stream = outgoingStream.stream)
      WHERE next <= (SELECT MAX(number) FROM outgoing WHERE outgoing.stream = outgoingStream.stream)
      """

    /// `+` keeps SQLite from an index by which it would have to sort all rows.
    private static let removals = [
      """
      DELETE FROM incoming WHERE id IN (
        SELECT id FROM incoming
        WHERE isTaken = 1 AND stored < :recent AND id < (SELECT MAX(id) FROM incoming)
        AND +sequence < (SELECT MAX(sequence) FROM incoming WHERE sequence IS NOT NULL)
        AND (stored < :old OR id <= (SELECT MAX(id) FROM incoming) - :count)
        ORDER BY id LIMIT :limit)
      """,
      """
      DELETE FROM outgoing WHERE id IN (
        SELECT id FROM outgoing LEFT JOIN outgoingStream ON outgoingStream.peer = outgoing.peer
        WHERE (fate > 2 OR (+fate = 2 AND IFNULL(hasOrder, 0) = 0)) AND date < :recent
        AND id < (SELECT MAX(id) FROM outgoing)
        AND (date < :old OR id <= (SELECT MAX(id) FROM outgoing) - :count)
        ORDER BY id LIMIT :limit)
      """,
      """
      DELETE FROM roomOutgoing WHERE id IN (
        SELECT id FROM roomOutgoing
        WHERE +fate > 0 AND date < :recent AND id < (SELECT MAX(id) FROM roomOutgoing)
        AND (date < :old OR id <= (SELECT MAX(id) FROM roomOutgoing) - :count)
        ORDER BY id LIMIT :limit)
      """,
      """
      DELETE FROM seen WHERE name IN (
        SELECT name FROM seen WHERE date < :recent
        AND (date < :old OR (SELECT COUNT(*) FROM seen) > 2 * :count)
        ORDER BY date LIMIT :limit)
      """,
    ]
  }
#endif
