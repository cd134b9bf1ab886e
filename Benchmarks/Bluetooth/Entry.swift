import BenchmarkSupport
import Foundation

/// What the program does; `Benchmarks/run` explains.
@main
struct Entry {
  static func main() async {
    do {
      try await run()
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }

  private static func run() async throws {
    var arguments = Array(CommandLine.arguments.dropFirst())
    let isSmoke = arguments.contains("--smoke")
    arguments.removeAll { $0 == "--smoke" }
    let seconds = isSmoke ? 0.2 : 2.0
    switch arguments.first {
    case "radio": try await Rig.serveRadio()
    case "flood": try ReportFlood.serve()
    case "peripheral": try await Rig.servePeripheral(radio: arguments[1])
    case "central":
      try await Rig.measureCentral(
        radio: arguments[1], job: arguments[2], seconds: Double(arguments[3]) ?? 1)
    default:
      var table = Table()
      let wanted = arguments.isEmpty ? ["process", "memory", "world", "rig", "api"] : arguments
      if wanted.contains("process") {
        runPairBenchmarks(seconds: seconds, into: &table)
        runReceiverBenchmarks(seconds: seconds, into: &table)
      }
      if wanted.contains("memory") { runMemoryBenchmarks(into: &table) }
      if wanted.contains("world") { runWorldBenchmarks(isSmoke: isSmoke, into: &table) }
      let jobs = wanted.compactMap(Job.init)
      if wanted.contains("rig") || !jobs.isEmpty {
        try await Rig.run(jobs.isEmpty ? Job.allCases : jobs, isSmoke: isSmoke, into: &table)
      }
      if wanted.contains("api") { try APIBenchmarks.run(isSmoke: isSmoke, into: &table) }
      say("")
      if table.missedGoals.isEmpty {
        say("Every goal is met.")
      } else {
        say("Goals missed: \(table.missedGoals.joined(separator: "; ")).")
      }
    }
  }
}
