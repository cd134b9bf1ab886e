import Glibc

/// Lines of results, printed as they come.
package struct Table {
  /// What was missed so far.
  package private(set) var missedGoals: [String] = []

  /// A table without lines.
  package init() {}

  /// Prints a title and the names of the columns.
  package func heading(_ title: String, _ columns: String) {
    say("\n\(title)\n\(String(repeating: "-", count: 100))\n\(columns)")
  }

  /// Prints a number; more is worse.
  package mutating func add(
    _ name: String, _ value: Double, _ unit: String, atMost goal: Double? = nil
  ) {
    var line = name.padded(46) + Self.rounded(value).leftPadded(14) + " " + unit.padded(19)
    if let goal {
      let isMet = value <= goal
      if !isMet { missedGoals.append(name) }
      line += "  ≤ \(Self.grouped(Int(goal))) \(isMet ? "met" : "MISSED")"
    }
    say(line)
  }

  /// Prints a number; less is worse.
  package mutating func add(_ name: String, _ value: Double, _ unit: String, atLeast goal: Double) {
    say(
      name.padded(46) + Self.rounded(value).leftPadded(14) + " " + unit.padded(19)
        + verdict(name, value, atLeast: goal))
  }

  /// Notes a goal that was missed for another reason than a number.
  package mutating func miss(_ name: String) { missedGoals.append(name) }

  /// What to print behind a number of which more is better.
  package mutating func verdict(_ name: String, _ value: Double, atLeast goal: Double?) -> String {
    guard let goal else { return "" }
    let isMet = value >= goal
    if !isMet { missedGoals.append(name) }
    return "  ≥ \(Self.grouped(Int(goal))) \(isMet ? "met" : "MISSED")"
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
