import Dispatch
import FoundationEssentials
import Reactive
import Testing

@Suite("ImmediateScheduler")
struct ImmediateSchedulerTests {
  @Test("the immediate scheduler performs before it returns")
  func immediate() {
    let runs = Counter()
    #expect(ImmediateScheduler().schedule { runs.increment() } == nil)
    #expect(runs.value == 1)
  }
}

@Suite("UIScheduler")
struct UISchedulerTests {
  @Test("the UI scheduler performs at once on the main queue")
  @MainActor
  func atOnce() {
    let runs = Counter()
    UIScheduler().schedule { runs.increment() }
    #expect(runs.value == 1)
  }

  @Test("the UI scheduler performs actions of other threads on the main actor")
  func elsewhere() async {
    let done = Expectation()
    let scheduler = UIScheduler()
    detach {
      scheduler.schedule { MainActor.assumeIsolated { done.fulfill() } }
    }
    await done.wait()
  }

  @Test("the UI scheduler delivers values of other threads to closures of the main actor, in order")
  @MainActor
  func mainActorObservers() async {
    @MainActor final class Screen {
      var values: [Int] = []
      var ends: [String] = []
    }
    let screen = Screen()
    let (signal, input) = Signal<Int, TestError>.pipe()
    let done = Expectation()
    let target = BindingTarget<Int>(on: UIScheduler(), lifetime: .make().0) {
      screen.values.append(-$0)
    }
    signal.observeResult(on: UIScheduler()) { result in
      if case .success(let value) = result { screen.values.append(value) }
    }
    signal.observeFailed(on: UIScheduler()) { screen.ends.append("\($0)") }
    signal.producer.startWithCompleted(on: UIScheduler()) { screen.ends.append("completed") }
    signal.observe(on: UIScheduler()) { if $0.isTerminating { done.fulfill() } }
    detach {
      for value in 1...100 { input.send(value: value) }
      target.action(1)
      input.send(error: .one)
    }
    await done.wait()
    #expect(screen.values.filter { $0 > 0 } == Array(1...100))
    #expect(screen.ends == ["one"])
  }

  @Test("the UI scheduler performs in order when an action schedules another")
  @MainActor
  func orderFromInside() async {
    let scheduler = UIScheduler()
    let log = Log<Int>()
    let done = Expectation()
    scheduler.schedule {
      scheduler.schedule { log.append(2) }
      scheduler.schedule {
        log.append(3)
        done.fulfill()
      }
      log.append(1)
    }
    scheduler.schedule { log.append(4) }
    #expect(log.entries == [1])
    let last = Expectation()
    scheduler.schedule { last.fulfill() }
    await done.wait()
    await last.wait()
    #expect(log.entries == [1, 2, 3, 4])
  }

  @Test("an action that is disposed of before its turn does not run on the UI scheduler")
  @MainActor
  func cancellation() async {
    let scheduler = UIScheduler()
    let runs = Counter()
    let done = Expectation()
    scheduler.schedule {
      scheduler.schedule { runs.increment() }?.dispose()
      scheduler.schedule { done.fulfill() }
    }
    await done.wait()
    #expect(runs.value == 0)
  }
}

@Suite("QueueScheduler", .ownThread)
struct QueueSchedulerTests {
  @Test("a queue scheduler performs in the order of scheduling, whatever thread schedules")
  func order() async {
    let scheduler = QueueScheduler(name: "test")
    let log = Log<Int>()
    let done = Expectation()
    // So that what the work schedules comes after all the rest.
    scheduler.queue.suspend()
    for number in 0..<1_000 {
      scheduler.schedule {
        log.append(number)
        if number == 500 { scheduler.schedule { log.append(1_000) } }
        if number == 999 { scheduler.schedule { done.fulfill() } }
      }
    }
    scheduler.queue.resume()
    await done.wait()
    #expect(log.entries == Array(0...1_000))
  }

