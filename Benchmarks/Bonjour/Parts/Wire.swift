import BenchmarkSupport
import Foundation

extension Part {
  /// Everything that both hosts send in the first minute of browsing for services that are there:
  /// frames of Ethernet, over IPv4.
  func measureWire(isSmoke: Bool, into table: inout Table) throws {
    let seconds = isSmoke ? 2 : 60
    table.heading("On the wire in the first \(seconds) s of browsing, IPv4")
    let quoted = [1: (6, 723), 10: (6, 1_943), 100: (15, 16_488)]
    // All at once, each on a network of its own: they do next to nothing.
    var runs: [WireRun] = []
    for stack in Stack.compared(isSmoke: isSmoke) {
      for count in quoted.keys.sorted() { runs.append(try WireRun(stack, count)) }
    }
    runs.append(try WireRun(.ambit, 100, resolves: true))
    for run in runs { try run.publish() }
    settle(2, isSmoke: isSmoke)
    for run in runs { try run.prepare() }
    settle(4, isSmoke: isSmoke)
    for run in runs { try run.start() }
    // Only packets sent in this time count.
    Thread.sleep(forTimeInterval: Double(seconds))
    for run in runs { try run.end() }
    for (count, (packets, bytes)) in quoted.sorted(by: { $0.key < $1.key }) {
      var sent: [Stack: (packets: Double, bytes: Double)] = [:]
      for run in runs where run.count == count && !run.resolves {
        sent[run.stack] = (Double(run.packets), Double(run.bytes))
      }
      let services = count == 1 ? "1 service" : "\(count) services"
      table.compare(
        "\(services), packets", sent.mapValues(\.packets), quoted: Double(packets))
      table.compare("\(services), bytes", sent.mapValues(\.bytes), quoted: Double(bytes))
    }
    for run in runs where run.resolves {
      table.compare(
        "\(run.count) services resolved, packets", [.ambit: Double(run.packets)], quoted: 15)
      table.compare(
        "\(run.count) services resolved, bytes", [.ambit: Double(run.bytes)], quoted: 16_488)
    }
  }
}

/// One stack that browses for `count` services of its own kind, and may resolve each.
private final class WireRun {
  let stack: Stack
  let count: Int
  let resolves: Bool
  private(set) var packets = 0
  private(set) var bytes = 0
  private let network: Network
  private let publisher: Publisher
  private var browser: Browser?
  private var counter: PacketCounter?

  init(_ stack: Stack, _ count: Int, resolves: Bool = false) throws {
    (self.stack, self.count, self.resolves) = (stack, count, resolves)
    network = try Network(hostCount: 2)
    publisher = try Publisher(stack, on: network.hosts[0], count: count)
  }

  func publish() throws {
    _ = try publisher.publish()
  }

  /// Starts the browser after all announcements, so that it has nothing in its cache.
  func prepare() throws {
    browser = try Browser(stack, on: network.hosts[1], resolves: resolves)
    counter = try PacketCounter(network.hosts)
  }

  func start() throws {
    _ = try counter?.count()
    try browser?.start()
  }

  func end() throws {
    if let sum = try counter?.count() { (packets, bytes) = sum }
  }
}
