import BenchmarkSupport
import Foundation

/// What it costs that programs share a radio through a hub, beside the same with a host of their own.
///
/// The hub is a process of its own. One program is an app of Core Bluetooth, also a process; many programs are
/// connections of one process, because the figures are the hub's.
enum HubBenchmarks {
  static func run(isSmoke: Bool, into table: inout Table) throws {
    table.heading(
      "Through a hub, a process that has the radio; wall clock",
      "".padded(titleWidth) + "hub".leftPadded(12) + "in process".leftPadded(12)
        + "ratio".leftPadded(8) + "the hub's CPU µs each".leftPadded(24))
    let seconds = isSmoke ? 0.5 : 3.0
    try measureNotifications(seconds, &table)
    try measureReads(seconds, &table)
    try measureScans(seconds, &table)
    try measureServices(&table)
    try measureIdle(isSmoke: isSmoke, &table)
    try measureRestart(&table)
    say("* Many programs are connections of one process, each with one session.")
  }

  // MARK: One app of Core Bluetooth

  private static func measureNotifications(_ seconds: Double, _ table: inout Table) throws {
    let own = try measure("notifications", seconds, usesHub: false)
    let hub = try measure("notifications", seconds, usesHub: true)
    add("notifications/s", hub.app.perSecond, own.app.perSecond, hub.microsecondsEach, to: &table)
  }

  private static func measureReads(_ seconds: Double, _ table: inout Table) throws {
    let own = try measure("reads", seconds, usesHub: false)
    let hub = try measure("reads", seconds, usesHub: true)
    add("ATT reads/s", hub.app.perSecond, own.app.perSecond, hub.microsecondsEach, to: &table)
    guard let through = hub.app.latency, let direct = own.app.latency else {
      throw RigError("The app reports no latencies.")
    }
    add("a read, median, µs", through.median, direct.median, to: &table)
    add("a read, 99th percentile, µs", through.percentile99, direct.percentile99, to: &table)
    add("added to a read, median, µs", through.median - direct.median, to: &table)
  }

  /// What an app reports of itself.
  private struct AppOutcome: Decodable {
    struct Latency: Decodable {
      var median: Double
      var percentile99: Double

      enum CodingKeys: String, CodingKey {
        case median
        case percentile99 = "percentile_99"
      }
    }

    var perSecond: Double
    var latency: Latency?

    enum CodingKeys: String, CodingKey {
      case perSecond = "per_second"
      case latency
    }
  }

  /// Runs an app as the central, whose radio is the hub's or its own, beside one with a radio of its own as
  /// the peripheral.
  private static func measure(
    _ job: String, _ seconds: Double, usesHub: Bool
  ) throws -> (app: AppOutcome, microsecondsEach: Double) {
    let rig = try Processes(radio: "radio", usesHub: usesHub)
    defer { rig.end() }
    let app = URL(filePath: try Child.ownPath()).deletingLastPathComponent()
      .appending(path: "bluetooth-benchmark-app").path
    let ownRadio = ["env", "AMBIT_HUB=off", "AMBIT_RADIO=\(rig.address)", app]
    let peripheral = try Child(ownRadio + ["peripheral", "own"])
    defer { peripheral.end() }
    _ = try peripheral.line()
    let environment = usesHub ? ["env", "AMBIT_HUB=\(rig.place)", app] : ownRadio
    let central = try Child(environment + ["central", job, "own", "\(seconds)"])
    defer { central.end() }
    let text = try central.line()
    let outcome = try JSONDecoder().decode(AppOutcome.self, from: Data(text.utf8))
    let microseconds = (rig.hub?.cpuSeconds ?? .nan) * 1e6
    return (outcome, microseconds / (outcome.perSecond * seconds))
  }

  // MARK: Many programs

  private static func measureScans(_ seconds: Double, _ table: inout Table) throws {
    var rates: [Double] = []
    var each = Double.nan
    for usesHub in [true, false] {
      let rig = try Processes(radio: "flood", usesHub: usesHub)
      defer { rig.end() }
      let programs = try rig.programs(.scan, count: 50, amount: seconds)
      defer { programs.end() }
      _ = try programs.line()
      let before = rig.hub?.cpuSeconds ?? .nan
      rates.append(try programs.number())
      if let hub = rig.hub { each = (hub.cpuSeconds - before) * 1e6 / (rates[0] * seconds) }
    }
    add("reports/s to 50 programs*", rates[0], rates[1], each, to: &table)
  }

