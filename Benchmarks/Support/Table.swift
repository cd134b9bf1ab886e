import Glibc

/// Lines of results, printed as they come, and how they compare with the suite's thresholds.
package struct Table {
  /// How often a part of a smoke run is measured before a missed threshold counts.
  private static let smokeAttemptsMax = 3

  private let thresholds: Thresholds
  private let isSmoke: Bool
  private var missed: [String] = []
  private var judged: Set<String> = []

  /// A table without lines.
  ///
  /// - Parameters:
  ///   - suite: Whose thresholds count.
  ///   - isSmoke: Whether numbers may miss them by the tolerance of smoke runs.
  package init(suite: String, isSmoke: Bool) throws {
    thresholds = try Thresholds(suite: suite)
    self.isSmoke = isSmoke
  }

  /// Runs a part of the suite. In a smoke run a part that misses a threshold is run again, up to
  /// three times in all: what something else on the machine caused is gone then.
  nonisolated(nonsending) package mutating func run(
    _ part: nonisolated(nonsending) (inout Table) async throws -> Void
  ) async rethrows {
    let before = missed
    try await part(&self)
    for _ in 1..<Self.smokeAttemptsMax where isSmoke && missed.count > before.count {
      say("\nMissed: \(missed[before.count...].joined(separator: "; ")). It is measured again.")
      missed = before
      try await part(&self)
    }
  }

  /// Prints the outcome.
  ///
  /// - Parameter isComplete: Whether everything was measured, so that a threshold that no number was
  ///   compared with is one that a benchmark lost.
  /// - Returns: Whether every threshold was met.
  package func finish(isComplete: Bool) -> Bool {
    say("")
    let lost = thresholds.thresholds.map(\.name).filter {
      thresholds.bound($0, isSmoke: isSmoke) != nil && !judged.contains($0)
    }
    if isComplete, !lost.isEmpty {
      say("Thresholds that nothing was compared with: \(lost.joined(separator: "; ")).")
      return false
    }
    say(
      missed.isEmpty
        ? "Every threshold is met." : "Thresholds missed: \(missed.joined(separator: "; ")).")
    return missed.isEmpty
  }

  /// Compares a number with the threshold of this name.
  ///
  /// - Returns: What to print behind the number; nothing where there is no threshold.
  package mutating func judge(_ name: String, _ value: Double) -> String {
    guard let bound = thresholds.bound(name, isSmoke: isSmoke) else { return "" }
    judged.insert(name)
    if bound.isMet(by: value) { return "  \(bound) met" }
    missed.append(name)
    return "  \(bound) MISSED"
  }

  /// Prints a title and the names of the columns.
  package func heading(_ title: String, _ columns: String) {
    say("\n\(title)\n\(String(repeating: "-", count: 100))\n\(columns)")
  }

  /// Prints a number, and how it compares with the threshold of its name.
  package mutating func add(_ name: String, _ value: Double, _ unit: String) {
    say(
      name.padded(46) + Self.rounded(value).leftPadded(14) + " " + unit.padded(19)
        + judge(name, value))
  }

  /// A number for people: three digits that mean something, thousands apart.
  package static func rounded(_ value: Double) -> String {
    guard value.isFinite else { return "–" }
    if value < 10 { return decimals(value) }
    var step = 1.0
    while value / step >= 1_000 { step *= 10 }
    return grouped(Int((value / step).rounded() * step))
  }

  /// A number with its thousands apart.
  package static func grouped(_ value: Int) -> String {
    var digits = String(value)
    var groups: [String] = []
    while digits.count > 3 {
      groups.insert(String(digits.suffix(3)), at: 0)
      digits.removeLast(3)
    }
    return ([digits] + groups).joined(separator: ",")
  }

  /// A number with two decimals.
  package static func decimals(_ value: Double) -> String {
    guard value.isFinite else { return "–" }
    let hundredths = Int((value * 100).rounded())
    let fraction = hundredths % 100
    return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction)"
  }
}

extension String {
  /// With spaces behind it, so wide.
  package func padded(_ width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }

  /// With spaces before it, so wide.
  package func leftPadded(_ width: Int) -> String {
    String(repeating: " ", count: max(0, width - count)) + self
  }
}

/// Prints a line at once, also into a pipe.
package func say(_ line: String) {
  print(line)
  fflush(nil)
}
