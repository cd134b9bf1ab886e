#if Messaging
  internal import MessagingHost
  internal import XMPPMachines

  /// The entries of an account's inbox, in their order: first those that were handed over before and not acknowledged,
  /// then those that come. They wait on disk until they are read, so that a slow reader costs no memory.
  public struct Inbox: AsyncSequence, Sendable {
    /// An entry.
    public typealias Element = InboxItem
    /// The store can't be read.
    public typealias Failure = MessagingError

    let host: AccountHost
    let arrivals: Updates<Int64>

    /// Begins with the first entry that isn't acknowledged.
    public func makeAsyncIterator() -> Iterator { Iterator(inbox: self) }

    /// Reads entries one after the other.
    public struct Iterator: AsyncIteratorProtocol {
      /// The number of entries that are read at a time.
      private static let countMax = 64

      private let inbox: Inbox
      private var last: Int64 = 0
      private var read: ArraySlice<IncomingRow> = []
      /// Whether the latest reading has found the end of the inbox. Arrivals report later entries.
      private var isAtEnd = false

      fileprivate init(inbox: Inbox) { self.inbox = inbox }

      /// The next entry; nil when the account has ended, or the task was cancelled.
      public mutating func next() async throws(MessagingError) -> InboxItem? {
        while true {
          if let row = read.popFirst() {
            last = row.sequence ?? last
            return InboxItem(row)
          }
          if isAtEnd {
            guard let arrived = await inbox.arrivals.makeAsyncIterator().next() else { return nil }
            // The row was read before its arrival was.
            if arrived <= last { continue }
          }
          do throws(StoreError) {
            read = try await inbox.host.inbox(after: last, limit: Self.countMax)[...]
          } catch {
            if error == .closed { return nil }
            throw MessagingError(error)
          }
          isAtEnd = read.count < Self.countMax
        }
      }
    }
  }

  extension InboxItem {
    init(_ row: IncomingRow) {
      let kind: Kind =
        switch row.kind {
        case .message: .message
        case .sentElsewhere: .sentElsewhere
        case .gap(_, let numbers): .gap(count: UInt64(numbers.count))
        case .archiveGap: .archiveGap
        case .historyStart: .historyStart
        }
      let arrival: Arrival =
        switch row.arrival {
        case .inOrder: .inOrder
        case .late: .late
        case .renumbered: .renumbered
        case .history: .history
        }
      self.init(
        row: row.sequence ?? 0, kind: kind, peer: row.peer, body: row.content.body,
        elements: row.content.elements, originID: row.originID, nickname: row.nickname,
        number: row.order?.number,
        arrival: arrival, time: row.date, isProvisional: row.isProvisional)
    }
  }

  extension AccountProblem {
    init?(_ report: MessageReport) {
      switch report {
      case .forgedCarbon, .forgedReceipt: return nil
      case .renumbered(let peer): self = .renumbered(peer: peer)
      case .restoredCopy(let peer): self = .restoredCopy(peer: peer)
      case .abilitiesUnknown: self = .abilitiesUnknown
      case .archiveStalled: self = .archiveStalled
      case .heldTooMany(let peer): self = .heldTooMany(peer: peer)
      case .receiptsDropped: self = .receiptsDropped
      case .changeRejected(let reason): self = .keptAside(reason)
      }
    }
  }

  extension MessageState {
    init(_ fate: MessageFate) {
      self =
        switch fate {
        case .stored: .stored
        case .acknowledged: .acknowledged
        case .archived: .archived
        case .received: .received
        case .displayed: .displayed
        case .failed(.deadline): .failed(.deadline)
        case .failed(.closesStream(let condition)): .failed(.closesStream(condition))
        case .failed(.refused(let condition)): .failed(.refused(condition))
        }
    }
  }
#endif
