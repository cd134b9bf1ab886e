/// Decides whether a loop polls its descriptors for a moment before it sleeps.
///
/// While packets follow one another closely, polling always pays: waking a processor that sleeps takes
/// longer than answering a packet does. Every attempt that finds nothing doubles the number of
/// opportunities that are skipped before the next attempt.
struct BusyWaitPolicy: Sendable {
  private var skipsLeft = 0
  private var nextSkipCount = 1

  /// The most opportunities that are skipped in a row.
  static let skipCountMax = 1_024

  /// Whether to poll this time; counts the opportunity.
  mutating func shouldPoll() -> Bool {
    guard skipsLeft > 0 else { return true }
    skipsLeft -= 1
    return false
  }

  /// Records the outcome of an attempt; nil if it was ended early, by work or a timer, which says nothing.
  mutating func polled(foundEvents: Bool?) {
    switch foundEvents {
    case true?: nextSkipCount = 1
    case false?:
      skipsLeft = nextSkipCount
      nextSkipCount = min(nextSkipCount * 2, Self.skipCountMax)
    case nil: break
    }
  }
}
