import Essentials
import Testing

@testable import PortSharing

@Suite("The answers of owners")
struct OwnerAnswersTests {
  private var now = Instant.zero
  private var answers = OwnerAnswers()

  /// Sends a request, with the ping that follows it.
  private mutating func request() {
    if answers.requested() { answers.pinged(now: now) }
  }

  /// The owner answers, and gets the ping that is due then.
  private mutating func answer() {
    if answers.answered(now: now) { answers.pinged(now: now) }
  }

  @Test("a ping follows the first request, and one more follows all others until its answer")
  mutating func pings() {
    for _ in 0..<100 { request() }
    #expect(answers.lastPing == 1)
    answer()
    #expect(answers.lastPing == 2 && answers.isAnswered(1) && !answers.isAnswered(2))
    answer()
    #expect(answers.lastPing == 2 && answers.isAnswered(2))
    answer()
    #expect(!answers.isAnswered(3), "one answer too many is no answer to a later ping")
  }

  @Test("an owner that handled all requests has served until it ended, for a second")
  mutating func served() {
    request()
    answer()
    answers.ended(now: now)
    #expect(answers.wasServed(now: now) && !answers.isBehind(now: now))
    now = now + OwnerAnswers.Limits.changeTime
    #expect(!answers.wasServed(now: now) && !answers.isBehind(now: now))
  }

  @Test("an owner that ends before it has answered to a request has not served")
  mutating func unhandled() {
    request()
    answer()
    request()
    answers.ended(now: now)
    #expect(!answers.wasServed(now: now) && answers.isBehind(now: now))
    now = now + OwnerAnswers.Limits.changeTime
    #expect(!answers.isBehind(now: now))
  }

  @Test("a request that was sent while a ping was under way is handled with the next answer only")
  mutating func between() {
    request()
    request()
    answer()
    var atOnce = answers
    atOnce.ended(now: now)
    #expect(atOnce.isBehind(now: now))
    answer()
    answers.ended(now: now)
    #expect(answers.wasServed(now: now))
  }

  @Test(
    "an owner that ends while a ping has no answer has served only if the ping was sent just before",
    arguments: [(.milliseconds(999), true), (.seconds(1), false), (.seconds(5), false)]
      as [(TimeSpan, Bool)])
  mutating func frozen(silence: TimeSpan, isServed: Bool) {
    request()
    answer()
    answers.pinged(now: now)
    now = now + silence
    answers.pinged(now: now)
    answers.ended(now: now)
    #expect(answers.wasServed(now: now) == isServed && answers.isBehind(now: now) == !isServed)
  }

  @Test("a silent owner that was left has not served, and nothing is held against the next one")
  mutating func left() {
    request()
    answers.ended(now: now)
    answers.left(now: now)
    #expect(!answers.wasServed(now: now) && answers.isBehind(now: now))
    request()
    #expect(answers.lastPing == 2)
    answer()
    answers.ended(now: now)
    #expect(answers.wasServed(now: now) && answers.isBehind(now: now), "it had no time")
    now = now + OwnerAnswers.Limits.changeTime
    #expect(!answers.isBehind(now: now))
  }
}
