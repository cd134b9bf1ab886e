import BenchmarkSupport
import Foundation

extension Part {
  /// The cost of queries for the responder.
  func measureQueries(isSmoke: Bool, into table: inout Table) throws {
    table.heading("Queries to one host that has ten services")
    var (rates, singleRates): ([Stack: Double], [Stack: Double]) = ([:], [:])
    var costs: [Stack: Double] = [:]
    var misses: [Stack: Double] = [:]
    let milliseconds = isSmoke ? 300 : 4_000
    for stack in Stack.compared(isSmoke: isSmoke) {
      let network = try Network(hostCount: 2)
      let publisher = try Publisher(stack, on: network.hosts[0], count: 10)
      _ = try publisher.publish()
      settle(2, isSmoke: isSmoke)
      let (rate, cost) = try ask(
        publisher.child, on: network.hosts[0], count: 64, milliseconds: milliseconds)
      (rates[stack], costs[stack]) = (rate, cost)
      singleRates[stack] = try ask(
        publisher.child, on: network.hosts[0], count: 1, milliseconds: milliseconds
      ).rate
      misses[stack] = try miss(publisher, network, count: isSmoke ? 4_000 : 60_000)
    }
    table.compare("legacy queries answered in a second", rates)
    table.compare("legacy queries one at a time", singleRates)
    table.add("a bare UDP echo, one at a time", try echoes(milliseconds), "")
    table.compare("processor time of each, µs", costs)
    table.compare("of one for names nobody has, µs (goal: 6)", misses)
  }

  /// Sends queries from an ordinary port for the SRV record of a service, several at a time, as
  /// fast as answers come. On the same host, because other hosts get no more than 200 answers a
  /// second.
  private func ask(
    _ answerer: Child, on host: NetworkHost, count: Int, milliseconds: Int
  ) throws -> (rate: Double, microseconds: Double) {
    let asker = try host.start(
      Paths.ownHost(), "ask", host.address, "224.0.0.251",
      "Bench\\0323.\(serviceType).local.", "33", "\(milliseconds)", "\(count)")
    defer { asker.end() }
    _ = try asker.report("ready")
    let cpuBefore = answerer.cpuSeconds
    try asker.tell("go")
    let numbers = try asker.report("answered").numbers
    let cpuSeconds = answerer.cpuSeconds - cpuBefore
    guard numbers.count == 3 else { throw ChildError("Nothing was answered.") }
    let answered = Double(numbers[0])
    return (answered / Double(numbers[2]) * 1e9, cpuSeconds / answered * 1e6)
  }

  /// How many packets in a second a program gets back, one at a time, from another that does nothing but
  /// receive and send: what the machine and its system take of the time of a query.
  private func echoes(_ milliseconds: Int) throws -> Double {
    let network = try Network(hostCount: 1)
    let echo = try network.hosts[0].start(Paths.ownHost(), "echo", network.hosts[0].address)
    defer { echo.end() }
    _ = try echo.report("ready")
    return try ask(echo, on: network.hosts[0], count: 1, milliseconds: milliseconds).rate
  }

  /// Multicasts queries for names that don't exist.
  private func miss(_ publisher: Publisher, _ network: Network, count: Int) throws -> Double {
    let cpuBefore = publisher.child.cpuSeconds
    let droppedBefore = network.hosts[0].droppedCount(of: publisher.child)
    let flood = try Flood("unknown", rate: 20_000, count: count, from: network.hosts[1])
    try flood.wait()
    try network.hosts[0].waitUntilRead(by: publisher.child)
    let dropped = network.hosts[0].droppedCount(of: publisher.child) - droppedBefore
    return (publisher.child.cpuSeconds - cpuBefore) / Double(count - dropped) * 1e6
  }
}

/// Packets to everybody, on and on.
final class Flood {
  private let child: Child

  init(_ kind: String, rate: Int, count: Int, name: String? = nil, from host: NetworkHost) throws {
    let command = [kind, "\(rate)", "\(count)"] + (name.map { [$0] } ?? [])
    child = try host.start([try Paths.ownHost(), "flood", host.address] + command)
    _ = try child.report("ready")
    try child.tell("go")
  }

  deinit { child.end() }

  /// Until the last was sent.
  func wait() throws { _ = try child.report("sent", within: 300) }
}
