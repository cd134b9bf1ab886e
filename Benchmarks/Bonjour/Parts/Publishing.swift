import BenchmarkSupport
import Foundation

extension Part {
  /// The time from the call that publishes a service until another host, which browses, gets the
  /// event; and until that host has resolved it.
  func measurePublishing(isSmoke: Bool, into table: inout Table) throws {
    table.heading("Publish a service, found by Ambit on another host; milliseconds")
    var found: [Stack: Double] = [:]
    var resolved: [Stack: Double] = [:]
    var both: [Stack: Double] = [:]
    // Also where ours alone is of interest, to see whether the others can be started.
    for stack in Stack.available {
      let samples = try publishings(by: stack, count: isSmoke ? 1 : 15)
      found[stack] = samples.map(\.found).median
      resolved[stack] = samples.map(\.resolved).median
      both[stack] = samples.map { $0.found + $0.resolved }.median
    }
    table.compare("found after, median", found)
    table.compare("resolved after that, median", resolved)
    table.compare("both, median", both)
  }

  private func publishings(
    by stack: Stack, count: Int
  ) throws -> [(found: Double, resolved: Double)] {
    let network = try Network(hostCount: 2)
    let browser = try Browser(.ambit, on: network.hosts[0], resolves: true)
    let publisher = try Publisher(stack, on: network.hosts[1], count: 1)
    try browser.start()
    return try (0..<count).map { _ in
      let (asked, _) = try publisher.publish()
      let found = try browser.child.report("found", publisher.name).nanoseconds
      let resolved = try browser.child.report("resolved", publisher.name).nanoseconds
      return (Double(found - asked) / 1e6, Double(resolved - found) / 1e6)
    }
  }
}
