import Dispatch
import Observation
import Reactive
import Testing

// Listings of Actions.md, SchedulersAndThreads.md and AsyncAwait.md.

@Suite("The pages on actions and schedulers")
struct ActionPageTests {
  @Test("an action may be applied again when its completion is delivered")
  func again() {
    let scheduler = TestScheduler()
    let action = Action<Int, Int, Never> { SignalProducer(value: $0).delay(1, on: scheduler) }
    let log = Log<String>()
    action.completed.observeValues {
      log.append("completed")
      if log.entries.count < 3 { action.apply(2).start() }
    }
    action.apply(1).start()
    scheduler.advance(by: .seconds(3))
    #expect(log.entries == ["completed", "completed", "completed"])
  }

  @Test("an action may be applied again at its failure, but not at a value")
  func afterFailure() {
    let scheduler = TestScheduler()
    let action = Action<Int, Int, TestError> {
      SignalProducer(value: $0).delay(1, on: scheduler).concat(error: .one)
    }
    let log = Log<String>()
    action.errors.observeValues { log.append("\($0), enabled: \(action.isEnabled.value)") }
    action.values.observeValues { _ in action.apply(1).start { log.append("\($0)") } }
    action.apply(1).start()
    scheduler.advance(by: .seconds(1))
    #expect(log.entries == ["FAILED disabled", "one, enabled: true"])
  }

  @Test("virtual time passes when a test advances it")
  func virtualTime() {
    let scheduler = TestScheduler()
    let log = Log<String>()
    SignalProducer.timer(interval: .seconds(60), on: scheduler)
      .take(first: 2)
      .startWithCompleted { log.append("two minutes") }
    scheduler.advance(by: .seconds(119))
    #expect(log.entries == [])
    scheduler.advance(by: .seconds(1))
    #expect(log.entries == ["two minutes"])
  }

  @Test("a buffer on the way to a scheduler drops what finds no room")
  func buffer() {
    let dropped = MutableProperty(0)
    let scheduler = TestScheduler()
    let log = Log<Int>()
    SignalProducer<Int, Never>(1...5)
      .buffer(2, whenFull: .dropOldest, on: scheduler, dropped: dropped)
      .startWithValues { log.append($0) }
    scheduler.advance()
    #expect(log.entries == [4, 5])
    #expect(dropped.value == 3)
  }
}

@Suite("The page on async/await")
struct AsyncPageTests {
  @Sendable private func greet(_ name: String) async -> String { "Hello \(name)" }

  @Test("one value is awaited")
  func oneValue() async {
    let answer = SignalProducer<Int, Never> { 42 }.delay(0.01, on: QueueScheduler())
    #expect(await answer.firstValue() == 42)
    do throws(TestError) {
      _ = try await SignalProducer<Int, TestError>(error: .one).lastValue()
    } catch {
      #expect(error == .one)
    }
  }

  @Test("functions are producers")
  func functions() async {
    let greet = greet
    let greeting = SignalProducer<String, Never>(awaiting: { await greet("Ann") })
    #expect(await greeting.singleValue() == "Hello Ann")
    let countdown = SignalProducer<Int, Never>(sending: { input in
      for number in [3, 2, 1] { await input.send(number) }
    })
    #expect(await countdown.collect().singleValue() == [3, 2, 1])
  }

  @Test("asynchronous functions are flattened", .timeLimit(.minutes(5)))
  func flattening() async {
    let greet = greet
    let results = Log<String>()
    let (queries, input) = Signal<String, Never>.pipe()
    queries
      .flatMap(.latest) { query in
        SignalProducer<String, Never>(awaiting: { await greet(query) })
      }
      .observeValues { results.append($0) }
    let done = Expectation()
    queries.observeCompleted { done.fulfill() }
    input.send(value: "A")
    input.send(value: "Ann")
    while results.entries.last != "Hello Ann" { await Task.yield() }
    input.sendCompleted()
    await done.wait()
  }

  @Test("cancelling the task interrupts the run", .timeLimit(.minutes(5)))
  func cancellation() async {
    let disposed = Expectation()
    let endless = SignalProducer<Int, Never>.never.on(disposed: { disposed.fulfill() })
    let task = Task { await endless.lastValue() }
    task.cancel()
    #expect(await task.value == nil)
    await disposed.wait()
  }
}
