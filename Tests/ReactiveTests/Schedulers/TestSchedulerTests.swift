import Dispatch
import FoundationEssentials
import Testing

@testable import Reactive

@Suite("TestScheduler")
struct TestSchedulerTests {
  private let start = Date(timeIntervalSinceReferenceDate: 0)

  @Test("a test scheduler performs nothing until it advances")
  func advance() {
    let scheduler = TestScheduler()
    let runs = Counter()
    scheduler.schedule { runs.increment() }
    #expect(runs.value == 0)
    scheduler.advance()
    #expect(runs.value == 1)
    #expect(scheduler.currentDate == start.addingTimeInterval(1e-9))
  }

  @Test("a test scheduler performs by date, in the order of scheduling, and at that date")
  func order() {
    let scheduler = TestScheduler()
    let log = Log<String>()
    for (name, delay) in [("d", 3), ("a", 1), ("b", 1), ("e", 9), ("c", 2)] {
      scheduler.schedule(after: .seconds(delay)) {
        log.append("\(name)\(Int(scheduler.currentDate.timeIntervalSinceReferenceDate))")
      }
    }
    scheduler.advance(by: .milliseconds(999))
    #expect(log.entries == [])
    scheduler.advance(to: start.addingTimeInterval(3))
    #expect(log.entries == ["a1", "b1", "c2", "d3"])
    scheduler.run()
    #expect(log.entries.last == "e9")
    #expect(scheduler.currentDate == .distantFuture)
  }

  @Test("a test scheduler performs newly scheduled actions if they fall due")
  func nestedWork() {
    let scheduler = TestScheduler()
    let log = Log<Int>()
    scheduler.schedule(after: .seconds(1)) {
      log.append(1)
      scheduler.schedule { log.append(2) }
      scheduler.schedule(after: .seconds(1)) { log.append(3) }
      scheduler.schedule(after: .seconds(2)) { log.append(4) }
    }
    scheduler.advance(by: 2.0)
    #expect(log.entries == [1, 2, 3])
  }

  @Test("an action that is disposed of before its date never runs, however many there are")
  func cancellation() {
    let scheduler = TestScheduler()
    let runs = Counter()
    let work = (0..<1_000).map { index in
      scheduler.schedule(after: .seconds(1 + index % 7)) { runs.increment() }
    }
    for (index, disposable) in work.enumerated() where index % 10 != 0 { disposable?.dispose() }
    scheduler.run()
    #expect(runs.value == 100)
  }

  @Test("a test scheduler releases what disposed actions captured, before their date")
  func cancellationReleases() {
    let scheduler = TestScheduler()
    var object: Counter? = Counter()
    weak let released = object
    let work = scheduler.schedule(after: .seconds(1)) { [object] in object?.increment() }
    object = nil
    #expect(released != nil)
    work?.dispose()
    #expect(released == nil)
  }

  @Test("a test scheduler repeats at the exact dates until disposed of, also from inside")
  func repetition() {
    let scheduler = TestScheduler()
    let dates = Log<TimeInterval>()
    let repetition = SerialDisposable()
    repetition.inner = scheduler.schedule(after: .seconds(3), interval: .milliseconds(500)) {
      dates.append(scheduler.currentDate.timeIntervalSinceReferenceDate)
      if dates.entries.count == 4 { repetition.dispose() }
    }
    scheduler.advance(by: .seconds(60))
    #expect(dates.entries == [3, 3.5, 4, 4.5])
  }

  @Test("a test scheduler can be set back; scheduled actions keep their dates")
  func rewind() {
    let scheduler = TestScheduler()
    let runs = Counter()
    scheduler.advance(by: .seconds(10))
    scheduler.schedule(after: .seconds(5)) { runs.increment() }
    scheduler.rewind(by: .seconds(8))
    #expect(scheduler.currentDate == start.addingTimeInterval(2))
    scheduler.advance(by: 12.9)
    #expect(runs.value == 0)
    scheduler.advance(by: .seconds(1))
    #expect(runs.value == 1)
  }

  @Test(
    "a test scheduler agrees with a sorted list on random schedules",
    arguments: 0..<20 as Range<UInt64>)
  func agreesWithModel(seed: UInt64) {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    func draw(_ bound: Int) -> Int {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return Int(state % UInt64(bound))
    }
    let scheduler = TestScheduler()
    let performed = Log<Int>()
    var model: [(date: Int, turn: Int, id: Int)] = []
    var waiting: [(work: ScheduledAction, date: Int, id: Int)] = []
    for turn in 0..<600 {
      if draw(3) == 0, !waiting.isEmpty {
        let index = draw(waiting.count)
        let later = waiting[index].date + draw(5)
        let isPostponed = scheduler.postpone(
          waiting[index].work, to: start.addingTimeInterval(TimeInterval(later)))
        #expect(isPostponed, "seed \(seed)")
        waiting[index].date = later
        model.removeAll { $0.id == waiting[index].id }
        model.append((later, turn, waiting[index].id))
      } else {
        let date = draw(50)
        let work = scheduler.schedule(after: .seconds(date)) { performed.append(turn) }
        guard let work = work as? ScheduledAction, draw(3) > 0 else {
          work?.dispose()
          continue
        }
        model.append((date, turn, turn))
        waiting.append((work, date, turn))
      }
    }
    scheduler.run()
    let expected = model.sorted { ($0.date, $0.turn) < ($1.date, $1.turn) }.map(\.id)
    #expect(performed.entries == expected, "seed \(seed)")
    #expect(waiting.allSatisfy { !scheduler.postpone($0.work, to: .distantFuture) })
  }

