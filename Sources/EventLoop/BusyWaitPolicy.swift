package import Essentials
import Glibc

/// Decides whether a thread polls for events for a short time before it sleeps.
///
/// While packets follow one another closely, polling is faster: waking a sleeping processor takes
/// longer than answering a packet. Every attempt that finds nothing doubles the number of
/// opportunities that are skipped before the next attempt. Where another process has the processor
/// for longer than an attempt takes, no processor sleeps that would have to be woken: then fewer
/// attempts are made, and it takes more than one success until there are more.
package struct BusyWaitPolicy: Sendable {
  private var skipsLeft = 0
  private var nextSkipCount = 1
  /// How many opportunities are skipped after the next attempt that loses the processor.
  private var nextLossSkipCount = lossSkipCountMin
  /// Successes since the processor was lost, or that number was halved.
  private var successCount = 0
  /// Whether an event is expected since the last poll.
  private var isEventExpected = false
  /// Whether a poll that work ends is followed by another one.
  private var mayPollAgain = false

  /// The maximum number of consecutive opportunities that are skipped.
  package static let skipCountMax = 1_024

  /// How many are skipped after the first attempt that loses the processor.
  static let lossSkipCountMin = 2
  /// The number of successes that halves what the next loss costs.
  static let successCountToHalve = 64

  /// The default for the time to poll: several times the time in which another process of the same
  /// machine answers (docs/decisions/0030-a-host-looks-before-it-sleeps.md).
  package static let span = TimeSpan.microseconds(200)

  /// Creates a policy that polls at the first opportunity.
  package init() {}

  /// An event is likely to follow within microseconds.
  package mutating func expectEvent() { (isEventExpected, mayPollAgain) = (true, true) }

  /// Whether a loop is to poll before it sleeps; counts the opportunity.
  ///
  /// - Parameter hasWork: Whether work waits, which is done first: what an event's handler enqueued often sends
  ///   something, and the answer is the event that is expected.
  mutating func shouldPoll(hasWork: @autoclosure () -> Bool) -> Bool {
    guard isEventExpected, !hasWork() else { return false }
    isEventExpected = false
    return shouldPoll()
  }

  /// Whether to poll this time; counts the opportunity.
  package mutating func shouldPoll() -> Bool {
    guard skipsLeft > 0 else { return true }
    skipsLeft -= 1
    return false
  }

  /// Records the outcome of an attempt; nil if work or a timer ended it early. That is no attempt in vain, and the first
  /// one after an event is made again, as another thread's work may be its request. Only the first one: work that goes
  /// on coming keeps no loop awake.
  package mutating func polled(foundEvents: Bool?) {
    switch foundEvents {
    case true?:
      nextSkipCount = 1
      successCount += 1
      guard successCount == Self.successCountToHalve else { return }
      successCount = 0
      nextLossSkipCount = max(nextLossSkipCount / 2, Self.lossSkipCountMin)
    case false?:
      skipsLeft = nextSkipCount
      nextSkipCount = min(nextSkipCount * 2, Self.skipCountMax)
    case nil:
      isEventExpected = mayPollAgain
      mayPollAgain = false
    }
  }

  /// Records that another process had the processor for longer than an attempt takes.
  mutating func lostProcessor() {
    skipsLeft = nextLossSkipCount
    nextLossSkipCount = min(nextLossSkipCount * 2, Self.skipCountMax)
    successCount = 0
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
