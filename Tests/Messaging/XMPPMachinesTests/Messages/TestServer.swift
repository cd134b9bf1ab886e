#if Messaging
  import Essentials
  @testable import XMPPMachines
  import XMPPWire

  /// A stanza in the network: of one device, for an account.
  struct TestStanza: Hashable, Sendable {
    var sender: String
    var stanza: OutboundStanza
    var isCarbon = false
    var archiveID: String?

    var isStored: Bool {
      switch stanza.kind {
      case .message, .void, .receipt: true
      case .missing: false
      }
    }

    /// As the reader of a stream has it.
    func inbound(date: WallTime) -> InboundMessage {
      var message = InboundMessage(
        sender: sender, recipient: stanza.recipient, id: nil, archiveID: archiveID, kind: .other,
        wrapper: .none, date: date)
      switch stanza.kind {
      case .message(let id, let order, let content):
        message.id = id
        message.originID = id
        message.order = order
        message.wantsReceipt = true
        message.kind = .content(content)
      case .void(let order):
        message.order = order
        message.kind = .void
      case .receipt(let id, let order):
        message.order = order
        message.kind = .receipt(id)
      case .missing(let stream, let range): message.kind = .missing(stream, range)
      }
      return message
    }
  }

  /// A session of stream management at the server.
  struct TestSession: Sendable {
    var device: Int
    /// The last connection; the session is detached if it has ended.
    var connection: Int
    /// Stanzas that were handled of the client's.
    var inboundCount: UInt64 = 0
    /// Stanzas that were sent to the client, from `outboundBase` + 1.
    var unconfirmed: [TestStanza] = []
    var outboundBase: UInt64 = 0
  }

  /// A server that may lose what it has confirmed, as ejabberd was seen to do.
  struct TestServer: Sendable {
    struct Entry: Hashable, Sendable {
      var id: String
      var stanza: TestStanza
      var date: WallTime
    }

    var archives: [String: [Entry]] = [:]
    var sessions: [String: TestSession] = [:]
    var lastID = 1_000_000
    var lastSession = 0
    /// ejabberd's answer to an unknown id: everything later.
    var answersUnknownWithLater: Bool
    var pageCountMax: Int

    mutating func archive(_ stanza: TestStanza, for account: String, date: WallTime) -> String {
      lastID += 7
      let id = "\(lastID)"
      archives[account, default: []].append(Entry(id: id, stanza: stanza, date: date))
      return id
    }

    /// A page; nil for `item-not-found`.
    func page(_ query: ArchiveRequest, for account: String) -> (entries: [Entry], isComplete: Bool)?
    {
      let all = archives[account] ?? []
      var rest = all[...]
      switch query.start {
      case .beginning: break
      case .date(let date): rest = rest.drop { $0.date < date }
      case .last, .before:
        if case .before(let id) = query.start {
          guard let index = all.firstIndex(where: { $0.id == id }) else { return nil }
          rest = all[..<index]
        }
        let page = rest.suffix(min(query.countMax, pageCountMax))
        return (Array(page), page.count == rest.count)
      case .after(let id):
        if let index = all.firstIndex(where: { $0.id == id }) {
          rest = all[(index + 1)...]
        } else if answersUnknownWithLater, let number = Int(id) {
          rest = rest.drop { (Int($0.id) ?? 0) <= number }
        } else {
          return nil
        }
      }
      let page = rest.prefix(min(query.countMax, pageCountMax))
      return (Array(page), page.count == rest.count)
    }
  }
#endif
