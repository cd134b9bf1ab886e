import BenchmarkSupport
import Foundation
import Messaging

private let body =
  String(repeating: "A message of a hundred bytes. ", count: 3) + "0123456789"

private func messages(_ count: Int, to name: String) -> [OutgoingMessage] {
  (0..<count).map { _ in OutgoingMessage(body, to: "\(name)@chat.example") }
}

/// Sends that return when the message is on the disk, without a server, beside SQLite's own commits on the same disk.
func runDurableSends(isSmoke: Bool, into table: inout Table) async throws {
  let folder = FileManager.default.temporaryDirectory.appending(
    path: "ambit-messages-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let raw = try RawSQLite(path: folder.path + "/raw")
  let account = try MessagingAccount(
    .init(address: "ann@chat.example", password: "", storePath: folder.path + "/store/messages"))
  let oneByOne = isSmoke ? 200 : 3_000
  let inBatches = isSmoke ? 5_000 : 100_000

  // In short turns, as the disk is not equally fast at all times. The logs have their full size before that: they grow
  // by new blocks, which take a file system several times longer than blocks that are written again.
  for _ in 0..<(isSmoke ? 0 : 30) {
    try raw.store(body, count: 500)
    for result in await account.send(messages(500, to: "bob")) { _ = try result.get() }
  }
  var (rawTime, ownTime) = (Duration.zero, Duration.zero)
  for _ in 0..<oneByOne / 10 {
    rawTime += try await measure { for _ in 0..<10 { try raw.store(body, count: 1) } }
    ownTime += try await measure {
      for _ in 0..<10 { _ = try await account.send(body, to: "bob@chat.example") }
    }
  }
  table.heading("Messages on the disk, one by one", "")
  table.add("SQLite's commits", Double(oneByOne) / rawTime.seconds, "/s")
  table.add("durable sends", Double(oneByOne) / ownTime.seconds, "/s")
  table.add("share of SQLite's commits", 100 * rawTime.seconds / ownTime.seconds, "%")

  rawTime = try await measure {
    for _ in 0..<inBatches / 250 { try raw.store(body, count: 250) }
  }
  let commitCount = account.statistics.commits
  // The outbox takes 100,000 messages at most.
  let count = isSmoke ? inBatches : inBatches - oneByOne - 15_000
  ownTime = try await measure {
    try await withThrowingTaskGroup(of: Void.self) { group in
      // Four at a time: some are written, and the others are the next transaction.
      for sender in 0..<4 {
        group.addTask {
          let messages = messages(250, to: "bob\(sender)")
          for _ in 0..<count / 1_000 {
            for result in await account.send(messages) { _ = try result.get() }
          }
        }
      }
      try await group.waitForAll()
    }
  }
  let sentCount = count / 1_000 * 1_000
  table.heading("Messages on the disk, many at a time", "")
  table.add("rows of SQLite, 250 a commit", Double(inBatches / 250 * 250) / rawTime.seconds, "/s")
  table.add("durable sends, 250 a call", Double(sentCount) / ownTime.seconds, "/s")
  table.add(
    "messages in a transaction",
    Double(sentCount) / Double(account.statistics.commits - commitCount), "")
  try await account.close()
}

nonisolated(nonsending) private func measure(
  _ body: nonisolated(nonsending) () async throws -> Void
) async rethrows -> Duration {
  let clock = ContinuousClock()
  let start = clock.now
  try await body()
  return clock.now - start
}

extension Duration {
  var seconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
