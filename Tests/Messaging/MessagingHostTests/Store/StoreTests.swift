#if Messaging
  import Foundation
  import GRDB
  import Testing
  import XMPPMachines
  import XMPPWire

  @testable import MessagingHost

  /// A folder that is removed at the end.
  final class TestFolder: Sendable {
    let url: URL

    init() throws {
      url = FileManager.default.temporaryDirectory.appending(path: "store-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appending(path: name).path }
  }

  @Suite("The store of messages")
  struct StoreTests {
    private static let stream = OrderStreamID(high: 7, low: .max)

    private static func outgoing(_ id: Int64, _ text: String = "text") -> OutgoingRow {
      OutgoingRow(
        id: RowID(rawValue: id), peer: "b@x", originID: "id-\(id)",
        order: OrderElement(stream: stream, number: UInt64(id)),
        content: MessageContent(body: text, elements: "<a/>"), date: 5)
    }

    private static func incoming(_ id: Int64, number: UInt64) -> IncomingRow {
      IncomingRow(
        id: RowID(rawValue: id), kind: .message, peer: "b@x", originID: "in-\(id)",
        order: OrderElement(stream: stream, number: number, since: 1),
        content: MessageContent(body: "hello"), date: 6)
    }

    @Test("each commit is on the disk: the log is written ahead, and synchronized in full")
    func durability() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      let modes = try store.pool.writeWithoutTransaction { database in
        (
          try Int.fetchOne(database, sql: "PRAGMA synchronous"),
          try String.fetchOne(database, sql: "PRAGMA journal_mode")
        )
      }
      #expect(modes.0 == 2)
      #expect(modes.1 == "wal")
    }

    @Test("only the owner may read the files and the folder")
    func permissions() throws {
      let folder = try TestFolder()
      let path = folder.path("new/account/messages")
      let store = try MessageStore(path: path)
      defer { store.close() }
      try store.apply([.insertOutgoing(Self.outgoing(1))])
      for file in [path, path + "-wal", path + "-shm", path + ".lock"] {
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
        #expect(mode as? Int == 0o600, "\(file)")
      }
      let mode = try FileManager.default.attributesOfItem(atPath: folder.path("new/account"))[
        .posixPermissions]
      #expect(mode as? Int == 0o700)
    }

    @Test("a store that is open can't be opened again, until it is closed")
    func lock() throws {
      let folder = try TestFolder()
      let path = folder.path("messages")
      let store = try MessageStore(path: path)
      #expect(throws: StoreError.inUse(processID: getpid())) { try MessageStore(path: path) }
      store.close()
      try MessageStore(path: path).close()
    }

    @Test
    func `A provisional row that is confirmed has the elements and the place of its message`()
      throws
    {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      var row = Self.incoming(1, number: 4)
      let order = try #require(row.order)
      (row.order, row.isProvisional) = (nil, true)
      try store.apply([
        .insertIncoming(row), .release(row.id, sequence: 1, .inOrder),
        .acknowledgeIncoming(sequence: 1),
      ])
      #expect(try store.load().provisional.map(\.id) == [row.id])
      try store.apply([.confirmIncoming(row.id, elements: "<reply/>", order)])
      let found = try #require(try store.incoming(sequence: 1))
      #expect(found.content == MessageContent(body: "hello", elements: "<reply/>"))
      #expect(found.order == order && !found.isProvisional)
      #expect(try store.load().provisional.isEmpty)
      let key = SeenKey.order(sender: "b@x", Self.stream, 4, name: "in-1")
      #expect(try store.known([key]).contains(key))
      #expect(try store.incoming(sequence: 2) == nil)
    }

    @Test("The end of the history is stored until it was read")
    func history() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      #expect(try !store.load().hasReadArchive)
      let end = HistoryEnd(id: "an id", date: 7, isCut: true)
      try store.apply([.setHistoryEnd(end)])
      #expect(try store.load().historyEnd == end)
      try store.apply([.setHistoryEnd(nil)])
      let stored = try store.load()
      #expect(stored.hasReadArchive && stored.historyEnd == nil)
    }

    @Test func `Whether the archives of the account and of rooms are behind is stored`() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      let (lab, pub) = (try #require(JID("lab@rooms.x")), try #require(JID("pub@rooms.x")))
      let rooms = [lab, pub].map { MessageChange.rooms(.setRoom(StoredRoom($0, nickname: "ann"))) }
      try store.apply(rooms)
      #expect(try !store.load().isArchiveBehind)
      try store.apply([.setArchiveBehind(true), .rooms(.setArchiveBehind(lab, true))])
      try store.apply([.rooms(.setArchiveBehind(pub, true)), .rooms(.forgetRoom(pub))])
      try store.apply([rooms[1]])
      #expect(try store.load().isArchiveBehind)
      #expect(try store.loadRooms().rooms.map(\.isArchiveBehind) == [true, false])
      try store.apply([.setArchiveBehind(false), .rooms(.setArchiveBehind(lab, false))])
      #expect(try !store.load().isArchiveBehind)
      #expect(try store.loadRooms().rooms.map(\.isArchiveBehind) == [false, false])
    }

    @Test("A receipt that is owed is stored with its position until it is settled")
    func receipts() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      let order = OrderElement(stream: Self.stream, number: 1 << 53, since: 1)
      let base: Int64 = 1 << 62
      let owed = [
        OwedReceipt(id: RowID(rawValue: base + 1), recipient: "b@x", name: "1", order: order),
        OwedReceipt(id: RowID(rawValue: base + 2), recipient: "b@x", name: "2", order: nil),
      ]
      let session = StoredSession(
        id: "s", jid: "a@x/1", location: nil, inboundCount: 0, outboundCount: 0)
      try store.apply([.setSession(session)] + owed.map { .oweReceipt($0) })
      #expect(try store.load().receipts == owed)
      try store.apply([.setPosition(owed[0].id, 4)])
      #expect(try store.sentReceipts().map(\.position) == [4])
      try store.apply([.setSession(nil)])
      #expect(try store.sentReceipts() == [])
      try store.apply([.settleReceipt(owed[0].id)])
      #expect(try store.load().receipts == [owed[1]])
    }

    @Test("a store of a later version is refused and left as it is")
    func laterVersion() throws {
      let folder = try TestFolder()
      let path = folder.path("messages")
      let store = try MessageStore(path: path)
      try store.apply([.insertOutgoing(Self.outgoing(1))])
      try store.pool.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99')") }
      store.close()
      let before = try Data(contentsOf: URL(filePath: path))
      #expect(throws: StoreError.laterVersion) { try MessageStore(path: path) }
      #expect(try Data(contentsOf: URL(filePath: path)) == before)
    }

    @Test("a damaged store is kept aside, and the next one is empty")
    func damage() throws {
      let folder = try TestFolder()
      let path = folder.path("messages")
      let bytes = Data(repeating: 0x55, count: 8_192)
      try bytes.write(to: URL(filePath: path))
      let kept = path + ".damaged-1"
      #expect(throws: StoreError.damaged(keptAt: kept)) { try MessageStore(path: path) }
      #expect(try Data(contentsOf: URL(filePath: kept)) == bytes)
      let store = try MessageStore(path: path)
      var empty = try store.load()
      empty.clientID = nil
      #expect(empty == StoredMessages())
      store.close()
    }

    @Test("a store whose pages are damaged reports it")
    func damagedPages() throws {
      let folder = try TestFolder()
      let path = folder.path("messages")
      let store = try MessageStore(path: path)
      for id in 1...200 { try store.apply([.insertOutgoing(Self.outgoing(Int64(id)))]) }
      store.close()
      let file = try FileHandle(forUpdating: URL(filePath: path))
      let size = try file.seekToEnd()
      for page in 1..<size / 4_096 {
        try file.seek(toOffset: page * 4_096)
        try file.write(contentsOf: Data(repeating: 0xff, count: 4_096))
      }
      try file.close()
      #expect {
        let store = try MessageStore(path: path)
        defer { store.close() }
        _ = try store.load()
      } throws: { error in
        if case StoreError.damaged = error { true } else { false }
      }
    }

    @Test("a full disk is an error after which nothing is lost and the same is written again")
    func full() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      try store.apply([.insertOutgoing(Self.outgoing(1))])
      let before = try store.load()
      func setPages(_ count: Int) throws {
        try store.pool.writeWithoutTransaction { database in
          _ = try Int.fetchOne(database, sql: "PRAGMA max_page_count = \(count)")
        }
      }
      try setPages(1)
      let changes: [MessageChange] = [
        .setFate(RowID(rawValue: 1), .received),
        .insertOutgoing(Self.outgoing(2, String(repeating: "x", count: 1 << 20))),
      ]
      #expect(throws: StoreError.full) { try store.apply(changes) }
      #expect(try store.load() == before)
      try setPages(1_000_000)
      try store.apply(changes)
      #expect(try store.load().outgoing.map(\.id.rawValue) == [2])
    }

    @Test("a store has an identifier of its own, and one token that no description shows")
    func token() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      let other = try MessageStore(path: folder.path("others"))
      defer { other.close() }
      let id = try #require(try store.load().clientID)
      let form = "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx"
      #expect(id.count == form.count)
      for (digit, place) in zip(id, form) {
        switch place {
        case "x": #expect("0123456789abcdef".contains(digit), "\(id)")
        case "y": #expect("89ab".contains(digit), "\(id)")
        default: #expect(digit == place, "\(id)")
        }
      }
      #expect(try other.load().clientID != id)
      let first = SASLToken(.unbound, secret: "secret-token:1")
      let second = SASLToken(.exporter, secret: "secret-token:2")
      try store.apply([.setToken(first), .setToken(second)])
      store.close()
      let again = try MessageStore(path: folder.path("messages"))
      defer { again.close() }
      let stored = try again.load()
      #expect(stored.clientID == id && stored.token == second)
      #expect(!"\(stored)".contains("secret-token"))
      var text = ""
      dump(stored, to: &text)
      #expect(!text.contains("secret-token"))
      try again.apply([.setToken(nil)])
      #expect(try again.load().token == nil)
    }

    @Test("rows of the outbox come back with their fates and positions, until their fate is final")
    func outbox() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      let session = StoredSession(
        id: "s1", jid: "a@x/1", location: "h:1", inboundCount: 3, outboundCount: .max)
      var row = Self.outgoing(2)
      row.deadline = 99
      try store.apply([
        .setSession(session), .insertOutgoing(Self.outgoing(1)), .insertOutgoing(row),
        .insertOutgoing(Self.outgoing(3)), .setPosition(RowID(rawValue: 2), 11),
        .setClosingCount(RowID(rawValue: 2), 1), .setFate(RowID(rawValue: 1), .acknowledged),
        .setFate(RowID(rawValue: 3), .archived), .setMechanism("SCRAM-SHA-256"),
        .setInboundCount(4), .setInboundCount(5),
      ])
      row.position = 11
      row.closingCount = 1
      var stored = try store.load()
      #expect(stored.outgoing.map(\.id.rawValue) == [1, 2])
      #expect(stored.outgoing.first?.fate == .acknowledged && stored.outgoing.first?.content == nil)
      #expect(stored.outgoing.last == row)
      #expect(try store.sentRows() == [row])
      #expect(stored.session?.inboundCount == 5 && stored.session?.outboundCount == .max)
      #expect(stored.mechanism == "SCRAM-SHA-256")
      #expect(stored.lastOutgoing == 3)
      // An account that knows order has yet to confirm what the archive has.
      try store.apply([
        .setOutgoingStream(
          OutgoingStream(
            peer: "b@x", stream: Self.stream, next: 4, confirmed: 1, peerHasOrder: true))
      ])
      stored = try store.load()
      #expect(stored.outgoing.map(\.id.rawValue) == [1, 2, 3])
      #expect(stored.outgoingStreams.first?.confirmed == 1)
      try store.apply([
        .setSession(
          StoredSession(id: "s2", jid: "a@x/1", location: nil, inboundCount: 0, outboundCount: 0)),
        .setFate(RowID(rawValue: 3), .failed(.closesStream("policy-violation"))),
        .renumber(RowID(rawValue: 1), OrderElement(stream: Self.stream, number: 9)),
      ])
      #expect(try store.load().outgoing.map(\.position) == [nil, 0])
      #expect(try store.sentRows().isEmpty)
      let rows = try store.outgoing(stream: Self.stream, range: 3...UInt64.max)
      #expect(rows.map(\.order.number) == [3, 9])
      #expect(rows.first?.fate == .failed(.closesStream("policy-violation")))
      #expect(rows.last?.content == MessageContent(body: "text", elements: "<a/>"))
      try store.apply([.setSession(nil)])
      #expect(try store.load().session == nil)
    }

    @Test("rows of the inbox are handed over in their order, until the app has taken them")
    func inbox() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      var gap = IncomingRow(
        id: RowID(rawValue: 3), kind: .gap(Self.stream, 4...6), peer: "b@x", date: 7)
      var archiveGap = IncomingRow(
        id: RowID(rawValue: 4), kind: .archiveGap(since: -3), peer: "a@x", date: 8)
      try store.apply([
        .insertIncoming(Self.incoming(1, number: 2)), .insertIncoming(Self.incoming(2, number: 1)),
        .insertIncoming(gap), .insertIncoming(archiveGap),
      ])
      #expect(try store.load().held.map(\.id.rawValue) == [1, 2, 3, 4])
      #expect(try store.load().held.first == Self.incoming(1, number: 2))
      try store.apply([
        .release(RowID(rawValue: 2), sequence: 1, .inOrder),
        .release(RowID(rawValue: 1), sequence: 2, .late),
        .release(RowID(rawValue: 3), sequence: 3, .inOrder),
        .release(RowID(rawValue: 4), sequence: 4, .inOrder),
      ])
      gap.sequence = 3
      archiveGap.sequence = 4
      var rows = try store.inbox(after: 0, limit: 10)
      #expect(rows.map(\.id.rawValue) == [2, 1, 3, 4])
      #expect(rows[1].arrival == .late)
      #expect(rows[2] == gap && rows[3] == archiveGap)
      try store.apply([.acknowledgeIncoming(sequence: 1), .acknowledgeIncoming(sequence: 3)])
      rows = try store.inbox(after: 0, limit: 10)
      #expect(rows.map(\.id.rawValue) == [1, 4])
      #expect(try store.inbox(after: 2, limit: 10).map(\.id.rawValue) == [4])
      #expect(try store.history(of: "b@x", limit: 10).map(\.id.rawValue) == [3, 1, 2])
      #expect(try store.load().lastSequence == 4)
    }

    @Test("a message is recognised by its archive's id, its content, its number and its id")
    func keys() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      let message = InboundMessage(
        sender: "b@x", recipient: "a@x", id: "in-1", archiveID: "arc",
        order: OrderElement(stream: Self.stream, number: 2),
        kind: .content(MessageContent(body: "hello")),
        date: 6)
      #expect(try store.lookup([message], account: "a@x")[0] == StoreLookup())
      try store.apply([
        .insertIncoming(Self.incoming(1, number: 2)), .addKey(.archive("arc")),
        .addKey(.archive("arc")), .insertOutgoing(Self.outgoing(1)),
      ])
      var known = try store.lookup([message], account: "a@x")[0].known
      #expect(
        known == [
          .archive("arc"), .order(sender: "b@x", Self.stream, 2, name: "in-1"),
          .number(sender: "b@x", Self.stream, 2),
        ])
      var other = message
      other.sender = "c@x"
      other.archiveID = nil
      #expect(try store.lookup([other], account: "a@x")[0].known.isEmpty)
      try store.apply(MessageMachine.keys(of: message, account: "a@x").map { .addKey($0) })
      known = try store.lookup([message], account: "a@x")[0].known
      #expect(known == Set(MessageMachine.keys(of: message, account: "a@x")))
      let receipt = InboundMessage(
        sender: "b@x", recipient: "a@x", id: "r", kind: .receipt("id-1"), date: 6)
      #expect(try store.lookup([receipt], account: "a@x")[0].outgoing?.id.rawValue == 1)
    }

    @Test(
      "messages of a page are recognised together, also where a sender uses a number again and again"
    )
    func keysOfPages() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      func message(_ name: String, number: UInt64, _ sender: String = "b@x") -> InboundMessage {
        InboundMessage(
          sender: sender, recipient: "a@x", id: name, archiveID: "of \(name)",
          order: OrderElement(stream: Self.stream, number: number),
          kind: .content(MessageContent(body: "hello")), date: 6)
      }
      var changes: [MessageChange] = []
      for id in 1...400 as ClosedRange<Int64> {
        var row = Self.incoming(id, number: id <= 300 ? 7 : UInt64(id))
        row.originID = "in-\(id)"
        changes.append(.insertIncoming(row))
        if id % 2 == 0 { changes.append(.addKey(.archive("of in-\(id)"))) }
      }
      try store.apply(changes)
      let page =
        (301...400).map { message("in-\($0)", number: UInt64($0)) }
        + [
          message("in-9", number: 7), message("other", number: 7), message("new", number: 500),
          message("in-1", number: 1_000_000_000), message("in-350", number: 350, "c@x"),
        ]
      let found = try store.lookup(page, account: "a@x").map(\.known)
      for (place, id) in (301...400).enumerated() {
        var expected: Set<SeenKey> = [
          .order(sender: "b@x", Self.stream, UInt64(id), name: "in-\(id)"),
          .number(sender: "b@x", Self.stream, UInt64(id)),
        ]
        if id % 2 == 0 { expected.insert(.archive("of in-\(id)")) }
        #expect(found[place] == expected)
      }
      #expect(
        found[100] == [
          .order(sender: "b@x", Self.stream, 7, name: "in-9"),
          .number(sender: "b@x", Self.stream, 7),
        ])
      #expect(found[101] == [.number(sender: "b@x", Self.stream, 7)])
      #expect(found[102].isEmpty && found[103].isEmpty)
      #expect(found[104] == [.archive("of in-350")])
    }

    @Test(
      "a row that is handed over by its own transaction has its place, and one of an earlier one gets it"
    )
    func releasesOfOneTransaction() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      try store.apply([.insertIncoming(Self.incoming(1, number: 2))])
      try store.apply([
        .insertIncoming(Self.incoming(2, number: 1)),
        .release(RowID(rawValue: 2), sequence: 1, .late),
        .release(RowID(rawValue: 1), sequence: 2, .inOrder),
        .insertIncoming(Self.incoming(3, number: 4)),
      ])
      let rows = try store.inbox(after: 0, limit: 10)
      #expect(rows.map(\.id.rawValue) == [2, 1] && rows.map(\.arrival) == [.late, .inOrder])
      #expect(try store.load().held.map(\.id.rawValue) == [3])
    }

    @Test("streams and the last entries of the archive come back")
    func streams() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      let stream = IncomingStream(sender: "b@x", stream: Self.stream, next: 3, lastUse: 9)
      let other = IncomingStream(
        sender: "c@x", stream: Self.stream, next: OrderElement.numberMax, lastUse: 10)
      let marks = [ArchiveMark(id: "2", date: 1), ArchiveMark(id: "1", date: 2)]
      try store.apply([
        .setIncomingStream(stream), .setIncomingStream(other),
        .setArchiveMarks([ArchiveMark(id: "0", date: 0)]), .setArchiveMarks(marks),
      ])
      #expect(try store.load().incomingStreams == [stream, other])
      #expect(try store.load().archiveMarks == marks)
      try store.apply([.forgetIncomingStream(sender: "b@x", Self.stream)])
      #expect(try store.load().incomingStreams == [other])
    }
  }
#endif
