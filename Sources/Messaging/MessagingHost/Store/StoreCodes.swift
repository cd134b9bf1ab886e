#if Messaging
  import XMPPMachines
  import XMPPWire

  /// The numbers of fates in the store. Those up to 2 are not final for all.
  enum FateCode {
    static func encode(_ fate: MessageFate) -> (code: Int, reason: String?) {
      switch fate {
      case .stored: (0, nil)
      case .acknowledged: (1, nil)
      case .archived: (2, nil)
      case .received: (3, nil)
      case .displayed: (4, nil)
      case .failed(.deadline): (5, nil)
      case .failed(.closesStream(let condition)): (6, condition)
      case .failed(.refused(let condition)): (7, condition)
      }
    }

    /// An unknown number is a failure: only a later version could have written it.
    static func decode(_ code: Int, _ reason: String?) -> MessageFate {
      switch code {
      case 0: .stored
      case 1: .acknowledged
      case 2: .archived
      case 3: .received
      case 4: .displayed
      case 5: .failed(.deadline)
      case 6: .failed(.closesStream(reason ?? ""))
      default: .failed(.refused(reason ?? ""))
      }
    }
  }

  enum ArrivalCode {
    static func encode(_ arrival: IncomingRow.Arrival) -> Int {
      switch arrival {
      case .inOrder: 0
      case .late: 1
      case .renumbered: 2
      case .history: 3
      }
    }

    static func decode(_ code: Int) -> IncomingRow.Arrival {
      switch code {
      case 1: .late
      case 2: .renumbered
      case 3: .history
      default: .inOrder
      }
    }
  }

  /// The end of the history as a setting; empty for none. Earlier versions wrote no date.
  enum HistoryCode {
    static func encode(_ end: HistoryEnd?) -> String {
      end.map { "\($0.isCut ? "cut" : "all")@\($0.date) \($0.id)" } ?? ""
    }

    static func decode(_ text: String) -> HistoryEnd? {
      let parts = text.split(separator: " ", maxSplits: 1)
      guard parts.count == 2 else { return nil }
      let words = parts[0].split(separator: "@", maxSplits: 1)
      return HistoryEnd(
        id: String(parts[1]), date: words.dropFirst().first.flatMap { WallTime($0) } ?? .max,
        isCut: words.first == "cut")
    }
  }

  /// The columns of a row of the inbox that depend on its kind.
  struct KindCode {
    var code: Int
    var stream: OrderStreamID?
    var number: UInt64?
    /// The last number of a gap, or the time since which the archive has one.
    var last: Int64?

    static func encode(_ row: IncomingRow) -> KindCode {
      switch row.kind {
      case .message: KindCode(code: 0, stream: row.order?.stream, number: row.order?.number)
      case .sentElsewhere: KindCode(code: 1, stream: row.order?.stream, number: row.order?.number)
      case .gap(let stream, let range):
        KindCode(
          code: 2, stream: stream, number: range.lowerBound,
          last: Int64(bitPattern: range.upperBound))
      case .archiveGap(let since): KindCode(code: 3, last: since)
      case .historyStart(let date): KindCode(code: 4, last: date)
      }
    }

    var kind: IncomingRow.Kind {
      switch code {
      case 1: return .sentElsewhere
      case 2:
        let first = number ?? 0
        guard let stream, let last, UInt64(bitPattern: last) >= first else { return .message }
        return .gap(stream, first...UInt64(bitPattern: last))
      case 3: return .archiveGap(since: last ?? 0)
      case 4: return .historyStart(last ?? 0)
      default: return .message
      }
    }
  }

  extension SeenKey {
    /// The name in the table of keys; nil for keys that rows have. XML can't have U+001F. Ids of our own messages begin with
    /// the time, so that those of neighbours are on one page.
    var storedName: String? {
      switch self {
      case .archive(let id): "a \(id)"
      case .message(let sender, let name, let digest): "m \(sender)\u{1F}\(name)\u{1F}\(digest)"
      case .room(let room, let id): "r \(room) \(id)"
      case .sent, .order, .number: nil
      }
    }
  }

  /// The names of keys in stores that were made before they were sorted by the ids of messages.
  enum OldKeyName {
    /// The bytes of a digest.
    private static let digestCount = 32

    /// `m sender digest id` with the digest at its end.
    static func renamed(_ name: String) -> String {
      let bytes = Array(name.utf8)
      guard bytes.starts(with: "m ".utf8) else { return name }
      // The name of an occupant, and an id, may have blanks.
      for start in bytes.indices.dropFirst(2) where bytes[start] == UInt8(ascii: " ") {
        let digest = bytes[(start + 1)...].prefix(digestCount)
        let rest = bytes[digest.endIndex...]
        guard digest.count == digestCount, digest.allSatisfy(isDigit),
          rest.first == UInt8(ascii: " ")
        else { continue }
        let parts = [bytes[2..<start], rest.dropFirst(), digest]
        return "m " + parts.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\u{1F}")
      }
      return name
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
      default: false
      }
    }
  }
#endif