  @Test("an interval is scaled in the finest unit that can count it")
  func intervals() {
    typealias Interval = DispatchTimeInterval
    #expect(Interval.seconds(5) * 0.5 == .nanoseconds(2_500_000_000))
    #expect(-Interval.milliseconds(1) == .nanoseconds(-1_000_000))
    #expect(Interval.seconds(.max) * 10 == .never)
    #expect(-Interval.never == .never)
    let long = Interval.seconds(.max) * 0.01
    #expect(abs(long.timeInterval / (Double(Int.max) / 100) - 1) < 1e-15)
  }

  @Test("advancing to the past and repeating backwards are programmer errors")
  func programmerErrors() async {
    let past = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      TestScheduler().advance(by: .seconds(-1))
    }
    #expect(past?.message.contains("can't advance to the past") == true)
    let interval = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      TestScheduler().schedule(after: .seconds(1), interval: .seconds(-1)) {}
    }
    #expect(interval?.message.contains("work can't repeat every") == true)
    let rewinding = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      TestScheduler().rewind(by: .seconds(-1))
    }
    #expect(rewinding?.message.contains("can't rewind by") == true)
    let delay = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      TestScheduler().schedule(after: .seconds(-1)) {}
    }
    #expect(delay?.message.contains("work can't be delayed by") == true)
    let repeatedDelay = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      TestScheduler().schedule(after: .seconds(-1), interval: .seconds(1)) {}
    }
    #expect(repeatedDelay?.message.contains("work can't be delayed by") == true)
  }

  @Test("a task sleeps in virtual time, for exactly as long as it asked")
  func sleepingTask() async throws {
    let scheduler = WatchedScheduler()
    let log = Log<TimeInterval>()
    let task = Task {
      for _ in 0..<3 {
        try await scheduler.sleep(for: .seconds(1))
        log.append(scheduler.currentDate.timeIntervalSinceReferenceDate)
      }
    }
    for count in 1...3 {
      while scheduler.sleepCount.value < count { await Task.yield() }
      scheduler.step(by: 0.999)
      #expect(log.entries.count == count - 1)
      scheduler.step(by: 0.001)
    }
    try await task.value
    #expect(log.entries.map { ($0 * 1_000).rounded() } == [1_000, 2_000, 3_000])
  }

  @Test("advancing from the main actor lets a task fall asleep first and go on afterwards")
  @MainActor
  func advancingFromTheMainActor() async throws {
    let scheduler = WatchedScheduler()
    let task = Task { try await scheduler.sleep(for: .seconds(1)) }
    while scheduler.sleepCount.value == 0 { await scheduler.base.advance() }
    await scheduler.base.advance(by: .seconds(1))
    await scheduler.base.run()
    try await task.value
    #expect(scheduler.currentDate == .distantFuture)
  }

  @Test("a cancelled sleep throws and leaves nothing scheduled")
  func cancelledSleep() async {
    let scheduler = TestScheduler()
    let task = Task { try await scheduler.sleep(for: .seconds(1)) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("a timer gives the dates of its ticks")
  func timer() async {
    let scheduler = WatchedScheduler()
    let ticks = scheduler.timer(interval: .seconds(2))
    scheduler.step(by: 7)
    var dates: [TimeInterval] = []
    for await date in ticks {
      dates.append(date.timeIntervalSinceReferenceDate)
      if dates.count == 3 { break }
    }
    #expect(dates == [2, 4, 6])
  }
}

/// A test scheduler that counts sleeping tasks.
private final class WatchedScheduler: DateScheduler {
  let base = TestScheduler()
  let sleepCount = Counter()

  var currentDate: Date { base.currentDate }

  /// Advances without letting tasks run.
  func step(by interval: TimeInterval) {
    base.advance(by: interval)
  }

  func schedule(_ action: @escaping @Sendable () -> Void) -> (any Disposable)? {
    base.schedule(action)
  }

  func schedule(
    after date: Date, action: @escaping @Sendable () -> Void
  ) -> (any Disposable)? {
    base.schedule(after: date, action: action)
  }

  func schedule(
    after date: Date, interval: DispatchTimeInterval, leeway: DispatchTimeInterval,
    action: @escaping @Sendable () -> Void
  ) -> (any Disposable)? {
    defer { sleepCount.increment() }
    return base.schedule(after: date, interval: interval, leeway: leeway, action: action)
  }
}
