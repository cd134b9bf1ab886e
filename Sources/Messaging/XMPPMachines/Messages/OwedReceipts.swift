#if Messaging
  import Essentials

  /// A receipt that this account owes the sender of a message. The store has it from the transaction of the message
  /// until the own server has the receipt.
  package struct OwedReceipt: Hashable, Sendable {
    /// A number above those of messages (``RowID/isReceipt``).
    package var id: RowID
    /// The sender's bare JID.
    package var recipient: String
    /// The id by which the receipt names the message.
    package var name: String
    package var order: OrderElement?
    /// The position in the session at which it was sent; nil while it waits.
    package var position: UInt64?

    package init(
      id: RowID, recipient: String, name: String, order: OrderElement?, position: UInt64? = nil
    ) {
      self.id = id
      self.recipient = recipient
      self.name = name
      self.order = order
      self.position = position
    }
  }

  extension OwedReceipt {
    fileprivate var byteCount: Int { recipient.utf8.count + name.utf8.count }
  }

  extension RowID {
    static let receiptBase: Int64 = 1 << 62

    /// Whether this is the number of a receipt. Messages of the outbox have lower ones.
    package var isReceipt: Bool { rawValue > Self.receiptBase }
  }

  /// The receipts that are owed: those that wait, those under way, and those of strangers, which wait for a
  /// conversation.
  struct OwedReceipts: Sendable {
    private struct Key: Hashable {
      var recipient: String
      var name: String
    }

    static let perStrangerMax = 64
    static let strangerCountMax = 1_024
    /// Of all recipients and names, which peers choose.
    static let byteCountMax = 16 << 20
    /// Tables with room for more are released when no receipt is owed: a long archive needs that once.
    private static let keptCapacity = 4_096

    private(set) var all: [RowID: OwedReceipt] = [:]
    private var byName: [Key: RowID] = [:]
    /// By number.
    private(set) var waiting: ArraySlice<RowID> = []
    private(set) var underWay: Set<RowID> = []
    /// Of each stranger, by number.
    private(set) var withheld: [String: [RowID]] = [:]
    private var last: Int64 = RowID.receiptBase
    private var byteCount = 0

    /// - Parameter known: The recipients that are no strangers.
    mutating func load(_ stored: [OwedReceipt], known: Set<String>) {
      for receipt in stored.sorted(by: { $0.id < $1.id }) {
        last = max(last, receipt.id.rawValue)
        add(receipt, isKnown: known.contains(receipt.recipient))
      }
    }

    private mutating func add(_ receipt: OwedReceipt, isKnown: Bool) {
      all[receipt.id] = receipt
      byteCount += receipt.byteCount
      byName[Key(recipient: receipt.recipient, name: receipt.name)] = receipt.id
      if receipt.position != nil {
        underWay.insert(receipt.id)
      } else if isKnown {
        waiting.append(receipt.id)
      } else {
        withheld[receipt.recipient, default: []].append(receipt.id)
      }
    }

    /// Adds a receipt. Nil if it is owed already.
    mutating func owe(
      _ name: String, _ order: OrderElement?, to recipient: String, isKnown: Bool
    ) -> OwedReceipt? {
      guard byName[Key(recipient: recipient, name: name)] == nil else { return nil }
      last += 1
      let receipt = OwedReceipt(
        id: RowID(rawValue: last), recipient: recipient, name: name, order: order)
      add(receipt, isKnown: isKnown)
      return receipt
    }

    /// Removes receipts beyond the bounds; returns their numbers.
    mutating func bound(after receipt: OwedReceipt, countMax: Int) -> [RowID] {
      var removed: [RowID] = []
      if let own = withheld[receipt.recipient], own.count > Self.perStrangerMax {
        removed.append(contentsOf: own.prefix(1))
      }
      if withheld.count > Self.strangerCountMax,
        let oldest = oldestWithheld, let recipient = all[oldest]?.recipient
      {
        removed.append(contentsOf: withheld[recipient] ?? [])
      }
      if waiting.count > countMax { removed.append(contentsOf: waiting.prefix(1)) }
      for id in removed { remove(id) }
      while byteCount > Self.byteCountMax, let id = oldestWithheld ?? waiting.first {
        remove(id)
        removed.append(id)
      }
      return removed
    }

    private var oldestWithheld: RowID? { withheld.values.compactMap(\.first).min() }

    /// The next receipt to be sent; it is under way then.
    mutating func takeNext() -> OwedReceipt? {
      guard !waiting.isEmpty else { return nil }
      let id = waiting.removeFirst()
      underWay.insert(id)
      return all[id]
    }

    /// The peer is no stranger any more.
    mutating func admit(_ peer: String) {
      guard let ids = withheld.removeValue(forKey: peer) else { return }
      waiting = (waiting + ids).sorted()[...]
    }

    /// The session of the receipts under way has ended. Returns their numbers.
    mutating func suspendUnderWay(known: Set<String>) -> [RowID] {
      let ids = underWay.sorted()
      underWay = []
      for id in ids {
        all[id]?.position = nil
        guard let recipient = all[id]?.recipient else { continue }
        if known.contains(recipient) {
          waiting.append(id)
        } else {
          withheld[recipient, default: []].append(id)
        }
      }
      waiting.sort()
      return ids
    }

    /// The number of the receipt for a message, if it is owed.
    func id(of name: String, to recipient: String) -> RowID? {
      byName[Key(recipient: recipient, name: name)]
    }

    /// Removes a receipt. False if it isn't owed.
    @discardableResult
    mutating func remove(_ id: RowID) -> Bool {
      guard let receipt = all.removeValue(forKey: id) else { return false }
      byteCount -= receipt.byteCount
      byName[Key(recipient: receipt.recipient, name: receipt.name)] = nil
      if underWay.remove(id) == nil {
        removeWaiting(id)
        withheld[receipt.recipient]?.removeAll { $0 == id }
        if withheld[receipt.recipient]?.isEmpty == true { withheld[receipt.recipient] = nil }
      }
      if all.isEmpty, all.capacity > Self.keptCapacity { (all, byName, waiting) = ([:], [:], []) }
      return true
    }

    private mutating func removeWaiting(_ id: RowID) {
      var range = waiting.startIndex..<waiting.endIndex
      while !range.isEmpty {
        let middle = range.lowerBound + range.count / 2
        guard waiting[middle] != id else {
          // The first one at no cost: at the bound one gives way for each that comes.
          if middle == waiting.startIndex {
            waiting.removeFirst()
          } else {
            waiting.remove(at: middle)
          }
          return
        }
        range = waiting[middle] < id ? middle + 1..<range.upperBound : range.lowerBound..<middle
      }
    }

    func violations(isComplete: Bool) -> [String] {
      var found: [String] = []
      if byName.count != all.count { found.append("a receipt is owed twice, or has no name") }
      if zip(waiting, waiting.dropFirst()).prefix(8).contains(where: { $0 >= $1 }) {
        found.append("receipts that wait are not in order")
      }
      if isComplete {
        let count = waiting.count + underWay.count + withheld.values.reduce(0) { $0 + $1.count }
        if all.values.reduce(0, { $0 + $1.byteCount }) != byteCount {
          found.append("the bytes of receipts are not \(byteCount)")
        }
        if count != all.count { found.append("\(count) receipts are in tables, not \(all.count)") }
      }
      return found
    }
  }

  extension MessageMachine {
    /// A receipt is sent again for a message that comes again: the first one may be lost.
    mutating func confirm(
      _ message: InboundMessage, _ sender: String, _ order: OrderElement?,
      _ commit: inout MessageCommit
    ) {
      guard message.wantsReceipt, let name = message.name,
        let receipt = receipts.owe(name, order, to: sender, isKnown: mayConfirm(to: sender))
      else { return }
      commit.changes.append(.oweReceipt(receipt))
      let removed = receipts.bound(after: receipt, countMax: limits.owedCountMax)
      for id in removed { commit.changes.append(.settleReceipt(id)) }
      if !removed.isEmpty { commit.then.append(.report(.receiptsDropped(count: removed.count))) }
    }

    /// Whether a sender may learn that this account has got its messages: after a message to it, or if the app
    /// confirms to strangers.
    func mayConfirm(to peer: String) -> Bool { confirmsToStrangers || conversations[peer] != nil }

    func mayConfirm(_ receipts: [OwedReceipt]) -> Set<String> {
      Set(receipts.map(\.recipient)).filter { mayConfirm(to: $0) }
    }

    /// A receipt is at the own server, or another device has sent it.
    mutating func settleReceipt(_ id: RowID, _ commit: inout MessageCommit) {
      if receipts.remove(id) { commit.changes.append(.settleReceipt(id)) }
    }

    /// Receipts wait for the end of the archive, which may have those of other devices. They wait as long as it answers, also
    /// when messages don't wait for it any longer: a server handles a query only after the receipts before it.
    mutating func flushReceipts(_ now: Instant, _ commit: inout MessageCommit) {
      guard isConnected, !receipts.waiting.isEmpty else { return }
      if archive.isRunning, receipts.waiting.count < limits.receiptCountMax {
        guard !isCatchingUp else { return }
        if let silence = archive.progressAt.map({ $0 + limits.archiveSilence }), now < silence {
          return schedule(silence)
        }
      }
      while receipts.underWay.count < limits.receiptWindowMax, let next = receipts.takeNext() {
        let kind = OutboundStanza.Kind.receipt(next.name, next.order)
        commit.then.append(
          .transmit(OutboundStanza(recipient: next.recipient, kind: kind, row: next.id)))
      }
    }
  }
#endif
