package import Essentials

/// The pings of a host and the answers of the owners that it follows: whether they have handled
/// its requests. An owner handles messages in their order, so the answer to a ping is one to all
/// requests before it.
package struct OwnerAnswers: Sendable {
  /// Times.
  package enum Limits {
    /// The time in which an owner that works answers a ping, also if it has thousands of clients.
    package static let answerTime = TimeSpan.seconds(1)
    /// The time for which a change of owners counts: then a successor runs, has sent its first
    /// questions, and has received the answers (RFC 6762, §5.2 and §6: after 120 ms, within 500 ms).
    package static let changeTime = TimeSpan.seconds(1)
  }

  /// The number of the last ping, which counts those to earlier owners, too.
  package private(set) var lastPing: UInt64 = 0
  private var lastAnswered: UInt64 = 0
  /// The number of the ping that follows the last request, and may still have to be sent.
  private var requestPing: UInt64 = 0
  /// Since when a ping has no answer.
  private var waitsSince: Instant?
  /// When the last owner ended, if it had handled all requests.
  private var servedUntil: Instant?
  /// When the last owner ended or was left, if it had not.
  private var unservedUntil: Instant?

  /// Creates the state of a host that has sent nothing.
  package init() {}

  /// A ping was sent.
  package mutating func pinged(now: Instant) {
    lastPing += 1
    waitsSince = waitsSince ?? now
  }

  /// A request was sent. True if a ping has to follow it now; otherwise one follows the answer to
  /// the last ping.
  package mutating func requested() -> Bool {
    requestPing = lastPing + 1
    return waitsSince == nil
  }

  /// The owner answered a ping. True if another one has to be sent now.
  package mutating func answered(now: Instant) -> Bool {
    guard lastAnswered < lastPing else { return false }
    lastAnswered += 1
    waitsSince = lastAnswered < lastPing ? now : nil
    return waitsSince == nil && requestPing > lastPing
  }

  /// Whether the owner answered a ping.
  package func isAnswered(_ ping: UInt64) -> Bool { ping <= lastAnswered }

  /// The owner ended, or disconnected the host.
  package mutating func ended(now: Instant) {
    let wasSilent = waitsSince.map { now - $0 >= Limits.answerTime } ?? false
    if wasSilent || requestPing > lastAnswered {
      left(now: now)
    } else {
      servedUntil = now
      forgetPings()
    }
  }

  /// The host left the owner, or gave up a search for one, because there was no answer.
  package mutating func left(now: Instant) {
    (servedUntil, unservedUntil) = (nil, now)
    forgetPings()
  }

  private mutating func forgetPings() {
    (lastAnswered, requestPing, waitsSince) = (lastPing, 0, nil)
  }

  /// Whether an owner that worked ended so recently that its successor can't be missed yet.
  package func wasServed(now: Instant) -> Bool { Self.isRecent(servedUntil, now) }

  /// Whether an owner that did not work was replaced so recently that its successor can't have
  /// done what it left undone.
  package func isBehind(now: Instant) -> Bool { Self.isRecent(unservedUntil, now) }

  private static func isRecent(_ instant: Instant?, _ now: Instant) -> Bool {
    instant.map { now - $0 < Limits.changeTime } ?? false
  }
}
