import BenchmarkSupport
import Foundation

/// A measured task, and its implementations.
struct Workload {
  enum Contestant: String {
    case ours = "Reactive"
    case openCombine = "OpenCombine"
    case async = "AsyncSequence"
    case floor = "by hand"
  }

  struct Entry {
    let contestant: Contestant
    /// The share of the workload's events that this one gets, so that slow ones don't take too
    /// long.
    let share: Double
    let body: @Sendable (Int) async -> Void
  }

  let name: String
  let events: Int
  let time: Time
  private(set) var entries: [Entry] = []

  /// Thresholds are for the nanoseconds of an event of ours, by this name, and for its allocations,
  /// by the name with ", allocations". Absolute times follow the machine, so there are also some for how
  /// many times what is written by hand ours take in the same run, by the name with ", times by hand".
  init(_ name: String, events: Int, time: Time = .processor) {
    self.name = name
    self.events = events
    self.time = time
  }

  /// - Parameter body: Makes a stream and sends that many events through it.
  mutating func add(
    _ contestant: Contestant, share: Double = 1, _ body: @escaping @Sendable (Int) async -> Void
  ) {
    entries.append(Entry(contestant: contestant, share: share, body: body))
  }

  /// Measures everyone, and prints what each costs.
  func run(isSmoke: Bool, into table: inout Table) async {
    say("\n\(name)\(time == .wall ? " (wall clock)" : "")")
    var ours: Cost?
    for entry in entries {
      let wanted = Double(events) * entry.share * (isSmoke ? 0.02 : 1)
      let cost = await measure(
        events: max(2_000, Int(wanted)), time: time, runs: isSmoke ? 1 : 5, body: entry.body)
      if entry.contestant == .ours { ours = cost }
      var line = "  \(entry.contestant.rawValue)".padding(toLength: 18, withPad: " ", startingAt: 0)
      line += number(cost.nanoseconds, "%10.1f")
      line += number(entry.contestant == .async ? nil : cost.allocations, "%10.2f")
      line += number(cost.instructions, "%14.0f")
      if entry.contestant == .ours {
        line += "          " + table.judge(name, cost.nanoseconds)
        // Making the stream itself takes some, a few for all events together.
        line += table.judge("\(name), allocations", (cost.allocations * 10).rounded() / 10)
      } else if let ours {
        line += number(cost.nanoseconds / ours.nanoseconds, "%10.2f")
        if entry.contestant == .floor {
          let times = ours.nanoseconds / cost.nanoseconds
          line += table.judge("\(name), times by hand", times)
        }
      }
      say(line)
    }
  }

  private func number(_ value: Double?, _ format: String) -> String {
    let width = Int(format.dropFirst().prefix { $0 != "." }) ?? 0
    guard let value else { return String(repeating: " ", count: width - 1) + "–" }
    return String(format: format, value)
  }
}
