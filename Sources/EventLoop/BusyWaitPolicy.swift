package import Essentials
import Glibc

/// Decides whether a thread polls for events for a short time before it sleeps.
///
/// While packets follow one another closely, polling is faster: waking a sleeping processor takes
/// longer than answering a packet. Every attempt that finds nothing doubles the number of
/// opportunities that are skipped before the next attempt.
package struct BusyWaitPolicy: Sendable {
  private var skipsLeft = 0
  private var nextSkipCount = 1

  /// The maximum number of consecutive opportunities that are skipped.
  package static let skipCountMax = 1_024

  /// The default for the time to poll: several times the time in which another process of the same
  /// machine answers (docs/decisions/0030-a-host-looks-before-it-sleeps.md).
  package static let span = TimeSpan.microseconds(200)

  /// Creates a policy that polls at the first opportunity.
  package init() {}

  /// Whether to poll this time; counts the opportunity.
  package mutating func shouldPoll() -> Bool {
    guard skipsLeft > 0 else { return true }
    skipsLeft -= 1
    return false
  }

  /// Records the outcome of an attempt; nil if work or a timer ended it early, which is ignored.
  package mutating func polled(foundEvents: Bool?) {
    switch foundEvents {
    case true?: nextSkipCount = 1
    case false?:
      skipsLeft = nextSkipCount
      nextSkipCount = min(nextSkipCount * 2, Self.skipCountMax)
    case nil: break
    }
  }
}

extension BusyWaitPolicy {
  /// Polls a condition for at most ``span``, and yields the processor between two checks, so that
  /// the event can happen on the same processor.
  package static func poll(until condition: () -> Bool) {
    let end = Instant.now + span
    while !condition(), Instant.now < end { sched_yield() }
  }
}
