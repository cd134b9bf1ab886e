import BenchmarkSupport

extension Table {
  /// Prints what an operation costs; `goal` is a number of operations in a second.
  mutating func add(
    _ name: String, _ cost: Cost, goal: Double? = nil, unit: Double = 1,
    mayAllocate: Bool = true
  ) {
    let rate = cost.perCPUSecond * unit
    var line = name.padded(46) + Self.rounded(rate).leftPadded(14)
    line += Self.rounded(cost.nanosecondsEach).leftPadded(10)
    line += Self.decimals(cost.allocationsEach).leftPadded(10)
    line += verdict(name, rate, atLeast: goal)
    if !mayAllocate {
      let isMet = cost.allocations == 0
      if !isMet { miss(name) }
      line += "  no allocation \(isMet ? "met" : "MISSED")"
    }
    say(line)
  }
}
