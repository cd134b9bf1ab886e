import BenchmarkSupport
import Foundation

/// What the program does; `Benchmarks/run apps` explains.
@main
struct Entry {
  static func main() async {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.allSatisfy({ $0 == "--smoke" }) else {
      say("There are no parts; --smoke is the only option.")
      exit(2)
    }
    do {
      var table = try Table(suite: "apps", isSmoke: arguments.contains("--smoke"))
      let isSmoke = arguments.contains("--smoke")
      try await table.run { try await runDoorLock(into: &$0) }
      try await table.run { try await runHeldSockets(into: &$0, isSmoke: isSmoke) }
      try await table.run { try await runCrowd(into: &$0, isSmoke: isSmoke) }
      guard table.finish(isComplete: true) else { exit(1) }
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }
}
