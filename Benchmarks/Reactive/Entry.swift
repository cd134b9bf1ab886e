import BenchmarkSupport
import Foundation

/// What the program does; `Benchmarks/run reactive` explains.
@main
struct Entry {
  static func main() async {
    var arguments = Array(CommandLine.arguments.dropFirst())
    let isSmoke = arguments.contains("--smoke")
    arguments.removeAll { $0 == "--smoke" }
    let families = [
      "hot": hotWorkloads, "cold": coldWorkloads, "combine": combineWorkloads,
      "flatten": flattenWorkloads, "subscribe": subscribeWorkloads, "property": propertyWorkloads,
      "time": timeWorkloads, "threads": threadWorkloads,
    ]
    for name in arguments where families[name] == nil {
      say("There is no \"\(name)\"; there are \(families.keys.sorted().joined(separator: ", ")).")
      exit(2)
    }
    if !Instructions.areCounted { say("This machine doesn't let its instructions be counted.") }
    say("                    ns each    allocs  instructions   times ours")
    do {
      var table = try Table(suite: "reactive", isSmoke: isSmoke)
      for name in families.keys.sorted() where arguments.isEmpty || arguments.contains(name) {
        for workload in families[name]?() ?? [] {
          await table.run { await workload.run(isSmoke: isSmoke, into: &$0) }
        }
      }
      guard table.finish(isComplete: arguments.isEmpty) else { exit(1) }
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }
}
