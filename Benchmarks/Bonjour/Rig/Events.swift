import BenchmarkSupport
import Foundation

/// A line printed by a process of the benchmarks: the event, its times, and its name.
struct Report {
  let what: String
  let numbers: [Int64]
  let name: String

  fileprivate init(_ line: String) {
    let words = line.split(separator: " ", maxSplits: 1).map(String.init)
    what = words.first ?? ""
    let rest = words.dropFirst().first ?? ""
    let parts = rest.split(separator: " ")
    numbers = parts.prefix { Int64($0) != nil }.compactMap { Int64($0) }
    name = parts.dropFirst(min(1, numbers.count)).joined(separator: " ")
  }

  var nanoseconds: Int64 { numbers.first ?? 0 }
}

extension Child {
  /// The next report of this kind, and of that name if there is one; others are passed over.
  func report(_ what: String, _ name: String? = nil, within seconds: Double = 60) throws -> Report {
    while true {
      let report = Report(try line(within: seconds))
      if report.what == "failed" { throw ChildError(report.name) }
      if report.what == what, name == nil || name == report.name { return report }
    }
  }
}

/// The machine's monotonic clock, as all processes read it.
var nanosecondsNow: Int64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

extension [Double] {
  var median: Double {
    guard !isEmpty else { return .nan }
    return sorted()[count / 2]
  }
}

/// Waits for the announcements of RFC 6762 to end. Other stacks don't report that end. In a smoke
/// run, which only tests that the benchmark works, the wait is shorter.
func settle(_ seconds: Double, isSmoke: Bool) {
  Thread.sleep(forTimeInterval: isSmoke ? seconds / 5 : seconds)
}
