import BenchmarkSupport

extension Table {
  /// The heading of lines that `compare` prints.
  func heading(_ title: String) {
    let names = Stack.allCases.map { $0.rawValue.leftPadded(12) }.joined()
    heading(title, "".padded(44) + names + "mDNSResponder*".leftPadded(16) + "  threshold")
  }

  /// Prints the results of the stacks, with the others' as multiples of ours. The threshold of this
  /// name is for ours.
  ///
  /// - Parameter quoted: The value measured for mDNSResponder elsewhere.
  mutating func compare(
    _ title: String, _ values: [Stack: Double], quoted: Double? = nil
  ) {
    var line = title.padded(44)
    for stack in Stack.allCases { line += cell(values[stack]).leftPadded(12) }
    line += cell(quoted).leftPadded(16)
    if let ours = values[.ambit] { line += judge(title, ours) }
    let ratios = Stack.allCases.dropFirst().compactMap { stack -> String? in
      guard let ours = values[.ambit], let theirs = values[stack], ours > 0 else { return nil }
      return "\(stack.rawValue) \(Self.decimals(theirs / ours))"
    }
    if !ratios.isEmpty { line += "  (times ours: \(ratios.joined(separator: ", ")))" }
    say(line)
  }

  private func cell(_ value: Double?) -> String { value.map(Self.rounded) ?? "–" }
}
