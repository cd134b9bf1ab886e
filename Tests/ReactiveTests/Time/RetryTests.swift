import FoundationEssentials
import Reactive
import Testing

@Suite("retry after a pause")
struct PausedRetryTests {
  @Test(
    "a paused retry starts again the given time after each failure, and passes the last at once")
  func pauses() {
    let marbles = Marbles()
    let source = marbles.source("-1#")
    marbles.expect(source.producer.retry(upTo: 2, interval: 3, on: marbles.scheduler))
      .toBe("-1----1----1#")
    #expect(source.runs == ["^-!", "-----^-!", "----------^-!"])
  }

  @Test("each run has its own attempts")
  func ownAttempts() {
    let marbles = Marbles()
    let producer = marbles.source("#").producer.retry(upTo: 1, interval: 1, on: marbles.scheduler)
    marbles.expect(producer).toBe("-#")
    let again = Log<String>()
    producer.record(in: again)
    marbles.scheduler.advance(by: 2.0)
    #expect(again.entries == ["FAILED MarbleError()"])
  }

  @Test("a run that is disposed of during the pause is not started again")
  func disposal() {
    let marbles = Marbles()
    let source = marbles.source("-#")
    marbles.expect(
      source.producer.retry(upTo: 5, interval: 4, on: marbles.scheduler), disposedAt: 3
    ).toBe("---!")
    #expect(source.runs == ["^!"])
  }
}

@Suite("retry with backoff")
struct BackoffTests {
  /// Numbers that are known.
  struct Numbers: RandomNumberGenerator, Sendable {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state
    }
  }

  /// When a source that fails at once is started, in seconds.
  private func starts(
    upTo count: Int, _ backoff: Backoff,
    using generator: some RandomNumberGenerator & Sendable = Numbers(state: 1), runs: Int = 1
  ) -> [TimeInterval] {
    let (scheduler, log) = (TestScheduler(), Log<TimeInterval>())
    let begin = scheduler.currentDate
    let source = SignalProducer<Int, TestError> { observer, _ in
      log.append(scheduler.currentDate.timeIntervalSince(begin))
      observer.send(error: .one)
    }
    let retrying = source.retry(upTo: count, backoff: backoff, on: scheduler, using: generator)
    for _ in 0..<runs { retrying.start() }
    scheduler.advance(by: 10_000.0)
    return log.entries
  }

  /// The times between the starts.
  private func waits(_ starts: [TimeInterval]) -> [TimeInterval] {
    zip(starts.dropFirst(), starts).map { $0 - $1 }
  }

  @Test("a backoff waits twice as long each time, but no longer than the maximum")
  func exponential() {
    #expect(
      waits(starts(upTo: 6, Backoff(initial: 1, maximum: 10))) == [1, 2, 4, 8, 10, 10])
    #expect(
      waits(starts(upTo: 3, Backoff(initial: 2, multiplier: 3, maximum: 100))) == [2, 6, 18])
  }

  @Test("a backoff passes the failure of the last attempt at once, also if there is no other")
  func failure() {
    let scheduler = TestScheduler()
    let log = Log<String>()
    let backoff = Backoff(initial: 1, maximum: 10)
    let failing = SignalProducer<Int, TestError>(error: .one)
    failing.retry(upTo: 0, backoff: backoff, on: scheduler, using: Numbers(state: 1)).record(
      in: log)
    #expect(log.entries == ["FAILED one"])
    failing.retry(upTo: 2, backoff: backoff, on: scheduler, using: Numbers(state: 1)).record(
      in: log)
    scheduler.advance(by: 2.5)
    #expect(log.entries == ["FAILED one"])
    scheduler.advance(by: 0.5)
    #expect(log.entries == ["FAILED one", "FAILED one"])
  }

  @Test("a backoff leaves the given part of each wait to chance", arguments: [0.25, 0.5, 1])
  func jitter(_ jitter: Double) {
    let backoff = Backoff(initial: 8, multiplier: 1, maximum: 8, jitter: jitter)
    let waits = waits(starts(upTo: 400, backoff))
    #expect(waits.count == 400)
    let least = 8 * (1 - jitter)
    #expect(waits.allSatisfy { $0 > least - 0.001 && $0 < 8.001 })
    // Spread over the whole of it: each quarter has its share of 100.
    for quarter in 0..<4 {
      let from = least + 2 * jitter * Double(quarter)
      let share = waits.filter { $0 >= from && $0 < from + 2 * jitter }.count
      #expect((60...140).contains(share), "quarter \(quarter) has \(share) of 400")
    }
  }

  @Test("a backoff is repeated by equal generators; each run has its own")
  func seeds() {
    let backoff = Backoff(initial: 1, maximum: 60, jitter: 1)
    let once = starts(upTo: 5, backoff)
    #expect(once == starts(upTo: 5, backoff))
    #expect(once != starts(upTo: 5, backoff, using: Numbers(state: 2)))
    #expect(starts(upTo: 5, backoff, runs: 2).sorted() == (once + once).sorted())
  }

  @Test("a run that is disposed of during the wait is not started again")
  func disposal() {
    let scheduler = TestScheduler()
    let count = Counter()
    let run = SignalProducer<Int, TestError> { observer, _ in
      count.increment()
      observer.send(error: .one)
    }
    .retry(
      upTo: 9, backoff: Backoff(initial: 1, maximum: 8), on: scheduler, using: Numbers(state: 1)
    ).start()
    scheduler.advance(by: 1.5)
    #expect(count.value == 2)
    run.dispose()
    scheduler.run()
    #expect(count.value == 2)
  }
}
