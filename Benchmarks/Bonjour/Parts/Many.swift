import BenchmarkSupport
import Foundation

extension Part {
  /// One process that publishes many services at once: until all have their names.
  func measureMany(isSmoke: Bool, into table: inout Table) throws {
    let counts = isSmoke ? [200] : [1_000, 5_000]
    var costs: [Int: ManyCost] = [:]
    for count in counts {
      let services = "\(Table.grouped(count)) services"
      table.heading("Publish \(services) in one process, IPv4")
      var all: [Stack: ManyCost] = [:]
      // The others need a quarter of an hour for five thousand, or never end.
      for stack in Stack.compared(isSmoke: isSmoke) where count <= 1_000 || stack == .ambit {
        all[stack] = try publishMany(count, by: stack, isSmoke: isSmoke)
      }
      costs[count] = all[.ambit]
      table.compare("\(services): seconds", all.mapValues(\.seconds))
      table.compare(
        "\(services): seconds of processor time", all.mapValues(\.cpuSeconds),
        quoted: count == 1_000 ? 5.3 : nil)
      table.compare("\(services): resident megabytes", all.mapValues(\.megabytes))
      table.compare("\(services): packets", all.mapValues(\.packets))
    }
    guard let small = costs[1_000], let large = costs[5_000] else { return }
    table.compare(
      "processor time, 5,000 to 1,000", [.ambit: large.cpuSeconds / small.cpuSeconds])
  }

  private func publishMany(
    _ count: Int, by stack: Stack, isSmoke: Bool
  ) throws -> ManyCost {
    let network = try Network(hostCount: 2)
    let publisher = try Publisher(stack, on: network.hosts[0], count: count)
    // Until it has its own name.
    settle(3, isSmoke: isSmoke)
    let counter = try PacketCounter(network.hosts)
    let cpuBefore = publisher.child.cpuSeconds
    let (asked, published) = try publisher.publish()
    let cpuSeconds = publisher.child.cpuSeconds - cpuBefore
    // The second announcement.
    settle(3, isSmoke: isSmoke)
    return ManyCost(
      seconds: Double(published - asked) / 1e9, cpuSeconds: cpuSeconds,
      megabytes: Double(publisher.child.residentBytes) / 1e6,
      packets: Double(try counter.count().packets))
  }
}

private struct ManyCost {
  var seconds: Double
  var cpuSeconds: Double
  var megabytes: Double
  var packets: Double
}
