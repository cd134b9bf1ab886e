import BenchmarkSupport
import Foundation

extension Part {
  /// What still works while others send without end.
  func measureFloods(isSmoke: Bool, into table: inout Table) throws {
    let seconds = isSmoke ? 2 : 10
    table.heading("Under 2,000 queries a second for \(seconds) s: answers in a second")
    let kinds = [
      ("same", "all for the services' listing"), ("unknown", "for other names"),
    ]
    for (kind, title) in kinds {
      var answers: [Stack: Double] = [:]
      for stack in Stack.compared(isSmoke: isSmoke) {
        answers[stack] = try answered(by: stack, kind, isSmoke: isSmoke)
      }
      table.compare(title, answers, quoted: kind == "same" ? 0 : nil)
    }
    table.heading("After records that nobody asked for")
    try measureRecords(count: isSmoke ? 20_000 : 200_000, into: &table)
  }

  /// How many packets with the listing the publisher sends in a second.
  private func answered(by stack: Stack, _ kind: String, isSmoke: Bool) throws -> Double {
    let seconds = isSmoke ? 2 : 10
    let network = try Network(hostCount: 3)
    let publisher = try Publisher(stack, on: network.hosts[0], count: 10)
    _ = try publisher.publish()
    settle(3, isSmoke: isSmoke)
    let counter = try PacketCounter([network.hosts[0]])
    let name = "\(serviceType).local."
    let flood = try Flood(
      kind, rate: 2_000, count: 2_000 * seconds, name: kind == "same" ? name : nil,
      from: network.hosts[1])
    // A client with a real query.
    let asker = try Flood("same", rate: 1, count: seconds, name: name, from: network.hosts[2])
    _ = try counter.count()
    try flood.wait()
    try asker.wait()
    return Double(try counter.count().packets) / Double(seconds)
  }

  /// Tells a host of more than it can keep.
  private func measureRecords(count: Int, into table: inout Table) throws {
    let network = try Network(hostCount: 3)
    let browser = try Browser(.ambit, on: network.hosts[0])
    let publisher = try Publisher(.ambit, on: network.hosts[1], count: 1)
    try browser.start()
    _ = try publisher.publish()
    _ = try browser.child.report("found", publisher.name)
    let before = browser.child.residentBytes
    let cpuBefore = browser.child.cpuSeconds
    let flood = try Flood("records", rate: 2_000, count: count / 20, from: network.hosts[2])
    try flood.wait()
    try network.hosts[0].waitUntilRead(by: browser.child)
    let dropped = network.hosts[0].droppedCount(of: browser.child) * 20
    let cpuSeconds = browser.child.cpuSeconds - cpuBefore
    let grown = Double(browser.child.residentBytes - before) / 1e6
    table.add("records that were heard", Double(count - dropped), "")
    table.add("processor time of each", cpuSeconds / Double(count - dropped) * 1e6, "µs")
    // The cache's bound of 4 MB on the wire is some four times as much in memory.
    table.add("the browser grew by", grown, "MB")
    let (asked, _) = try publisher.publish()
    let found = try browser.child.report("found", publisher.name, within: 10).nanoseconds
    table.add("a new service was found after", Double(found - asked) / 1e6, "ms")
  }
}
