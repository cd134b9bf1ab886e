import BenchmarkSupport
import Foundation

/// What the program does; `Benchmarks/run messages` explains.
@main
struct Entry {
  static func main() async {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.allSatisfy({ $0 == "--smoke" }) else {
      say("There are no parts; --smoke is the only option.")
      exit(2)
    }
    do {
      let isSmoke = arguments.contains("--smoke")
      var table = try Table(suite: "messages", isSmoke: isSmoke)
      try await table.run { try await runDurableSends(isSmoke: isSmoke, into: &$0) }
      try await table.run { try runCatchUp(isSmoke: isSmoke, into: &$0) }
      try await table.run { try await runAccounts(isSmoke: isSmoke, into: &$0) }
      guard table.finish(isComplete: true) else { exit(1) }
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }
}
