internal import Essentials

/// When others turned out to have the names that a registration tried.
struct ConflictHistory: Sendable {
  private typealias Constants = ResponderConstants

  /// The latest last.
  private var times: [Instant] = []
  /// Whether to pause before each attempt: from `conflictsMax` conflicts within `conflictWindow`
  /// on, until none has occurred for that time (RFC 6762, §8.1).
  private(set) var isSlow = false

  mutating func record(_ now: Instant) {
    if let last = times.last, now > last + Constants.conflictWindow {
      times = []
      isSlow = false
    }
    times = times.suffix(Constants.conflictsMax - 1) + [now]
    assert(times.count <= Constants.conflictsMax, "\(times.count) conflicts are remembered")
    if times.count == Constants.conflictsMax, let first = times.first,
      now <= first + Constants.conflictWindow
    {
      isSlow = true
    }
  }
}
