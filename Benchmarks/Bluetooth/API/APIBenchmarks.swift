import BenchmarkSupport
import Foundation

/// What apps see: Core Bluetooth's public API on both sides, two processes and a radio, with the
/// delegates on the main queue and on a queue of their own.
enum APIBenchmarks {
  private enum Job: String, CaseIterable {
    case notifications, reads, writes, reports, idle

    var title: String {
      switch self {
      case .notifications: "notifications/s"
      case .reads: "ATT reads/s"
      case .writes: "writes w/o response/s"
      case .reports: "advertising reports/s"
      case .idle: "idle, connected"
      }
    }
  }

  private struct Outcome: Decodable {
    var perSecond: Double
    var microsecondsEach: Double

    enum CodingKeys: String, CodingKey {
      case perSecond = "per_second"
      case microsecondsEach = "microseconds_each"
    }
  }

  static func run(isSmoke: Bool, into table: inout Table) throws {
    table.heading(
      "Through Core Bluetooth: two apps and a radio, 20-byte values, wall clock",
      "".padded(36) + "rate".leftPadded(14) + "the central's CPU µs each".leftPadded(30))
    for job in Job.allCases {
      for queue in ["main", "own"] {
        let seconds = isSmoke ? 0.5 : 3.0
        let outcome = try measure(job, queue: queue, seconds: seconds)
        let title = "\(job.title), \(queue) queue"
        var line = title.padded(36)
        if job == .idle {
          line += "".leftPadded(14) + Table.decimals(outcome.microsecondsEach).leftPadded(30)
          line += " a second"
        } else {
          line += Table.rounded(outcome.perSecond).leftPadded(14)
          line += Table.decimals(outcome.microsecondsEach).leftPadded(30)
          line += table.judge("API: \(title)", outcome.perSecond)
        }
        say(line)
        if job == .notifications {
          table.add(
            "CPU µs of a notification, \(queue) queue", outcome.microsecondsEach, "µs")
        }
      }
    }
  }

  private static func measure(_ job: Job, queue: String, seconds: Double) throws -> Outcome {
    let own = try Child.ownPath()
    let app = URL(filePath: own).deletingLastPathComponent()
      .appending(path: "bluetooth-benchmark-app").path
    let radio = try Child([own, job == .reports ? "flood" : "radio"])
    defer { radio.end() }
    let environment = ["env", "AMBIT_RADIO=\(try radio.line())"]
    let peripheral =
      job == .reports ? nil : try Child(environment + [app, "peripheral", queue])
    defer { peripheral?.end() }
    _ = try peripheral?.line()
    let central = try Child(environment + [app, "central", job.rawValue, queue, "\(seconds)"])
    defer { central.end() }
    return try JSONDecoder().decode(Outcome.self, from: Data(try central.line().utf8))
  }
}
