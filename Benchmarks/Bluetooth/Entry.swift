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

  private static let parts = [
    "process", "beacons", "security", "bearers", "memory", "world", "rig", "api", "hub",
  ]

  private static func run() async throws {
    var arguments = Array(CommandLine.arguments.dropFirst())
    let isSmoke = arguments.contains("--smoke")
    arguments.removeAll { $0 == "--smoke" }
    switch arguments.first {
    case "radio": try await Rig.serveRadio()
    case "flood": try ReportFlood.serve()
    case "peripheral": try await Rig.servePeripheral(radio: arguments[1])
    case "central":
      try await Rig.measureCentral(
        radio: arguments[1], job: arguments[2], seconds: Double(arguments[3]) ?? 1)
    case "hub-radio": try await HubServing.serveRadio()
    case "hub-server": try await HubServing.serveHub(radio: arguments[1], path: arguments[2])
    case "hub-peripherals":
      try await HubServing.servePeripherals(
        radio: arguments[1], count: Int(arguments[2]) ?? 1)
    case "hub-programs":
      try await HubPrograms.run(
        arguments[1], place: arguments[2], count: Int(arguments[3]) ?? 1,
        amount: Double(arguments[4]) ?? 1)
    default:
      try await measure(arguments, isSmoke: isSmoke)
    }
  }

  /// Measures these parts, or all of them.
  private static func measure(_ arguments: [String], isSmoke: Bool) async throws {
    let seconds = isSmoke ? 0.2 : 2.0
    var table = try Table(suite: "bluetooth", isSmoke: isSmoke)
    let wanted = arguments.isEmpty ? Self.parts : arguments
    if wanted.contains("process") {
      await table.run { runPairBenchmarks(seconds: seconds, into: &$0) }
      await table.run { runReceiverBenchmarks(seconds: seconds, into: &$0) }
    }
    if wanted.contains("beacons") {
      try await table.run { try runBeaconBenchmarks(seconds: seconds, into: &$0) }
    }
    if wanted.contains("security") {
      try await table.run {
        try await runSecurityBenchmarks(seconds: seconds, isSmoke: isSmoke, into: &$0)
      }
    }
    if wanted.contains("bearers") {
      try await table.run { try runEnhancedBearerBenchmarks(isSmoke: isSmoke, into: &$0) }
    }
    if wanted.contains("memory") { await table.run { runMemoryBenchmarks(into: &$0) } }
    if wanted.contains("world") {
      await table.run { runWorldBenchmarks(isSmoke: isSmoke, into: &$0) }
    }
    let jobs = wanted.compactMap(Job.init)
    if wanted.contains("rig") || !jobs.isEmpty {
      try await table.run {
        try Rig.run(jobs.isEmpty ? Job.allCases : jobs, isSmoke: isSmoke, into: &$0)
      }
    }
    if wanted.contains("api") {
      try await table.run { try APIBenchmarks.run(isSmoke: isSmoke, into: &$0) }
    }
    if wanted.contains("hub") {
      try await table.run { try HubBenchmarks.run(isSmoke: isSmoke, into: &$0) }
    }
    guard table.finish(isComplete: arguments.isEmpty) else { exit(1) }
  }
}
