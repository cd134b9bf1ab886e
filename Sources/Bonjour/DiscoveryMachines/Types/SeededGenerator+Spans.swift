internal import Essentials

extension SeededGenerator {
  /// A span that is any in this range with the same probability.
  mutating func span(_ shortest: TimeSpan, _ longest: TimeSpan) -> TimeSpan {
    let width = UInt64(longest.nanoseconds - shortest.nanoseconds) + 1
    return shortest + .nanoseconds(Int64(next(upperBound: width)))
  }
}
