import BenchmarkSupport
import Essentials
import Foundation
import MessagingHost
import XMPPMachines
import XMPPWire

/// Reads an archive of another account's messages from its bytes to the inbox on the disk, a transaction a page, as an
/// account does after a day offline. The server is simulated: its answers are there at once, without TLS. As in the driver
/// of an account, a thread writes a page while the next one, which was requested before, is parsed; it is handled when the
/// page before it is on the disk.
func runCatchUp(isSmoke: Bool, into table: inout Table) throws {
  let folder = FileManager.default.temporaryDirectory.appending(
    path: "ambit-catch-up-\(UUID().uuidString)")
  defer { try? FileManager.default.removeItem(at: folder) }
  let count = isSmoke ? 2_000 : 100_000
  var reading = try ArchiveReading(path: folder.path + "/messages", count: count)
  var time = Duration.zero
  while let answer = reading.answer() {
    let start = ContinuousClock.now
    try reading.take(answer)
    time += ContinuousClock.now - start
  }
  let start = ContinuousClock.now
  try reading.finish()
  time += ContinuousClock.now - start
  let storedCount = try reading.close()
  guard storedCount == count else { throw CatchUpFailure(storedCount: storedCount, count: count) }
  table.heading("An archive of \(Table.grouped(count)) messages", "")
  table.add("messages caught up", Double(count) / time.seconds, "/s")
}

private struct CatchUpFailure: Error {
  var storedCount: Int
  var count: Int
}

/// An account's parser, machines and store, and a server with an archive.
private struct ArchiveReading {
  private let account = "bob@chat.example"
  private let count: Int
  private let store: MessageStore
  private var machine: MessageMachine
  private var exchange: AccountExchange
  private let parser = XMLStreamParser()
  private let disk: DiskThread
  /// The transaction that is written while the next page is parsed.
  private var unwritten: [MessageChange] = []
  private let stream = OrderStreamID(high: 1, low: 2)
  private let date: WallTime = 1_700_000_000_000
  private var now = Instant.zero
  private var query: (id: String, first: Int)?

  init(path: String, count: Int) throws {
    self.count = count
    store = try MessageStore(path: path)
    disk = DiskThread(store)
    // The account has read its archive before, when it was empty: what comes is no history.
    try store.apply([.setHistoryEnd(nil)])
    guard let jid = JID(account) else { throw CatchUpFailure(storedCount: 0, count: count) }
    exchange = AccountExchange(account: jid)
    machine = MessageMachine(
      account: account, stored: try store.load(), seed: 1, now: now, wall: date)
    parser.append(XMLWriter.opening(StreamHeader(from: "chat.example", id: "1")))
    _ = try parser.next()
    try handle(.connected(isResumed: false, hasArchive: true, wall: date))
  }

  /// The bytes of the page that was requested; nil if none was.
  func answer() -> [UInt8]? {
    guard let (id, first) = query else { return nil }
    let last = min(first + 100, count)
    var bytes: [UInt8] = []
    for number in first..<last { bytes += entry(number, id) }
    let isComplete = last == count
    let end = ArchiveEnd(isComplete: isComplete, page: ResultSet())
    let answer = XMLElement(
      "iq", Namespace.client, ["type": "result", "id": id], children: [end.element])
    return bytes + XMLWriter.bytes(of: answer)
  }

  private func entry(_ number: Int, _ query: String) -> [UInt8] {
    let row = OutgoingRow(
      id: RowID(rawValue: Int64(number + 1)), peer: account,
      originID: "018bcfe5-6800-7000-8000-\(100_000_000_000 + number)",
      order: OrderElement(stream: stream, number: UInt64(number + 1), since: 1),
      content: MessageContent(
        body: "A message of a hundred bytes, more or less, with number \(number)"), date: date)
    guard var message = MessageWriter.element(row) else { return [] }
    message["from"] = "ann@chat.example/desk"
    let forwarded = XMLElement(
      "forwarded", "urn:xmpp:forward:0",
      children: [
        XMLElement("delay", "urn:xmpp:delay", ["stamp": "2023-11-14T22:13:20Z"]), message,
      ])
    let result = XMLElement(
      "result", Namespace.archive, ["queryid": query, "id": "entry-\(number)"],
      children: [forwarded])
    return XMLWriter.bytes(
      of: XMLElement("message", Namespace.client, ["to": account], children: [result]))
  }

  /// Takes the bytes of an answer, as the driver of an account does.
  mutating func take(_ bytes: [UInt8]) throws {
    query = nil
    disk.write(unwritten)
    parser.append(bytes)
    var elements: [XMLElement] = []
    while case .element(let element)? = try parser.next() { elements.append(element) }
    try disk.finish()
    unwritten = []
    for element in elements {
      guard case .page(let query, let entries, let isComplete) = exchange.take(element, wall: date)
      else { continue }
      var lookups = try store.lookup(entries.compactMap(\.message), account: account)[...]
      let found = entries.map { entry in
        ArchivePage.Entry(
          mark: entry.mark,
          message: entry.message.map { LookedUp($0, lookups.popFirst() ?? StoreLookup()) })
      }
      try handle(.page(ArchivePage(query: query, entries: found, isComplete: isComplete)))
    }
  }

  private mutating func handle(_ event: MessageEvent) throws {
    now = now + .milliseconds(1)
    var commit = MessageCommit()
    machine.handle(event, now: now, into: &commit)
    var receipts: [RowID] = []
    for case .transmit(let stanza) in commit.then { receipts += [stanza.row].compactMap(\.self) }
    // The server confirms receipts at once, when they have left.
    if receipts.isEmpty {
      unwritten += commit.changes
    } else {
      try store.apply(commit.changes)
      try handle(.handled(receipts))
    }
    for case .query(let request) in commit.then {
      guard let id = exchange.begin(request)?["id"] else { continue }
      var first = 0
      if case .after(let entry) = request.start {
        first = (Int(entry.drop { !$0.isNumber }) ?? 0) + 1
      }
      query = (id, first)
    }
  }

  /// Writes the last page.
  func finish() throws { try store.apply(unwritten) }

  /// Closes the store; gives the number of entries that the inbox has.
  func close() throws -> Int {
    defer { store.close() }
    var (last, found): (Int64, Int) = (0, 0)
    while case let rows = try store.inbox(after: last, limit: 1_000), let row = rows.last {
      found += rows.count
      last = row.sequence ?? .max
    }
    return found
  }
}
