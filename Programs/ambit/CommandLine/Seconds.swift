import ArgumentParser
package import Essentials

/// A length of time as people type it: `10`, `2.5`, `500ms`, `30s`, `2m`, `1h`.
package struct Seconds: Hashable, ExpressibleByArgument, CustomStringConvertible {
  package var span: TimeSpan

  init(span: TimeSpan) { self.span = span }

  init?(_ text: String) {
    let units: [(String, Double)] = [
      ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9), ("", 1e9),
    ]
    guard let (suffix, nanoseconds) = units.first(where: { text.hasSuffix($0.0) }) else {
      return nil
    }
    let digits = text.dropLast(suffix.count)
    guard !digits.isEmpty, digits.allSatisfy({ "0"..."9" ~= $0 || $0 == "." }),
      let number = Double(digits), number > 0, number * nanoseconds <= Self.longest
    else { return nil }
    span = TimeSpan(nanoseconds: Int64(number * nanoseconds))
  }

  package init?(argument: String) { self.init(argument) }

  /// A year: longer makes no sense, and sums with the clock must not overflow.
  private static let longest = 366.0 * 24 * 3600e9

  package var duration: Duration { .nanoseconds(span.nanoseconds) }

  package var description: String {
    let seconds = span.seconds
    return seconds == seconds.rounded() ? "\(Int(seconds)) s" : "\(seconds) s"
  }

  package static let defaultValueDescription = "seconds"
}
