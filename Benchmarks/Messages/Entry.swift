import BenchmarkSupport
import Foundation

/// What the program does; `Benchmarks/run messages` explains.
@main
struct Entry {
  static func main() async {
    var parts = Set(CommandLine.arguments.dropFirst())
    let isSmoke = parts.remove("--smoke") != nil
    guard parts.isSubset(of: names) else {
      say("The parts are \(names.joined(separator: ", ")); --smoke is the only option.")
      exit(2)
    }
    do {
      var table = try Table(suite: "messages", isSmoke: isSmoke)
      func isWanted(_ name: String) -> Bool { parts.isEmpty || parts.contains(name) }
      if isWanted("sends") {
        try await table.run { try await runDurableSends(isSmoke: isSmoke, into: &$0) }
      }
      if isWanted("archive") {
        try await table.run { try runCatchUp(isSmoke: isSmoke, into: &$0) }
      }
      if isWanted("accounts") {
        try await table.run { try await runAccounts(isSmoke: isSmoke, into: &$0) }
      }
      guard table.finish(isComplete: parts.isEmpty) else { exit(1) }
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }

  private static let names = ["sends", "archive", "accounts"]
}
