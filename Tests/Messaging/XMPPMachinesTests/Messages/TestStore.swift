#if Messaging
  @testable import XMPPMachines
  import XMPPWire

  /// A store in memory. A commit is applied as a whole.
  struct TestStore: Sendable {
    var outgoing: [RowID: OutgoingRow] = [:]
    var rowOfName: [String: RowID] = [:]
    var incoming: [RowID: IncomingRow] = [:]
    var rowOfSequence: [Int64: RowID] = [:]
    var acknowledged: Set<Int64> = []
    var keys: Set<SeenKey> = []
    var incomingStreams: [String: IncomingStream] = [:]
    var outgoingStreams: [String: OutgoingStream] = [:]
    var receipts: [RowID: OwedReceipt] = [:]
    var marks: [ArchiveMark] = []
    var hasReadArchive = false
    var historyEnd: HistoryEnd?
    var isArchiveBehind = false
    var session: StoredSession?
    var lastSequence: Int64 = 0
    /// Changes that name rows that don't exist, or numbers that were given twice.
    var violations: [String] = []

    mutating func apply(_ changes: [MessageChange]) {
      for change in changes { apply(change) }
    }

    private mutating func apply(_ change: MessageChange) {
      switch change {
      case .insertOutgoing(let row):
        if outgoing.updateValue(row, forKey: row.id) != nil { violations.append("\(row.id) twice") }
        keys.insert(.sent(row.originID))
        rowOfName[row.originID] = row.id
      case .setFate(let id, let fate): edit(id) { $0.fate = fate }
      case .setPosition(let id, let position) where id.isReceipt:
        receipts[id]?.position = position
      case .setPosition(let id, let position): edit(id) { $0.position = position }
      case .setClosingCount(let id, let count): edit(id) { $0.closingCount = count }
      case .renumber(let id, let order): edit(id) { $0.order = order }
      case .insertIncoming(let row): insert(row)
      case .release(let id, let sequence, let arrival):
        if incoming[id] == nil || incoming[id]?.sequence != nil {
          violations.append("\(id) was released, or doesn't exist")
        }
        incoming[id]?.sequence = sequence
        incoming[id]?.arrival = arrival
        if rowOfSequence.updateValue(id, forKey: sequence) != nil {
          violations.append("sequence \(sequence) twice")
        }
        lastSequence = max(lastSequence, sequence)
      case .acknowledgeIncoming(let sequence): acknowledged.insert(sequence)
      case .confirmIncoming(let id, let elements, let order):
        confirm(id, elements, order)
      case .addKey(let key): keys.insert(key)
      case .oweReceipt(let receipt):
        if receipts.updateValue(receipt, forKey: receipt.id) != nil {
          violations.append("\(receipt.id) twice")
        }
      case .settleReceipt(let id): receipts[id] = nil
      case .setIncomingStream(let stream):
        incomingStreams[stream.sender + stream.stream.description] = stream
      case .forgetIncomingStream(let sender, let stream):
        incomingStreams[sender + stream.description] = nil
      case .setOutgoingStream(let stream): outgoingStreams[stream.peer] = stream
      case .setArchiveMarks(let marks): self.marks = marks
      case .setArchiveBehind(let isBehind): isArchiveBehind = isBehind
      case .setHistoryEnd(let end):
        hasReadArchive = true
        historyEnd = end
      case .setSession(let session):
        if session?.id != self.session?.id {
          for (id, row) in outgoing where row.fate == .stored && row.position != nil {
            outgoing[id]?.position = 0
          }
          for id in receipts.keys { receipts[id]?.position = nil }
        }
        self.session = session
      case .setMechanism, .setToken, .contacts, .rooms, .uploads: break
      case .setInboundCount(let count): session?.inboundCount = count
      }
    }

    private mutating func confirm(_ id: RowID, _ elements: String, _ order: OrderElement?) {
      guard var row = incoming[id], row.isProvisional else {
        violations.append("\(id) is confirmed twice")
        return
      }
      row.isProvisional = false
      row.content.elements = elements
      row.order = order
      incoming[id] = row
      addKeys(of: row)
    }

    private mutating func edit(_ id: RowID, _ body: (inout OutgoingRow) -> Void) {
      guard var row = outgoing[id] else {
        violations.append("\(id) doesn't exist")
        return
      }
      body(&row)
      outgoing[id] = row
    }

    private mutating func insert(_ row: IncomingRow) {
      if incoming.updateValue(row, forKey: row.id) != nil { violations.append("\(row.id) twice") }
      addKeys(of: row)
    }

    private mutating func addKeys(of row: IncomingRow) {
      guard row.kind == .message, let order = row.order else { return }
      keys.insert(.order(sender: row.peer, order.stream, order.number, name: row.originID))
      keys.insert(.number(sender: row.peer, order.stream, order.number))
    }

    /// What a machine begins with.
    var stored: StoredMessages {
      var stored = StoredMessages()
      stored.outgoing = outgoing.values.sorted { $0.id < $1.id }.filter { row in
        let knowsOrder = outgoingStreams[row.peer]?.peerHasOrder ?? false
        switch row.fate {
        case .stored, .acknowledged: return true
        case .archived: return knowsOrder
        case .received, .displayed, .failed: return false
        }
      }.map { row in
        var row = row
        if row.fate != .stored { row.content = nil }
        return row
      }
      stored.provisional = incoming.values.filter(\.isProvisional)
      stored.held = incoming.values.filter { $0.sequence == nil }
      stored.incomingStreams = Array(incomingStreams.values)
      stored.outgoingStreams = Array(outgoingStreams.values)
      stored.receipts = Array(receipts.values)
      stored.archiveMarks = marks
      stored.hasReadArchive = hasReadArchive || !marks.isEmpty
      stored.historyEnd = historyEnd
      stored.isArchiveBehind = isArchiveBehind
      stored.session = session
      stored.lastOutgoing = outgoing.keys.max()?.rawValue ?? 0
      stored.lastIncoming = incoming.keys.max()?.rawValue ?? 0
      stored.lastSequence = lastSequence
      return stored
    }

    func lookUp(_ message: InboundMessage, account: String) -> LookedUp {
      var lookup = StoreLookup()
      lookup.known = keys.intersection(MessageMachine.keys(of: message, account: account))
      if let name = MessageMachine.outgoingName(of: message, account: account) {
        lookup.outgoing = rowOfName[name].flatMap { outgoing[$0] }
      }
      return LookedUp(message, lookup)
    }

    func outgoing(of stream: OrderStreamID, _ range: ClosedRange<UInt64>) -> [OutgoingRow] {
      outgoing.values.filter { $0.order.stream == stream && range.contains($0.order.number) }
        .sorted { $0.order.number < $1.order.number }
    }
  }
#endif