  @Test("a queue scheduler performs nothing while its queue is suspended")
  func suspension() async {
    let scheduler = QueueScheduler()
    let runs = Counter()
    let done = Expectation()
    scheduler.queue.suspend()
    for _ in 0..<5 { scheduler.schedule { runs.increment() } }
    scheduler.schedule { done.fulfill() }
    #expect(runs.value == 0)
    scheduler.queue.resume()
    await done.wait()
    #expect(runs.value == 5)
  }

  @Test("actions of two threads are all performed, and never overlap")
  func contention() async {
    let scheduler = QueueScheduler()
    let inside = Counter()
    let maximum = Log<Int>()
    let work: @Sendable () -> Void = {
      for _ in 0..<5_000 {
        scheduler.schedule {
          inside.increment()
          maximum.append(inside.value)
        }
      }
    }
    race(work, work)
    let done = Expectation()
    scheduler.schedule { done.fulfill() }
    await done.wait()
    #expect(maximum.entries == Array(1...10_000))
  }

  @Test("an action that is disposed of before its turn does not run")
  func cancellation() async {
    let scheduler = QueueScheduler()
    let runs = Counter()
    let done = Expectation()
    scheduler.queue.suspend()
    scheduler.schedule { runs.increment() }?.dispose()
    scheduler.schedule(after: scheduler.currentDate) { runs.increment() }?.dispose()
    scheduler.schedule { done.fulfill() }
    scheduler.queue.resume()
    await done.wait()
    #expect(runs.value == 0)
  }

  @Test("the main queue scheduler performs on the main actor, later even if called there")
  @MainActor
  func main() async {
    let runs = Counter()
    let done = Expectation()
    QueueScheduler.main.schedule {
      MainActor.assumeIsolated { runs.increment() }
      done.fulfill()
    }
    #expect(runs.value == 0)
    await done.wait()
    #expect(runs.value == 1)
  }

  @Test("a queue scheduler performs at a date, not before")
  func date() async {
    let scheduler = QueueScheduler()
    let due = scheduler.currentDate.addingTimeInterval(0.02)
    let dates = Log<Date>()
    let done = Expectation()
    scheduler.schedule(after: due) {
      dates.append(scheduler.currentDate)
      done.fulfill()
    }
    await done.wait()
    // The wall clock is read twice on the way, with a rounding each time.
    #expect(dates.entries.allSatisfy { $0 > due.addingTimeInterval(-0.001) })
  }

  @Test("a queue scheduler repeats until disposed of from inside, and not once more")
  func repetition() async {
    let scheduler = QueueScheduler()
    let runs = Counter()
    let repetition = SerialDisposable()
    let done = Expectation()
    scheduler.queue.suspend()
    repetition.inner = scheduler.schedule(
      after: scheduler.currentDate, interval: .milliseconds(1)
    ) {
      runs.increment()
      guard runs.value == 3 else { return }
      repetition.dispose()
      scheduler.schedule { done.fulfill() }
    }
    scheduler.queue.resume()
    await done.wait()
    #expect(runs.value == 3)
  }

  @Test("a negative interval or leeway is a programmer error")
  func negativeInterval() async {
    let interval = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      QueueScheduler().schedule(after: Date(), interval: .seconds(-1)) {}
    }
    #expect(interval?.message.contains("can't repeat every") == true)
    let leeway = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      QueueScheduler().schedule(
        after: Date(), interval: .seconds(1), leeway: .seconds(-1)
      ) {}
    }
    #expect(leeway?.message.contains("can't have a leeway of") == true)
  }

  @Test("the present queue scheduler is the one on whose queue the caller is")
  func current() async {
    let scheduler = QueueScheduler()
    let seen = Log<Bool>()
    let done = Expectation()
    scheduler.schedule {
      seen.append(QueueScheduler.current === scheduler)
      QueueScheduler.main.schedule {
        seen.append(QueueScheduler.current === QueueScheduler.main)
        done.fulfill()
      }
    }
    await done.wait()
    #expect(seen.entries == [true, true])
    DispatchQueue(label: "without a scheduler").sync { #expect(QueueScheduler.current == nil) }
  }
}
