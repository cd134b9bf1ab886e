import Dispatch
import FoundationEssentials
import Reactive
import Testing

@Suite("Clock scheduler", .timeLimit(.minutes(5)))
struct ClockSchedulerTests {
  private let clock = TestClock()
  private let log = Log<String>()
  private let done = Expectation()

  private func date(_ seconds: Double) -> Date { Date(timeIntervalSinceReferenceDate: seconds) }

  private func note(
    _ name: String, at seconds: Double, on scheduler: ClockScheduler<TestClock>
  ) {
    scheduler.schedule(after: date(seconds)) {
      log.append("\(name)@\(scheduler.currentDate.timeIntervalSinceReferenceDate)")
      done.fulfill()
    }
  }

  @Test("actions are performed in the order of their date, and see it, however late the clock is")
  func order() async {
    let scheduler = ClockScheduler(clock)
    note("c", at: 3, on: scheduler)
    note("a", at: 1, on: scheduler)
    note("b", at: 1, on: scheduler)
    note("d", at: 7, on: scheduler)
    clock.advance(by: .seconds(5))
    await done.wait(count: 3)
    #expect(log.entries == ["a@1.0", "b@1.0", "c@3.0"])
    #expect(scheduler.currentDate == date(5))
    clock.advance(by: .seconds(5))
    await done.wait()
    #expect(log.entries.last == "d@7.0")
  }

  @Test("an action is not performed before its date")
  func notEarly() async {
    let scheduler = ClockScheduler(clock)
    note("b", at: 2, on: scheduler)
    clock.advance(by: .milliseconds(1_999))
    note("a", at: 1.999, on: scheduler)
    await done.wait()
    #expect(log.entries == ["a@1.999"])
    clock.advance(by: .milliseconds(1))
    await done.wait()
    #expect(log.entries == ["a@1.999", "b@2.0"])
  }

  @Test("actions that are scheduled for now are performed in order, one after the other")
  func now() async {
    let scheduler = ClockScheduler(clock)
    let (first, second) = (Counter(), Counter())
    for value in 0..<100 {
      scheduler.schedule {
        first.increment()
        log.append("\(value)")
        if first.value - second.value != 1 { log.append("overlap") }
        second.increment()
        done.fulfill()
      }
    }
    await done.wait(count: 100)
    #expect(log.entries == (0..<100).map { "\($0)" })
  }

  @Test("an action that schedules itself again and again leaves other tasks their turn")
  func fairness() async {
    let isOver = LockedValue(false)
    @Sendable func workAgain(on scheduler: ClockScheduler<TestClock>) {
      if !isOver.value { scheduler.schedule { workAgain(on: scheduler) } }
    }
    for _ in 0..<ProcessInfo.processInfo.activeProcessorCount {
      workAgain(on: ClockScheduler(clock))
    }
    await Task.detached { isOver.value = true }.value
  }

  @Test("a cancelled action is not performed")
  func cancellation() async {
    let scheduler = ClockScheduler(clock)
    let disposable = scheduler.schedule(after: date(1)) { log.append("cancelled") }
    note("kept", at: 1, on: scheduler)
    disposable?.dispose()
    clock.advance(by: .seconds(1))
    await done.wait()
    #expect(log.entries == ["kept@1.0"])
  }

  @Test("repetition is exact, and ends when it is disposed of")
  func repetition() async {
    let scheduler = ClockScheduler(clock)
    let repetition = SerialDisposable()
    repetition.inner = scheduler.schedule(after: date(0.5), interval: .milliseconds(250)) {
      log.append("\(scheduler.currentDate.timeIntervalSinceReferenceDate)")
      if log.entries.count == 4 { repetition.dispose() }
      done.fulfill()
    }
    clock.advance(by: .seconds(100))
    await done.wait(count: 4)
    note("end", at: 100, on: scheduler)
    await done.wait()
    #expect(log.entries == ["0.5", "0.75", "1.0", "1.25", "end@100.0"])
  }

  @Test("an action for the distant past is due, one for the distant future is not")
  func extremes() async {
    let scheduler = ClockScheduler(clock)
    scheduler.schedule(after: .distantFuture) { log.append("future") }
    scheduler.schedule(after: .distantPast) {
      log.append("past")
      done.fulfill()
    }
    await done.wait()
    #expect(log.entries == ["past"])
    // A step of the way to the distant future, which is then waited for on.
    clock.advance(by: .seconds(2_000_000_000))
    note("now", at: 0, on: scheduler)
    await done.wait()
    #expect(log.entries.count == 2)
  }

  @Test("a clock scheduler runs by a real clock, too")
  func continuousClock() async {
    let scheduler = ClockScheduler(ContinuousClock())
    scheduler.schedule(after: .milliseconds(1), interval: .seconds(3600)) { done.fulfill() }
    await done.wait()
  }

  typealias Operator =
    @Sendable (SignalProducer<Int, TestError>, any DateScheduler) ->
    SignalProducer<String, TestError>

  /// Every operator that knows time, with what it is given.
  static let operators: [(String, Operator)] = [
    ("delay", { $0.delay(1.5, on: $1).map { "\($0)" } }),
    ("debounce", { $0.debounce(1, on: $1, discardWhenCompleted: false).map { "\($0)" } }),
    ("throttle", { $0.throttle(2.5, on: $1).map { "\($0)" } }),
    (
      "collect(every:)",
      {
        $0.collect(
          every: .milliseconds(2_500), on: $1, skipEmpty: true, discardWhenCompleted: false
        )
        .map { "\($0)" }
      }
    ),
    ("timeout", { $0.timeout(after: 4.25, raising: .two, on: $1).map { "\($0)" } }),
    ("observe(on:)", { $0.observe(on: $1).map { "\($0)" } }),
    ("start(on:)", { $0.start(on: $1).map { "\($0)" } }),
    (
      "interval",
      { source, scheduler in
        SignalProducer<Int, Never>.interval(.milliseconds(750), on: scheduler)
          .promoteError(TestError.self).take(first: 5).map { "\($0)" }
      }
    ),
  ]

  /// Sends at 0.5, 1, 1.75, 4 and ends at 5.
  private func run(
    _ transform: Operator, on scheduler: any DateScheduler, log: Log<String>, done: Expectation
  ) {
    let (output, input) = Signal<Int, TestError>.pipe()
    transform(output.producer, scheduler).start { event in
      let seconds = scheduler.currentDate.timeIntervalSinceReferenceDate
      log.append("\(event) at \(seconds)")
    }
    for (value, seconds) in [0.5, 1, 1.75, 4].enumerated() {
      scheduler.schedule(after: date(seconds)) { input.send(value: value) }
    }
    scheduler.schedule(after: date(5)) { input.sendCompleted() }
    scheduler.schedule(after: date(19)) { done.fulfill() }
  }

  private func underTestScheduler(_ transform: Operator) -> [String] {
    let log = Log<String>()
    let scheduler = TestScheduler()
    run(transform, on: scheduler, log: log, done: Expectation())
    scheduler.advance(by: 20.0)
    return log.entries
  }

  @Test("time operators behave as under a test scheduler", arguments: 0..<8)
  func operators(_ index: Int) async {
    let (name, transform) = Self.operators[index]
    let expected = underTestScheduler(transform)
    #expect(!expected.isEmpty)
    run(transform, on: ClockScheduler(clock), log: log, done: done)
    // In one leap: each piece of work still sees its own time.
    clock.advance(by: .seconds(20))
    await done.wait()
    #expect(log.entries == expected, "\(name)")
  }
}
