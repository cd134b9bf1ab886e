#if Messaging
  import Essentials
  import XMPPWire

  /// A row of the outbox in memory.
  struct OutboxEntry: Sendable {
    enum Stage: Hashable, Sendable {
      /// Waits to be sent.
      case queued
      /// Handed to the stream; the server has not confirmed it.
      case underWay
      /// Was under way when its session ended. The archive decides whether it is sent again.
      case uncertain
      /// At the server.
      case settled
    }

    var row: OutgoingRow
    var stage: Stage
    var lastSent: Instant?
    /// How often it was sent again by this process.
    var resendCount = 0
    /// Whether the own archive was read, after this was sent, without finding it.
    var wasMissed = false
  }

  /// What waits for receipts in a conversation.
  struct Conversation: Sendable {
    var stream: OutgoingStream
    /// The rows of this stream in memory, by number.
    var rows: [UInt64: RowID] = [:]
    /// No row has a lower number.
    private var least: UInt64 = 1
    /// Numbers of failed messages, for which a void is to be sent.
    var voids: Set<UInt64> = []
    /// When messages without receipts are sent again.
    var resendAt: Instant?
    /// Below which number they are sent again at that time; nil for all.
    var resendBelow: UInt64?
    var resendStep = 0
    /// Numbers that are read from the store to be sent again.
    var wanted: Set<UInt64> = []
    var lastMissing: Instant?
    /// The archive has messages of the stream that this store has not sent.
    var isCopied = false

    init(stream: OutgoingStream) { self.stream = stream }

    mutating func add(_ row: RowID, _ number: UInt64) {
      rows[number] = row
      least = min(least, number)
    }

    /// Whether all rows have higher numbers.
    func isBelowAll(_ number: UInt64) -> Bool { number < least }

    /// The numbers of rows below a number. A receipt that comes in order finds none, in constant time.
    mutating func numbers(below number: UInt64) -> [UInt64] {
      let end = min(number, stream.next)
      if least < end, end - least > UInt64(rows.count) { least = rows.keys.min() ?? end }
      while least < end, rows[least] == nil { least += 1 }
      guard least < end else { return [] }
      if end - least <= UInt64(rows.count) { return (least..<end).filter { rows[$0] != nil } }
      return rows.keys.filter { $0 < end }
    }

    /// The least number for which the receiver may wait.
    func since(_ number: UInt64, distance: UInt64) -> UInt64 {
      let least = number > distance ? number - distance : 1
      return min(number, max(stream.confirmed + 1, least))
    }
  }
#endif
