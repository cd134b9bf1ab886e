import BenchmarkSupport
import Foundation

extension Part {
  /// The time from the end of a killed program (SIGKILL) until another host, which browses, has heard that the last
  /// of its services is withdrawn. A hub on the program's host does that.
  func measureWithdrawing(isSmoke: Bool, into table: inout Table) throws {
    table.heading("Services of a killed program, withdrawn by its hub; milliseconds")
    for count in [1, 100] {
      let samples = try withdrawals(of: count, rounds: isSmoke ? 1 : 15)
      let title = count == 1 ? "1 service" : "\(count) services"
      table.compare("\(title) withdrawn after, median", [.ambit: samples.median])
      if !isSmoke {
        table.compare("\(title) withdrawn after, most", [.ambit: samples.max() ?? .nan])
      }
    }
  }

  /// A host removes a record one second after its goodbye (RFC 6762, §10.1).
  private var goodbyeMilliseconds: Double { 1_000 }

  private func withdrawals(of count: Int, rounds: Int) throws -> [Double] {
    let network = try Network(hostCount: 2)
    let hub = try network.hosts[1].start(Paths.ownHost(), "hub", hubPath, readsErrors: true)
    defer { hub.end() }
    _ = try hub.report("ready")
    let browser = try Browser(.ambit, on: network.hosts[0], count: count)
    try browser.start()
    return try (0..<rounds).map { _ in
      let program = try network.hosts[1].start(
        "env", "AMBIT_HUB=\(hubPath)", Paths.ownHost(), "publish", serviceType, "Bench",
        "\(count)", readsErrors: true)
      _ = try program.report("ready")
      try program.tell("go")
      for _ in 0..<count { _ = try browser.child.report("found") }
      let killed = nanosecondsNow
      program.end()
      var gone = killed
      for _ in 0..<count { gone = try browser.child.report("gone").nanoseconds }
      return Double(gone - killed) / 1e6 - goodbyeMilliseconds
    }
  }

  /// Where the hub is for the radio; its Multicast DNS is beside it.
  private var hubPath: String { "/run/ambit-bench" }
}
