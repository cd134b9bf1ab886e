import BenchmarkSupport
import Foundation

extension Part {
  /// From the call that browses to the first service, where the services are there already.
  func measureBrowsing(isSmoke: Bool, into table: inout Table) throws {
    table.heading("Browse for services that are there; milliseconds to the first")
    var own: [Stack: Double] = [:]
    for stack in Stack.compared(isSmoke: isSmoke) {
      let samples = try firsts(of: stack, publishedBy: stack, isSmoke: isSmoke)
      own[stack] = samples.median
    }
    table.compare("nothing known, own publisher, median", own)
    for publisher in Stack.compared(isSmoke: isSmoke).dropFirst() {
      let samples = try firsts(of: .ambit, publishedBy: publisher, isSmoke: isSmoke)
      table.compare(
        "nothing known, \(publisher.rawValue) publishes, median", [.ambit: samples.median])
    }
    let again = try agains(count: isSmoke ? 1 : 15)
    table.compare("another client asked before, median", [.ambit: again.median])
  }

  /// Each by a host that has just begun to take part, so that it has heard nothing.
  private func firsts(
    of stack: Stack, publishedBy other: Stack, isSmoke: Bool
  ) throws -> [Double] {
    let network = try Network(hostCount: 2)
    let publisher = try Publisher(other, on: network.hosts[0], count: 10)
    _ = try publisher.publish()
    // Until nothing is announced any more.
    settle(3, isSmoke: isSmoke)
    return try (0..<(isSmoke ? 1 : 15)).map { _ in
      let browser = try Browser(stack, on: network.hosts[1])
      // Until the host has its own name, and answers of a second ago may be given again.
      settle(2, isSmoke: isSmoke)
      try browser.start()
      return try browser.untilFirst()
    }
  }

  private func agains(count: Int) throws -> [Double] {
    let network = try Network(hostCount: 2)
    let publisher = try Publisher(.ambit, on: network.hosts[0], count: 10)
    _ = try publisher.publish()
    let browser = try Browser(.ambit, on: network.hosts[1])
    try browser.start()
    _ = try browser.untilFirst()
    return try (0..<count).map { _ in
      try browser.stop()
      try browser.start()
      return try browser.untilFirst()
    }
  }
}