  private static func measureServices(_ table: inout Table) throws {
    let (programCount, countOfEach) = (50, 100)
    var times: [Double] = []
    var each = Double.nan
    for usesHub in [true, false] {
      let rig = try Processes(radio: "radio", usesHub: usesHub)
      defer { rig.end() }
      let before = rig.hub?.cpuSeconds ?? .nan
      let programs = try rig.programs(.services, count: programCount, amount: Double(countOfEach))
      defer { programs.end() }
      times.append(try programs.number())
      if let hub = rig.hub {
        each = (hub.cpuSeconds - before) * 1e6 / Double(programCount * countOfEach)
      }
    }
    add("5,000 services of 50 programs*, s", times[0], times[1], each, to: &table)
  }

  private static func measureIdle(isSmoke: Bool, _ table: inout Table) throws {
    let rig = try Processes(radio: "radio", usesHub: true)
    defer { rig.end() }
    guard let hub = rig.hub else { return }
    let alone = megabytes(hub)
    let programs = try rig.programs(.idle, count: 1_000, amount: 0)
    defer { programs.end() }
    _ = try programs.line()
    // Programs ping the hub once after their greeting, and then once a minute.
    let seconds = isSmoke ? 2.0 : 20
    let before = hub.cpuSeconds
    Thread.sleep(forTimeInterval: seconds)
    let share = (hub.cpuSeconds - before) / seconds * 100
    add("without programs, MB", alone, to: &table)
    add("of 1,000 idle programs*, MB", megabytes(hub), to: &table)
    add("of 1,000 idle programs*, % of a core", share, to: &table)
  }

  private static func megabytes(_ child: Child) -> Double { Double(child.residentBytes) / 1e6 }

  /// Kills the hub of 200 programs and starts another one.
  private static func measureRestart(_ table: inout Table) throws {
    let rig = try Processes(radio: "hub-radio", usesHub: true)
    defer { rig.end() }
    let peripherals = try Child([
      try Child.ownPath(), "hub-peripherals", rig.address, "\(HubPrograms.linkCount)",
    ])
    defer { peripherals.end() }
    _ = try peripherals.line()
    let programs = try rig.programs(.restart, count: 200, amount: 0)
    defer { programs.end() }
    _ = try programs.line()
    let killed = Clock.wallSeconds()
    let poweredOn = try rig.restartHub()
    let complete = try programs.number()
    add("radio on to 200 programs*, 20 links, 1,000 services, s", complete - poweredOn, to: &table)
    add("  since the first hub was killed, s", complete - killed, to: &table)
  }

  // MARK: Lines

  private static let titleWidth = 54

  /// Prints a line. The threshold of its title is for the number through the hub.
  private static func add(
    _ title: String, _ hub: Double, _ own: Double? = nil, _ microsecondsEach: Double? = nil,
    to table: inout Table
  ) {
    var line = title.padded(titleWidth) + Table.rounded(hub).leftPadded(12)
    line += (own.map(Table.rounded) ?? "–").leftPadded(12)
    line += (own.map { Table.decimals(hub / $0) } ?? "").leftPadded(8)
    line += (microsecondsEach.map(Table.decimals) ?? "").leftPadded(24)
    say(line + table.judge("hub: \(title.trimmingPrefix("  "))", hub))
  }
}

/// A radio, and a hub that has it if there is to be one.
private final class Processes {
  let radio: Child
  /// Where the radio is.
  let address: String
  private(set) var hub: Child?
  private let path: String

  /// Where programs find their host: the hub's socket, or the radio.
  var place: String { hub == nil ? address : path }

  /// Starts them, and waits until the hub's radio is on.
  init(radio role: String, usesHub: Bool) throws {
    radio = try Child([try Child.ownPath(), role])
    address = try radio.line()
    path =
      FileManager.default.temporaryDirectory
      .appending(path: "ambit-benchmark-\(getpid()).hub").path
    if usesHub { _ = try startHub() }
  }

  /// Kills the hub and starts another one; returns when its radio was on.
  func restartHub() throws -> Double {
    hub?.end()
    return try startHub()
  }

  private func startHub() throws -> Double {
    let hub = try Child([try Child.ownPath(), "hub-server", address, path])
    self.hub = hub
    return try hub.number()
  }

  /// Starts a process of programs.
  func programs(_ job: HubPrograms.Job, count: Int, amount: Double) throws -> Child {
    try Child([
      try Child.ownPath(), "hub-programs", job.rawValue, place, "\(count)", "\(amount)",
    ])
  }

  func end() {
    hub?.end()
    radio.end()
    for file in [path, path + ".lock"] { try? FileManager.default.removeItem(atPath: file) }
  }
}

extension Child {
  /// The next line that it prints, which is a number.
  fileprivate func number() throws -> Double {
    let text = try line()
    guard let number = Double(text) else { throw ChildError("\"\(text)\" is no number.") }
    return number
  }
}
