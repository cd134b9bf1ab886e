import Foundation

/// Something to do, and those who do it.
struct Workload {
  enum Contestant: String {
    case ours = "Reactive"
    case openCombine = "OpenCombine"
    case async = "AsyncSequence"
    case floor = "by hand"
  }

  struct Entry {
    let contestant: Contestant
    /// How many events of the workload's this one gets, so that nobody waits for the slowest.
    let share: Double
    let body: @Sendable (Int) async -> Void
  }

  let name: String
  let events: Int
  let time: Time
  /// Nanoseconds per event that ours may take.
  let goal: Double
  let maxAllocations: Double?
  private(set) var entries: [Entry] = []

  init(
    _ name: String, events: Int, time: Time = .processor, goal: Double, maxAllocations: Double?
  ) {
    self.name = name
    self.events = events
    self.time = time
    self.goal = goal
    self.maxAllocations = maxAllocations
  }

  /// - Parameter body: Makes a stream and sends that many events through it.
  mutating func add(
    _ contestant: Contestant, share: Double = 1, _ body: @escaping @Sendable (Int) async -> Void
  ) {
    entries.append(Entry(contestant: contestant, share: share, body: body))
  }

  /// - Returns: What was missed.
  func run(isSmoke: Bool) async -> [String] {
    say("\n\(name)\(time == .wall ? " (wall clock)" : "")")
    var ours: Cost?
    var missed: [String] = []
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
        line += "            ≤ \(Int(goal)) ns \(verdict(cost.nanoseconds <= goal))"
        if cost.nanoseconds > goal { missed.append(name) }
        if let maxAllocations {
          // Making the stream itself takes some.
          let isMet = cost.allocations <= maxAllocations + 0.05
          line += ", ≤ \(Int(maxAllocations)) allocations \(verdict(isMet))"
          if !isMet { missed.append("\(name), allocations") }
        }
      } else if let ours {
        line += number(cost.nanoseconds / ours.nanoseconds, "%10.2f")
      }
      say(line)
    }
    return missed
  }

  private func verdict(_ isMet: Bool) -> String { isMet ? "met" : "MISSED" }

  private func number(_ value: Double?, _ format: String) -> String {
    let width = Int(format.dropFirst().prefix { $0 != "." }) ?? 0
    guard let value else { return String(repeating: " ", count: width - 1) + "–" }
    return String(format: format, value)
  }
}

/// Prints a line at once, also into a pipe.
func say(_ line: String) {
  print(line)
  fflush(nil)
}
