import BenchmarkSupport
import Foundation
import Glibc

extension Rig {
  /// What others publish for the same rig, quoted.
  private static let nimble: [Job: Double] = [.notifications: 208_000, .reads: 9_600]

  /// Runs jobs with our host on both sides and with Bumble's.
  static func run(_ jobs: [Job], isSmoke: Bool, into table: inout Table) throws {
    table.heading(
      "The rig: three processes, H4 over TCP, 20-byte values, ATT MTU 23, wall clock",
      "".padded(26) + "Ambit".leftPadded(14) + "Bumble".leftPadded(14)
        + "ratio".leftPadded(10) + "NimBLE*".leftPadded(12)
        + "Ambit's CPU µs each: radio, peripheral, central".leftPadded(52))
    let bumble = Bumble.found
    for (job, placement) in jobs.flatMap(runs) {
      let seconds = isSmoke ? 1.0 : 5
      let ours = try measure(job, seconds: seconds, placement, with: .ambit)
      let theirs = try bumble.map {
        try measure(job, seconds: seconds, placement, with: .bumble($0))
      }
      let title = title(job) + (placement == .oneProcessor ? ", one core" : "")
      var line = title.padded(26) + Table.rounded(ours.perSecond).leftPadded(14)
      line += (theirs.map { Table.rounded($0.perSecond) } ?? "–").leftPadded(14)
      let ratio = theirs.map { Table.decimals(ours.perSecond / $0.perSecond) } ?? "–"
      line += ratio.leftPadded(10)
      line += (nimble[job].map(Table.rounded) ?? "").leftPadded(12)
      let unit = job == .channel ? 1_000.0 : 1
      line += ours.microsecondsEach.map { Table.decimals($0 * unit) }.joined(separator: "  ")
        .leftPadded(30)
      line += job == .channel ? " a kilobyte" : ""
      line += table.judge("rig: \(title)", ours.perSecond)
      say(line)
    }
    say("* Published for NimBLE, a C stack, on such a rig; not run here.")
    if bumble == nil {
      say("Bumble was not run: BENCH_PYTHON names no Python that has it.")
    }
  }

  private static func title(_ job: Job) -> String {
    switch job {
    case .notifications: "notifications/s"
    case .reads: "ATT reads/s"
    case .writes: "writes w/o response/s"
    case .channel: "L2CAP channel bytes/s"
    case .connections: "connections/s"
    }
  }

  /// The competitor: its Python and its half of the jobs.
  struct Bumble {
    let python: String
    let script: String

    static var found: Bumble? {
      let environment = ProcessInfo.processInfo.environment
      guard let python = environment["BENCH_PYTHON"], let script = environment["BENCH_BUMBLE"]
      else { return nil }
      return Bumble(python: python, script: script)
    }
  }

  /// Where the three processes of a run may be.
  enum Placement {
    /// Wherever the system puts them.
    case anyProcessor
    /// All on the same, so that no halted processor has to be woken.
    case oneProcessor
  }

  /// A read is four processes' work in a row, so only one of the three ever has something to do.
  /// Spread over processors that fall asleep in between, it measures the cost of waking them; on
  /// one, the cost of the hosts. Both are reported.
  private static func runs(_ job: Job) -> [(Job, Placement)] {
    job == .reads ? [(job, .anyProcessor), (job, .oneProcessor)] : [(job, .anyProcessor)]
  }

  enum Stack {
    case ambit
    case bumble(Bumble)
  }

  struct Outcome: Decodable {
    var perSecond: Double
    /// Of the radio, the peripheral, the central; with their start-up.
    var microsecondsEach: [Double] = []

    enum CodingKeys: String, CodingKey {
      case perSecond = "per_second"
    }
  }

  private static func measure(
    _ job: Job, seconds: Double, _ placement: Placement, with stack: Stack
  ) throws -> Outcome {
    let own = try Child.ownPath()
    let radio = try Child(placement, own, ["radio"])
    defer { radio.end() }
    let address = try radio.line()
    let peripheral: Child
    let central: Child
    switch stack {
    case .ambit:
      peripheral = try Child(placement, own, ["peripheral", address])
      _ = try peripheral.line()
      central = try Child(placement, own, ["central", address, job.rawValue, "\(seconds)"])
    case .bumble(let bumble):
      let place = String(address.dropFirst("tcp:".count))
      peripheral = try Child(placement, bumble.python, [bumble.script, place, "serve"])
      _ = try peripheral.line()
      central = try Child(
        placement, bumble.python, [bumble.script, place, job.rawValue, "\(seconds)"])
    }
    defer {
      peripheral.end()
      central.end()
    }
    let text = try central.line()
    var outcome = try JSONDecoder().decode(Outcome.self, from: Data(text.utf8))
    let operations = outcome.perSecond * seconds
    outcome.microsecondsEach = [radio, peripheral, central].map {
      $0.cpuSeconds * 1e6 / operations
    }
    return outcome
  }
}

extension Child {
  /// Starts a program where a run wants it.
  convenience init(
    _ placement: Rig.Placement, _ path: String, _ arguments: [String]
  ) throws {
    let prefix =
      placement == .oneProcessor ? ["taskset", "--cpu-list", try Self.processor()] : []
    try self.init(prefix + [path] + arguments)
  }

  /// A processor that this process may use (sched(7)).
  private static func processor() throws -> String {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let list = status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") }
    guard let first = list?.drop(while: { !$0.isNumber }).prefix(while: \.isNumber), !first.isEmpty
    else { throw RigError("The processors that may be used are not known.") }
    return String(first)
  }
}
