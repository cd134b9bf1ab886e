import BenchmarkSupport

extension Table {
  /// Prints what an operation costs. Thresholds are for its number in a second of processor time, and
  /// for the allocations of each by the name with ", allocations".
  mutating func add(_ name: String, _ cost: Cost, unit: Double = 1) {
    let rate = cost.perCPUSecond * unit
    var line = name.padded(46) + Self.rounded(rate).leftPadded(14)
    line += Self.rounded(cost.nanosecondsEach).leftPadded(10)
    line += Self.decimals(cost.allocationsEach).leftPadded(10)
    line += judge(name, rate)
    line += judge("\(name), allocations", cost.allocationsEach)
    say(line)
  }
}
