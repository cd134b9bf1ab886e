import BenchmarkSupport
import Foundation
import Messaging

/// The memory of accounts that are open in one process, each with a store of its own and a message in it.
func runAccounts(isSmoke: Bool, into table: inout Table) async throws {
  let folder = FileManager.default.temporaryDirectory.appending(
    path: "ambit-accounts-\(UUID().uuidString)")
  defer { try? FileManager.default.removeItem(at: folder) }
  raiseFileLimit()
  let count = isSmoke ? 50 : 1_000
  let before = residentBytes()
  var accounts: [MessagingAccount] = []
  for number in 0..<count {
    let account = try MessagingAccount(
      .init(
        address: "user\(number)@chat.example", password: "",
        storePath: folder.path + "/\(number)/messages"))
    _ = try await account.send("a message", to: "bob@chat.example")
    accounts.append(account)
  }
  let grown = residentBytes() - before
  table.heading("\(Table.grouped(count)) accounts in one process", "")
  table.add("kilobytes of an account", Double(grown) / Double(count) / 1_000, "kB")
  for account in accounts { try await account.close() }
}

/// A store has several files open.
private func raiseFileLimit() {
  var limit = rlimit()
  let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  guard unsafe getrlimit(resource, &limit) == 0 else { return }
  limit.rlim_cur = limit.rlim_max
  _ = unsafe setrlimit(resource, &limit)
}

private func residentBytes() -> Int {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
  return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 1_024
}
