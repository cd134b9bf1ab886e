import Dispatch
import FoundationEssentials
import Reactive
import Testing

/// Behaviour of ReactiveSwift that programs rely on, and that no other suite tests.
@Suite("Time and lifetimes, at their edges")
struct TimeSemanticsTests {
  /// Operators that deliver on a scheduler, and how they do when interrupted.
  private typealias Operation =
    @Sendable (SignalProducer<Int, TestError>, TestScheduler) -> SignalProducer<Int, TestError>

  private static let operations: [Operation] = [
    { $0.observe(on: $1) }, { $0.delay(1, on: $1) }, { $0.throttle(1, on: $1) },
    { $0.debounce(1, on: $1) }, { $0.lazyMap(on: $1) { $0 } },
    { $0.collect(every: .seconds(1), on: $1).map(\.count) },
  ]

  @Test("a run that is disposed of drops waiting values, and is interrupted on the scheduler")
  func disposal() {
    for operation in Self.operations {
      let scheduler = TestScheduler()
      let (signal, input) = Signal<Int, TestError>.pipe()
      let log = Log<String>()
      let run = operation(signal.producer, scheduler).record(in: log)
      input.send(value: 1)
      input.send(value: 2)
      run.dispose()
      #expect(log.entries.isEmpty)
      scheduler.run()
      #expect(log.entries == ["INTERRUPTED"])
    }
  }

  @Test("at one instant, a kept value has the turn that the newest value gave it")
  func turns() {
    let operations: [Operation] = [{ $0.debounce(2.25, on: $1) }, { $0.throttle(3, on: $1) }]
    let expected = [
      ["3 x", "3 VALUE 2", "3 y"], ["0 VALUE 0", "3 x", "3 VALUE 2", "3 y"],
    ]
    for (operation, expected) in zip(operations, expected) {
      let scheduler = TestScheduler()
      let log = Log<String>()
      let start = scheduler.currentDate
      @Sendable func note(_ text: String) {
        log.append("\(Int(scheduler.currentDate.timeIntervalSince(start))) \(text)")
      }
      func scheduleNote(_ text: String) {
        scheduler.schedule(after: start.addingTimeInterval(3)) { note(text) }
      }
      let (signal, input) = Signal<Int, TestError>.pipe()
      operation(signal.producer, scheduler).start { note("\($0)") }
      let steps: [() -> Void] = [
        { input.send(value: 0) }, { input.send(value: 1) }, { scheduleNote("x") },
        { input.send(value: 2) }, { scheduleNote("y") },
      ]
      for step in steps {
        step()
        scheduler.advance(by: 0.25)
      }
      scheduler.advance(by: .seconds(9))
      #expect(log.entries == expected)
    }
  }

  @Test("a failure is delivered on the scheduler, without waiting")
  func failure() {
    for operation in Self.operations.dropFirst() {
      let scheduler = TestScheduler()
      let (signal, input) = Signal<Int, TestError>.pipe()
      let log = Log<String>()
      operation(signal.producer, scheduler).record(in: log)
      scheduler.advance(by: .milliseconds(10))
      input.send(error: .one)
      #expect(log.entries.isEmpty)
      scheduler.advance()
      #expect(log.entries == ["FAILED one"])
    }
  }

  @Test("starting on a scheduler that is left before starts nothing, and interrupts")
  func startOn() {
    let scheduler = TestScheduler()
    let starts = Counter()
    let log = Log<String>()
    let producer = SignalProducer<Int, Never> { observer, _ in
      starts.increment()
      observer.send(value: 1)
    }
    let run = producer.start(on: scheduler).record(in: log)
    run.dispose()
    scheduler.run()
    #expect(starts.value == 0)
    #expect(log.entries == ["INTERRUPTED"])
  }

  @Test("virtual time is far in the future when everything has been performed")
  func distantFuture() {
    let scheduler = TestScheduler()
    let log = Log<String>()
    scheduler.schedule(after: .seconds(15)) { log.append("third") }
    scheduler.schedule(after: .seconds(5)) { log.append("second") }
    scheduler.schedule { log.append("first") }
    scheduler.run()
    #expect(log.entries == ["first", "second", "third"])
    #expect(scheduler.currentDate == .distantFuture)
  }

  @Test("timers and intervals keep no run alive that has been disposed of")
  func timers() {
    let scheduler = TestScheduler()
    let log = Log<String>()
    let producers: [SignalProducer<String, Never>] = [
      SignalProducer<Date, Never>.timer(interval: .seconds(1), on: scheduler).map { _ in "timer" },
      SignalProducer<Int, Never>.interval(.seconds(1), on: scheduler).map { "\($0)" },
    ]
    let runs = producers.map { $0.startWithValues { log.append($0) } }
    scheduler.advance(by: .milliseconds(900))
    #expect(log.entries.isEmpty)
    scheduler.advance(by: .milliseconds(1100))
    #expect(log.entries == ["timer", "0", "timer", "1"])
    for run in runs { run.dispose() }
    scheduler.advance(by: .seconds(5))
    #expect(log.entries.count == 4)
  }

  @Test("a lifetime that has ended performs at once, and gives no disposable")
  func endedLifetime() {
    let (lifetime, token) = Lifetime.make()
    let log = Log<String>()
    lifetime.ended.observeCompleted { log.append("completed") }
    #expect(lifetime.observeEnded { log.append("observed") } != nil)
    token.dispose()
    #expect(lifetime.hasEnded)
    #expect(log.entries == ["completed", "observed"])
    #expect(lifetime.observeEnded { log.append("late") } == nil)
    let disposable = AnyDisposable()
    lifetime += disposable
    #expect(disposable.isDisposed)
    #expect(log.entries.last == "late")
    lifetime.ended.observe { log.append("\($0)") }
    #expect(log.entries.last == "INTERRUPTED")
  }

  @Test("a target on a scheduler takes its values there, while its owner lives")
  func scheduledTarget() {
    let scheduler = TestScheduler()
    let log = Log<Int>()
    let (signal, input) = Signal<Int, Never>.pipe()
    var token: Lifetime.Token? = Lifetime.Token()
    let lifetime = token.map { Lifetime($0) } ?? .empty
    let target = BindingTarget<Int>(on: scheduler, lifetime: lifetime) { log.append($0) }
    target <~ signal
    input.send(value: 1)
    #expect(log.entries.isEmpty)
    scheduler.advance()
    #expect(log.entries == [1])
    token = nil
    input.send(value: 2)
    scheduler.advance()
    #expect(log.entries == [1])
  }

  @Test("a pause between retries is kept before each, and the last failure is passed at once")
  func retries() {
    let scheduler = TestScheduler()
    let log = Log<String>()
    SignalProducer<Int, TestError>(error: .one)
      .on(starting: {
        log.append("at \(Int(scheduler.currentDate.timeIntervalSinceReferenceDate))")
      })
      .retry(upTo: 2, interval: 3, on: scheduler).record(in: log)
    scheduler.advance(by: .seconds(6))
    #expect(log.entries == ["at 0", "at 3", "at 6", "FAILED one"])
  }
}
