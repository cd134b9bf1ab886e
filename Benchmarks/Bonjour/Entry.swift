import BenchmarkSupport
import Foundation

/// Measures Bonjour on hosts that it makes itself; `Benchmarks/run` explains.
@main
struct Entry {
  static func main() async {
    var arguments = Array(CommandLine.arguments.dropFirst())
    let isSmoke = arguments.contains("--smoke")
    arguments.removeAll { $0 == "--smoke" }
    guard geteuid() == 0 else { fail("Network namespaces need root.") }
    let parts = arguments.isEmpty ? Part.allCases : arguments.compactMap(Part.init)
    guard arguments.count <= parts.count else {
      fail("The parts are \(Part.allCases.map(\.rawValue).joined(separator: ", ")).")
    }
    do {
      var table = try Table(suite: "bonjour", isSmoke: isSmoke)
      for part in parts {
        try await table.run { try part.run(isSmoke: isSmoke, into: &$0) }
      }
      say("* As measured for mDNSResponder elsewhere, not here.")
      guard table.finish(isComplete: arguments.isEmpty) else { exit(1) }
    } catch { fail("\(error)") }
  }

  private static func fail(_ reason: String) -> Never {
    FileHandle.standardError.write(Data("\(reason)\n".utf8))
    exit(1)
  }
}

/// The parts of the benchmark.
enum Part: String, CaseIterable {
  case publish, browse, wire, many, queries, flood, withdraw

  func run(isSmoke: Bool, into table: inout Table) throws {
    switch self {
    case .publish: try measurePublishing(isSmoke: isSmoke, into: &table)
    case .browse: try measureBrowsing(isSmoke: isSmoke, into: &table)
    case .wire: try measureWire(isSmoke: isSmoke, into: &table)
    case .many: try measureMany(isSmoke: isSmoke, into: &table)
    case .queries: try measureQueries(isSmoke: isSmoke, into: &table)
    case .flood: try measureFloods(isSmoke: isSmoke, into: &table)
    case .withdraw: try measureWithdrawing(isSmoke: isSmoke, into: &table)
    }
  }
}
